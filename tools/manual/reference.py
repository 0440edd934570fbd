#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the pages of section 3, one for each public function, out of the comments of
include/teamster.h, and teamster.h(3), which has the rest of it: the words, the memory
model, types.

usage: reference.py HEADER FOLDER

Writes FOLDER/man3/*.3. A function that programs do not call by its own name has the
page of the one that they do, as a symbolic link.
"""
import pathlib
import re
import sys

import header as headers
import roff

MANUAL = "Teamster reference"
OVERVIEW = "teamster.h"

# Titles of the sections that blocks go to, in order.
SECTIONS = (("param", "PARAMETERS"), ("return", "RETURN VALUE"),
            ("context", "CONTEXT"), ("source", "SOURCE"))
COMPILE = ["cc -O2 -g program.c $(pkg-config --cflags --libs teamster) "
           "-o program"]


def first_sentence(entry, header):
    """What it does; of one that only fills a structure in, what that is."""
    kinds = {block.kind for block in entry.blocks}
    if "text" not in kinds and "param" in kinds:
        return first_sentence([other for other in types_of(entry, header)
                               if other.kind == "struct"][-1], header)
    for block in entry.blocks:
        if block.kind in ("text", "return"):
            text = re.split(r"(?<=[^.])[.:;?](?: |$)", block.text)[0]
            return text[0].lower() + text[1:] if text[:2].istitle() else text
    return entry.name


def shown(entry):
    """Its declaration, as a program sees it."""
    if entry.kind == "macro":
        for block in entry.blocks:
            if block.kind == "code" and f"{entry.name}(" in block.text[0]:
                return block.text
        parameters = [block.tag for block in entry.blocks
                      if block.kind == "param"]
        return [f"tm_status {entry.name}(void *{', '.join(parameters)});"]
    if entry.kind == "constant":
        return [f"{entry.name} type variable;"]
    code = "\n".join(entry.code)
    indent = len(re.match(r"(TM_API )?(TM_CHECKED )?", code)[0])
    code = re.sub(r"\b(TM_API|TM_CHECKED) ", "", code)
    return [line[indent:] if line.startswith(" " * indent) else line
            for line in code.split("\n")]


def types_of(entry, header):
    """Definitions that the declaration needs, and those that these need."""
    wanted = set(headers.NAME.findall("\n".join(shown(entry))))
    found = []
    for other in reversed(header.entries):
        if other.kind in ("enum", "struct", "type") and other.name in wanted \
                and other.name != "tm_status":
            found.insert(0, other)
            wanted |= other.names()
    return found


def is_about(remark, entry, header):
    """Does a remark of the chapter concern the function? One that defines a *word*,
    or begins with a name, is about declarations that have it; any other about the
    functions behind it, up to the next."""
    text = " ".join(remark.comment)
    word = re.search(r"\*(\w+)\*", text)
    if word:
        return word[1] in "\n".join(entry.code)
    name = re.match(r"TM_\w+", text)
    if name:
        return any(name[0] in other.names()
                   for other in types_of(entry, header))
    before = header.entries[:header.entries.index(entry)]
    remarks = [other for other in before if other.kind == "remark"
               and not re.search(r"\*\w+\*", " ".join(other.comment))]
    return bool(remarks) and remarks[-1] is remark


def put_block(page, block):
    if block.kind == "code":
        page.verbatim(block.text)
        return
    text = re.sub(r"(?<!\w)\*(\w+)\*", r"\1", block.text)  # *defined*
    page.paragraph(f"Context: {text}" if block.kind == "context" else text)


def put_lists(page, entry):
    for kind, title in SECTIONS:
        blocks = [block for block in entry.blocks if block.kind == kind]
        if not blocks:
            continue
        page.section(title)
        for block in blocks:
            if block.tag:
                page.item(block.tag, block.text.replace("see above", "see NOTES"))
            else:
                page.paragraph(roff.sentence(block.text))


def neighbours(entry, header):
    """Pages of what is of the same kind: tm_mutex_..., else of the chapter."""
    kin = entry.name.rsplit("_", 1)[0]
    pages = [other for other in header.of_chapter(entry.chapter)
             if other in header.callables() and other is not entry
             and not other.alias_of()]
    close = [other for other in pages if other.name.startswith(kin + "_")] \
        if kin.count("_") else []
    return [(other.name, 3) for other in (close or pages)[:12]]


def page_of(entry, header):
    page = roff.Page(entry.name, 3, header.version, header.day, MANUAL)
    page.summary(first_sentence(entry, header), [entry.name, *(
        other.name for other in header.callables()
        if other.alias_of() == entry.name)])
    page.section("SYNOPSIS")
    types = types_of(entry, header)
    page.verbatim(["#include <teamster.h>", "",
                   *[line for other in types for line in [*other.code, ""]],
                   *shown(entry)])
    page.section("DESCRIPTION")
    for block in entry.blocks:
        if block.kind in ("text", "code"):
            if block.kind != "code" or block.text != shown(entry):
                put_block(page, block)
    if page.lines[-1].startswith(".SH"):
        page.paragraph(roff.sentence(first_sentence(entry, header)) + ".")
    put_lists(page, entry)
    notes = [other for other in header.of_chapter(entry.chapter)
             if other.kind == "remark" and is_about(other, entry, header)]
    if notes:
        page.section("NOTES")
        for note in notes:
            for block in note.blocks:
                put_block(page, block)
    page.see_also([*neighbours(entry, header), (OVERVIEW, 3),
                   ("teamster-run", 1)])
    return page.text()


def overview(header):
    page = roff.Page(OVERVIEW, 3, header.version, header.day, MANUAL)
    page.summary("one shared-memory C program over several machines")
    page.section("SYNOPSIS")
    page.verbatim(["#include <teamster.h>", "", *COMPILE])
    page.section("DESCRIPTION")
    for block in headers.blocks_of(header.introduction)[1:]:
        if block.kind == "text" and not block.text.startswith(
                ("Chapters", "One header")):
            put_block(page, block)
    for number, title in header.chapters.items():
        page.section(title.upper())
        for entry in header.of_chapter(number):
            put_overview(page, entry, header)
    page.see_also([("teamster", 1), ("teamster-run", 1)])
    return page.text()


def put_overview(page, entry, header):
    """Types and remarks in full; of functions a line."""
    if entry in header.callables():
        if not entry.alias_of():
            page.item(f"{entry.name}(3)", first_sentence(entry, header))
    elif entry.kind == "remark":
        if not entry.comment[0].startswith("Fill this file"):
            for block in entry.blocks:
                put_block(page, block)
    elif entry.name != "tm_program":
        for block in entry.blocks:
            put_block(page, block)
        page.verbatim(entry.code)


def write_all(header, folder):
    """@return the names of the pages"""
    folder.mkdir(parents=True, exist_ok=True)
    names = [OVERVIEW]
    (folder / f"{OVERVIEW}.3").write_text(overview(header))
    for entry in header.callables():
        path = folder / f"{entry.name}.3"
        path.unlink(missing_ok=True)
        if entry.alias_of():
            path.symlink_to(f"{entry.alias_of()}.3")
        else:
            path.write_text(page_of(entry, header))
        names.append(entry.name)
    return names


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    header = headers.Header(pathlib.Path(sys.argv[1]))
    names = write_all(header, pathlib.Path(sys.argv[2]) / "man3")
    print(f"{len(names)} pages of section 3")


if __name__ == "__main__":
    main()
