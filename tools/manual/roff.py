# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages in the macros of man(7)."""
import datetime
import os
import re


def escaped(text):
    """Text as it is: no character of it is a command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return re.sub(r"^([.'])", r"\\&\1", text)


def prose(text):
    """The same for sentences: only what begins an option has hyphens that can be
    copied."""
    text = " ".join(text.split())
    text = text.replace("\\", "\\e").replace("^", "\\(ha").replace("~", "\\(ti")
    text = re.sub(r"(?<![\w-])--?(?=\w)",
                  lambda found: "\\-" * len(found.group()), text)
    text = re.sub(r"(\\-\\-\w+)((?:-\w+)+)",
                  lambda found: found[1] + found[2].replace("-", "\\-"), text)
    return re.sub(r"^([.'])", r"\\&\1", text)


def sentence(text):
    """With a capital letter, unless it begins with a name."""
    return text if re.match(r"\w*[_(]", text) else text[:1].upper() + text[1:]


def day_of(path):
    """When a page was made: as its source, or as who builds packages says."""
    at = os.environ.get("SOURCE_DATE_EPOCH") or os.stat(path).st_mtime
    return datetime.datetime.fromtimestamp(
        int(at), datetime.timezone.utc).strftime("%Y-%m-%d")


class Page:
    """One page, built from the top."""

    def __init__(self, name, section, version, day, manual):
        self.lines = [
            '.\\" SPDX-License-Identifier: BSD-3-Clause',
            f'.TH "{name.upper()}" {section} {day} "Teamster {version}" "{manual}"']
        self.section("NAME")
        self.name = name

    def summary(self, text, names=()):
        listed = ", ".join(names or [self.name])
        self.lines.append(f"{escaped(listed)} \\- {prose(text)}")

    def section(self, title):
        self.lines.append(f'.SH "{title}"')

    def paragraph(self, text):
        if not self.lines[-1].startswith(".SH"):
            self.lines.append(".PP")
        self.lines.append(prose(text))

    def bold(self, text):
        self.lines.append(f'.B "{escaped(text)}"' if '"' not in text
                          else f"\\fB{escaped(text)}\\fR")

    def verbatim(self, lines):
        if not self.lines[-1].startswith(".SH"):
            self.lines.append(".PP")
        self.lines.append(".EX")
        self.lines += [escaped(line) if line else "" for line in lines]
        self.lines.append(".EE")

    def item(self, tag, text):
        self.lines += [".TP", f"\\fB{escaped(tag)}\\fR"]
        self.lines.append(prose(text) if text else "\\&")

    def item_lines(self, lines):
        """Lines as they are, inside of the item before."""
        self.lines += [".RS", ".EX", *[escaped(line) for line in lines], ".EE",
                       ".RE"]

    def see_also(self, pages):
        """@param pages  (name, section)"""
        self.section("SEE ALSO")
        pages = list(pages)
        for i, (name, section) in enumerate(pages):
            comma = " ," if i + 1 < len(pages) else ""
            self.lines.append(f".BR {escaped(name)} ({section}){comma}"
                              .replace(") ,", "),"))

    def text(self):
        return "\n".join(self.lines) + "\n"

