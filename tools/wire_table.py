#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make the tables of docs/wire.md out of what SOURCES name.

usage: wire_table.py [--check] [ROOT]

--check changes nothing; it fails if the table is not up to date. Either way it
fails if two messages share a number or a name, or if numbers do not rise.

A comment above a message or a record is its remark. A comment "---- heading ----"
begins a table.
"""
import pathlib
import re
import sys

BEGIN = "<!-- made by tools/wire_table.py: begin -->\n"
END = "<!-- made by tools/wire_table.py: end -->\n"
MESSAGE = re.compile(
    r'MESSAGE\((\d+), (\w+), (\w+), "([^"]*)",'
    r'((?:\s*FIELD\(\w+, \w+\))*),\s*([^"]*)\)$', re.S)
RECORD = re.compile(r"RECORD\((\w+), (.*)\)$", re.S)
FRAME = re.compile(r'FRAME\((\d+), (\w+), "([^"]*)", "([^"]*)", ([^"]*)\)$', re.S)
SOURCES = ("src/net/messages.def", "src/cluster/boot_frames.def",
           "cli/agent_frames.def")
FIELD = re.compile(r"FIELD\((\w+), (\w+)\)")
HEADING = re.compile(r"---- (.*) ----$")
BODY = {  # how a body is told
    r"NONE": "",
    r"BYTES": "bytes",
    r"ONE\((\w+)\)": r"`\1`",
    r"MANY\((\w+)\)": r"`\1` any number of times",
    r"TIMES\((\w+), (\w+)\) (?=\S)": r"\1 times `\2`, ",
    r"TIMES\((\w+), (\w+)\)": r"\1 times `\2`",
}


def fields_of(text):
    return ", ".join(f"{name} {width}" for width, name in FIELD.findall(text))


class Record:
    """One row of the table of what bodies consist of."""
    header = ["| record | fields | remarks |", "|---|---|---|"]

    def __init__(self, match, remark):
        self.name = match[1]
        self.fields = fields_of(match[2])
        self.remark = remark

    def row(self):
        return f"| `{self.name}` | {self.fields} | {self.remark} |"


def told(body):
    """A body in words."""
    for pattern, words in BODY.items():
        body = re.sub(pattern, words, body)
    return body


class Frame:
    """One row of a table of frames."""
    header = ["| number | frame | way | meaning | body | remarks |",
              "|---|---|---|---|---|---|"]

    def __init__(self, match, remark):
        self.number = int(match[1])
        self.name, self.way, self.meaning, self.body = match.groups()[1:]
        self.remark = remark

    def row(self):
        return (f"| {self.number} | `{self.name}` | {self.way} | {self.meaning} "
                f"| {told(self.body)} | {self.remark} |")


class Message:
    """One row of a table of messages."""
    header = ["| number | message | meaning | owner | fields | body | remarks |",
              "|---|---|---|---|---|---|---|"]

    def __init__(self, match, remark):
        self.number = int(match[1])
        self.owner, self.name, self.meaning = match[2], match[3], match[4]
        self.fields = fields_of(match[5])
        self.body = match[6]
        self.remark = remark

    def row(self):
        return (f"| {self.number} | `{self.name}` | {self.meaning} | {self.owner} "
                f"| {self.fields} | {told(self.body)} | {self.remark} |")


def statements(lines):
    """Yield ("comment", [lines]) and ("row", text), in order."""
    comment, row = [], ""
    for line in lines:
        if line.startswith("//"):
            text = line[2:].strip()
            if comment and HEADING.match(comment[0]):
                yield "comment", comment
                comment = []
            comment.append(text)
            continue
        if comment:
            yield "comment", comment
            comment = []
        row += line + "\n" if not line.startswith("#") else ""
        if row.rstrip().endswith(")") and row.count("(") == row.count(")"):
            yield "row", row.strip()
            row = ""


def row_of(text, remark):
    for pattern, kind in ((MESSAGE, Message), (RECORD, Record), (FRAME, Frame)):
        match = pattern.match(text)
        if match:
            return kind(match, remark)
    sys.exit(f"cannot read: {text}")


def read_tables(text):
    """Return [(heading, [Record, Message or Frame])]."""
    tables, remark = [], ""
    # Before the first heading stands what the file is about.
    for kind, what in statements(text[text.index("// ----"):].split("\n")):
        if kind == "comment":
            heading = HEADING.match(what[0])
            if heading:
                tables.append((heading[1], []))
            else:
                remark = " ".join(what).replace("|", "\\|")
            continue
        tables[-1][1].append(row_of(what, remark))
        remark = ""
    return tables


def complaints(tables):
    messages = [row for _, table in tables for row in table
                if not isinstance(row, Record)]
    names = set()
    last = 0
    for message in messages:
        if message.number <= last:
            yield f"{message.number} {message.name}: numbers must rise"
        if message.name in names:
            yield f"{message.number} {message.name}: the name is taken"
        last = message.number
        names.add(message.name)
    if not messages:
        yield "no messages found"


def render(tables):
    lines = []
    for heading, table in tables:
        lines += ["", f"### {heading[0].upper()}{heading[1:]}", "",
                  *table[0].header]
        lines += [message.row() for message in table]
    return "\n".join(lines[1:]) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    root = pathlib.Path(arguments[0] if arguments else ".")
    page = root / "docs/wire.md"
    tables = []
    for source in SOURCES:
        its_tables = read_tables((root / source).read_text())
        faults = list(complaints(its_tables))
        if faults:
            print("\n".join(f"{source}: {fault}" for fault in faults))
            return 1
        tables += its_tables
    old = page.read_text()
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = before + BEGIN + "\n" + render(tables) + "\n" + END + after
    if "--check" not in sys.argv:
        page.write_text(new)
    elif new != old:
        print("docs/wire.md is not up to date: run tools/wire_table.py")
        return 1
    print(sum(len(table) for _, table in tables), "messages, frames and records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
