# SPDX-License-Identifier: BSD-3-Clause
"""What include/teamster.h says: its chapters, and in these what is declared, each with
its comment."""
import collections
import re

import roff

CHAPTER = re.compile(r"^/\* ---- (\d+)  (.*?) -+ \*/$")
VERSION = re.compile(r"^#define TM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", re.M)
NAME = re.compile(r"\b(tm_\w+|TM_[A-Z_]+)\b")
PART = re.compile(r"^@(param|return)(\[out\])? ?")
ALIAS = re.compile(r"\b(\w+)\(\) (?:with the place of the call|without the inline part); "
                   r"programs call (\w+)\(\)")

# A block of lines: "text", "code", "param", "return", "context" or "source"; of a
# parameter and a result the name or the value is the tag.
Block = collections.namedtuple("Block", "kind tag text")


class Entry:
    """Something declared. `kind`: function, macro, enum, struct, type or remark."""

    def __init__(self, chapter, kind, name, comment, code):
        self.chapter = chapter
        self.kind = kind
        self.name = name
        self.comment = comment  # lines
        self.code = code        # lines
        self.blocks = blocks_of(comment)

    def names(self):
        """All that it names in code: itself, its types, its enumerators."""
        return set(NAME.findall("\n".join(self.code)))

    def alias_of(self):
        found = ALIAS.search(" ".join(self.comment))
        return found.group(2) if found else None


def without_stars(lines):
    """The text of a comment."""
    text = "\n".join(lines)
    text = re.sub(r"^/\*\*?", "", text)
    text = re.sub(r"\*/$", "", text)
    lines = [re.sub(r"^\s*\* ?", "", line) for line in text.split("\n")]
    lines[0] = lines[0].strip()
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]


def one_a_line(lines):
    """A short comment may have its @return behind the sentence."""
    for line in lines:
        at = line.find(" @return ")
        if at > 0:
            yield line[:at]
            yield line[at + 1:]
        else:
            yield line


def kind_of(line, before):
    found = PART.match(line)
    if found:
        return found.group(1)
    for word in ("Context:", "Source:"):
        if line.startswith(word):
            return word[:-1].lower()
    if line.startswith("    ") and before not in ("param", "return", "context"):
        return "code"
    if line.startswith(" ") or (before not in (None, "param", "return", "code")):
        return before
    return "text"


def tagged(kind, lines):
    text = " ".join(line.strip() for line in lines)
    if kind in ("param", "return"):
        body = PART.sub("", text)
        if kind == "return":
            found = re.match(r"(TM_\w+|NULL)\b(.*)", body)
            return Block(kind, found[1], found[2].strip()) if found else \
                Block(kind, "", body)
        parts = re.split(r"  +| (?=\[)", body, maxsplit=1)
        return Block(kind, parts[0], parts[1] if len(parts) > 1 else "")
    if kind == "code":
        return Block(kind, "", [line[4:] for line in lines])
    return Block(kind, "", re.sub(r"^(Context|Source): ", "", text))


def blocks_of(comment):
    blocks = []
    current, kind = [], None

    def close():
        nonlocal current, kind
        if current:
            blocks.append(tagged(kind, current))
        current, kind = [], None

    for line in one_a_line(comment):
        if not line:
            close()
            continue
        new = kind_of(line, kind)
        if new != kind or PART.match(line):
            close()
        kind = new
        current.append(line)
    close()
    return blocks


def end_of_comment(lines, at):
    while "*/" not in lines[at]:
        at += 1
    return at + 1


def end_of_code(lines, at):
    """Behind a declaration, a definition, or a macro with its lines."""
    if lines[at].startswith("#define"):
        while lines[at].endswith("\\"):
            at += 1
        return at + 1
    depth = 0
    while True:
        code = re.sub(r"/\*.*?\*/|//.*", "", lines[at])
        depth += code.count("{") - code.count("}")
        at += 1
        if depth == 0 and (code.rstrip().endswith(";") or code.startswith("}")):
            return at


def named(code):
    """@return (kind, name)"""
    text = " ".join(code)
    if code[0].startswith("#define"):
        name = re.match(r"#define (\w+)(\(?)", code[0])
        return ("macro" if name[2] else "constant"), name[1]
    if re.match(r"enum \{", text):
        return "enum", "tm_status"
    found = re.match(r"(?:typedef )?(enum|struct) (\w+) \{", text)
    if found:
        return found[1], found[2]
    if text.startswith("typedef"):
        return "type", re.search(r"(\w+);$", text)[1]
    return "function", re.search(r"\b(tm_\w+)\(", text)[1]


def is_declared(line):
    return bool(re.match(r"(TM_API|typedef|struct \w+ \{|enum|static inline|#define)",
                         line))


def first_code(lines, at):
    """The declaration behind a comment: TM_SHARED has its first one in an #if."""
    if lines[at].startswith("#if"):
        while not lines[at].startswith("#define"):
            at += 1
    return at


def signature(code):
    """Of a function with a body: what is before that."""
    if code[0].startswith("static inline"):
        text = " ".join(line.strip() for line in code)
        return [text.split(" {")[0].split("{")[0].replace("static inline ", "")
                .strip() + ";"]
    return code


class Header:
    def __init__(self, path):
        self.text = path.read_text()
        self.day = roff.day_of(path)
        self.version = ".".join(VERSION.findall(self.text))
        self.introduction = []
        self.chapters = {}   # number: title
        self.entries = []
        self.read(self.text.split("\n"))

    def read(self, lines):
        chapter, at = 0, 0
        while at < len(lines):
            found = CHAPTER.match(lines[at])
            if found:
                chapter = int(found[1])
                self.chapters[chapter] = found[2]
                at += 1
            elif lines[at].startswith("/*"):
                at = self.read_comment(lines, at, chapter)
            elif chapter and lines[at].startswith("enum {"):
                end = end_of_code(lines, at)
                self.add(chapter, [], lines[at:end])
                at = end
            elif chapter and re.match(r"(struct \w+ \{|typedef)", lines[at]):
                raise ValueError(f"line {at + 1} has no comment: {lines[at]}")
            else:
                at += 1

    def read_comment(self, lines, at, chapter):
        end = end_of_comment(lines, at)
        comment = without_stars(lines[at:end])
        if not lines[at].startswith("/**"):
            if chapter == 0 and not self.introduction:
                self.introduction = comment
            elif chapter:
                self.entries.append(Entry(chapter, "remark", "", comment, []))
            return end
        start = first_code(lines, end)
        if not is_declared(lines[start]):
            return end
        stop = end_of_code(lines, start)
        if chapter:
            self.add(chapter, comment, lines[start:stop])
        return stop

    def add(self, chapter, comment, code):
        kind, name = named(code)
        self.entries.append(Entry(chapter, kind, name, comment, signature(code)))

    def callables(self):
        return [entry for entry in self.entries
                if entry.kind in ("function", "macro")
                or entry.name == "TM_SHARED"]

    def of_chapter(self, number):
        return [entry for entry in self.entries if entry.chapter == number]
