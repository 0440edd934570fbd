#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make the table of messages in docs/wire.md out of src/net/messages.def.

usage: wire_table.py [--check] [ROOT]

--check changes nothing; it fails if the table is not up to date. Either way it
fails if two messages share a number or a name, or if numbers do not rise.

A comment above a message is its remark; so is one that begins with "body of
NAME:" anywhere. A comment "---- heading ----" begins a table.
"""
import pathlib
import re
import sys

BEGIN = "<!-- made by tools/wire_table.py: begin -->\n"
END = "<!-- made by tools/wire_table.py: end -->\n"
MESSAGE = re.compile(r'MESSAGE\((\d+), (\w+), "([^"]*)",(.*)\)$', re.S)
FIELD = re.compile(r"FIELD\((\w+), (\w+)\)")
HEADING = re.compile(r"---- (.*) ----$")
BODY_OF = re.compile(r"body of (\w+):")


class Message:
    """One row of the table."""

    def __init__(self, match):
        self.number = int(match[1])
        self.name = match[2]
        self.meaning = match[3]
        self.fields = FIELD.findall(match[4])
        self.remarks = []

    def row(self):
        fields = ", ".join(f"{name} {width}" for width, name in self.fields)
        remarks = " ".join(self.remarks).replace("|", "\\|")
        return (f"| {self.number} | `{self.name}` | {self.meaning} "
                f"| {fields} | {remarks} |")


def remark(comment):
    """The text of a comment as a sentence or two."""
    text = " ".join(comment)
    return BODY_OF.sub("body:", text)


def statements(lines):
    """Yield ("comment", [lines]) and ("message", text), in order."""
    comment, message = [], ""
    for line in lines:
        if line.startswith("//"):
            text = line[2:].strip()
            if comment and (HEADING.match(text) or HEADING.match(comment[0])
                            or BODY_OF.match(text)):
                yield "comment", comment
                comment = []
            comment.append(text)
            continue
        if comment:
            yield "comment", comment
            comment = []
        message += line + "\n"
        if message.rstrip().endswith("))"):
            yield "message", message.strip()
        if not line or message.rstrip().endswith("))"):
            message = ""


def read_messages(text):
    """Return [(heading, [Message])]."""
    tables, waiting, by_name = [], [], {}
    # Before the first heading stands what the file is about.
    for kind, what in statements(text[text.index("// ----"):].split("\n")):
        if kind == "comment":
            heading = HEADING.match(what[0])
            body_of = BODY_OF.match(what[0])
            if heading:
                tables.append((heading[1], []))
            elif body_of:
                by_name[body_of[1]].remarks.append(remark(what))
            else:
                waiting = [remark(what)]
            continue
        match = MESSAGE.match(what)
        if not match:
            sys.exit(f"messages.def: cannot read: {what}")
        message = Message(match)
        message.remarks, waiting = waiting, []
        by_name[message.name] = message
        tables[-1][1].append(message)
    return tables


def complaints(tables):
    messages = [message for _, table in tables for message in table]
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
                  "| number | message | meaning | fields | remarks |",
                  "|---|---|---|---|---|"]
        lines += [message.row() for message in table]
    return "\n".join(lines[1:]) + "\n"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    root = pathlib.Path(arguments[0] if arguments else ".")
    page = root / "docs/wire.md"
    tables = read_messages((root / "src/net/messages.def").read_text())
    faults = list(complaints(tables))
    if faults:
        print("\n".join(f"messages.def: {fault}" for fault in faults))
        return 1
    old = page.read_text()
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = before + BEGIN + "\n" + render(tables) + "\n" + END + after
    if "--check" not in sys.argv:
        page.write_text(new)
    elif new != old:
        print("docs/wire.md is not up to date: run tools/wire_table.py")
        return 1
    print(sum(len(table) for _, table in tables), "messages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
