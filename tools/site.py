#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Build the documentation site: all documents, by the table of docs/README.md, and all manual
pages, searchable, to be opened from disk or put on any server.

usage: site.py [--source] MANUAL FOLDER

MANUAL is the folder of manual pages (build/*/manual). Writes FOLDER/html, out of
FOLDER/source, in which documents lie as they do in the tree, so that their links hold. Links to
files that are no documents lose their target, but for those to teamster.h, which go to the
list of functions. In the end each link within the site has to lead somewhere, and nothing may be
fetched from elsewhere. With --source it stops before FOLDER/html. Without Sphinx, its reader of
Markdown (MyST) or mandoc it is skipped (exit 77).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHONS = (sys.executable, "/usr/bin/python3")
ROW = re.compile(r"^\| ([\w ]*)\| \[[^]]*\]\(([^)]+)\)")
HEADING = re.compile(r"<(/?)h1\b([^>]*)>")
PERMALINK = re.compile(r"<a class=\"permalink\"[^>]*>(.*?)</a>", re.S)
WITHIN = re.compile(r'(?:href|src)="([^"#?]+)')
FETCHED = re.compile(r'(?:<(?:script|img|iframe)[^>]* src|<link[^>]* href)="(https?:[^"]*)')
LINK = re.compile(r"(!?)\[([^]]*)\]\(([^)\s]+)\)")
TITLES = {"everybody": "Begin", "users": "For users", "developers": "For developers", "all": "Words"}
PICTURES = (".svg", ".webp", ".png")
FUNCTIONS, COMMANDS = "reference/functions", "reference/commands"
CONFIGURATION = """project = "Teamster"
copyright = "the Teamster authors"
extensions = ["myst_parser"]
html_theme = "{theme}"
html_title = "Teamster {version}"
html_copy_source = False
html_show_sphinx = False
html_use_index = False
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]
exclude_patterns = []
"""


def skip(what):
    print(f"skipped: no {what}; run tools/setup.sh docs")
    sys.exit(77)


def find_python():
    """One that has what the site is built with."""
    for python in PYTHONS:
        if subprocess.run([python, "-c", "import sphinx, myst_parser"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return skip("Sphinx with MyST")


def groups():
    """{title: [document]}, as docs/README.md has them."""
    found = {}
    title = ""
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        row = ROW.match(line)
        if row:
            title = row[1].strip() or title
            path = os.path.normpath(os.path.join("docs", row[2]))
            path = path + "/README.md" if (ROOT / path).is_dir() else path
            if path.endswith(".md") and not any(path in paths for paths in found.values()):
                found.setdefault(TITLES[title], []).append(path)
    return found


def documents(by_group):
    """All that are on the site."""
    listed = [path for paths in by_group.values() for path in paths]
    decisions = sorted(str(path.relative_to(ROOT))
                       for path in (ROOT / "docs/decisions").glob("0*.md"))
    return listed + decisions


class Site:
    def __init__(self, source, paths):
        self.source = source
        self.paths = set(paths)
        self.n_links = 0

    def write(self, path, text):
        target = self.source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def link(self, path, match):
        """A link as it is on the site."""
        is_picture, text, target = match.groups()
        if "://" in target or target.startswith("#"):
            return match[0]
        name, _, anchor = target.partition("#")
        where = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if where in self.paths:
            self.n_links += 1
            return match[0]
        if (ROOT / where / "README.md").exists() and f"{where}/README.md" in self.paths:
            return f"[{text}]({name.rstrip('/')}/README.md)"
        if where.endswith(PICTURES) and (ROOT / where).exists():
            (self.source / where).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / where, self.source / where)
            return match[0] if is_picture or anchor else f"{{download}}`{text} <{name}>`"
        if where == "include/teamster.h":
            return f"[{text}]({os.path.relpath(FUNCTIONS + '.md', os.path.dirname(path) or '.')})"
        if not (ROOT / where).exists():
            sys.exit(f"site.py: {path}: there is no {where}")
        return text

    def document(self, path):
        """Code is not looked into for links."""
        parts = re.split(r"(^```.*?^```$)", (ROOT / path).read_text(), flags=re.M | re.S)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda match: self.link(path, match), parts[i])
        self.write(path, "".join(parts))

    def manual(self, folder, title, listing):
        """The pages of a section, and their list. mandoc writes them."""
        names = []
        for page in sorted(folder.iterdir()):
            html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", page], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
            name = page.name.rpartition(".")[0]
            names.append(name)
            html = PERMALINK.sub(r"\1", HEADING.sub(r"<\1h2\2>", html))
            html = re.sub(r"<table class=\"(head|foot)\">.*?</table>", "", html, flags=re.S)
            self.write(f"{listing}/{name}.md",
                       f"# {name.replace('teamster-', 'teamster ')}\n\n```{{raw}} html\n{html}```\n")
        entries = "\n".join(f"{os.path.basename(listing)}/{name}" for name in names)
        self.write(f"{listing}.md", f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n")


def index(by_group):
    trees = []
    for title, paths in by_group.items():
        entries = "\n".join(path[:-len(".md")] for path in paths)
        if title == TITLES["users"]:
            entries += f"\n{COMMANDS}\n{FUNCTIONS}"
        trees.append(f"```{{toctree}}\n:caption: {title}\n:maxdepth: 1\n\n{entries}\n```\n")
    return ("# Teamster\n\nOne shared-memory program over several machines that are not alike.\n\n"
            + "\n".join(trees))


def check(html):
    """Exit if a page cannot be read from disk as it is."""
    n_pages = 0
    for page in html.rglob("*.html"):
        text = page.read_text()
        n_pages += 1
        wrong = [target for target in WITHIN.findall(text)
                 if not re.match(r"\w+:", target) and not (page.parent / target).exists()]
        wrong += FETCHED.findall(text)
        if wrong:
            sys.exit(f"site.py: {page}: {wrong[0]} is not there, or elsewhere")
    return n_pages


def find_unlisted(paths):
    missing = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")} - \
        set(paths) - {"docs/README.md"}
    if missing:
        sys.exit(f"site.py: docs/README.md does not list {', '.join(sorted(missing))}")


def main():
    stops_early = sys.argv[1:2] == ["--source"]
    if stops_early:
        del sys.argv[1]
    if len(sys.argv) != 3:
        print(__doc__.partition("usage: ")[2].partition("\n")[0], file=sys.stderr)
        sys.exit(64)
    manual, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    python = None if stops_early else find_python()
    if shutil.which("mandoc") is None:
        skip("mandoc")
    by_group = groups()
    paths = documents(by_group)
    find_unlisted(paths)
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(folder / "source", paths)
    for path in paths:
        site.document(path)
    decisions = "\n".join(path[len("docs/decisions/"):-len(".md")] for path in paths
                          if path.startswith("docs/decisions/0"))
    with open(folder / "source/docs/decisions/README.md", "a", encoding="utf-8") as file:
        file.write(f"\n```{{toctree}}\n:hidden:\n\n{decisions}\n```\n")
    site.manual(manual / "commands/man1", "Commands", COMMANDS)
    site.manual(manual / "functions/man3", "Functions", FUNCTIONS)
    site.write("index.md", index(by_group))
    if stops_early:
        print(f"{len(paths)} documents, {site.n_links} links")
        return
    has_furo = subprocess.run([python, "-c", "import furo"], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    version = ".".join(re.findall(r"^#define TM_VERSION_\w+ (\d+)",
                                  (ROOT / "include/teamster.h").read_text(), re.M))
    site.write("conf.py", CONFIGURATION.format(theme="furo" if has_furo else "alabaster",
                                               version=version))
    done = subprocess.run([python, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html",
                           folder / "source", folder / "html"], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    shutil.rmtree(folder / "html/.doctrees", ignore_errors=True)
    n_pages = check(folder / "html")
    print(f"{n_pages} pages: {folder}/html/index.html")


main()
