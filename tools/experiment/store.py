# SPDX-License-Identifier: BSD-3-Clause
"""The folder of results: a JSON file a cell, written after each of its runs.

A file says where its numbers come from ("origin"). What tests make up is "fake",
and is refused wherever real results are wanted.

The settings under which all cells were measured are in settings.json. A folder
goes on only with the same, since cells are compared with each other.
"""
import json
import os
import pathlib

MEASURED = "measured"
FAKE = "fake"


class Mismatch(Exception):
    """The folder holds something else."""


def write_json(path, value):
    """Under its name there is never half a file."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def read_json(path):
    """The document; None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as reason:
        raise Mismatch(f"{path}: {reason}; remove it to measure it again")


class Store:
    def __init__(self, folder, origin=MEASURED):
        self.folder = pathlib.Path(folder)
        self.cells = self.folder / "cells"
        self.origin = origin

    def open(self, settings):
        """Begin, or go on if the settings are the same."""
        self.cells.mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.json"
        there = read_json(path)
        if there is None:
            write_json(path, settings)
        elif there != settings:
            differing = [f"{key} {there.get(key)}, not {settings.get(key)}"
                         for key in sorted({*there, *settings})
                         if there.get(key) != settings.get(key)]
            raise Mismatch(f"{self.folder} was measured with "
                           f"{'; '.join(differing)}: give the same, another "
                           "--folder, or remove it")

    def path(self, cell):
        return self.cells / f"{cell.name}.json"

    def load(self, cell):
        """What is known of a cell; None if nothing is."""
        result = read_json(self.path(cell))
        if result is not None and result.get("origin") != self.origin:
            raise Mismatch(f"{self.path(cell)} is {result.get('origin')}, "
                           f"not {self.origin}")
        return result

    def save(self, cell, result):
        write_json(self.path(cell), {"cell": cell.__dict__,
                                     "origin": self.origin, **result})

    def note(self, name, value=None):
        """Read a document beside the cells, or write it."""
        path = self.folder / f"{name}.json"
        if value is not None:
            write_json(path, value)
        return read_json(path)
