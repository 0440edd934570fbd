# SPDX-License-Identifier: BSD-3-Clause
"""Runs without the pager: each node in a control group of its own with as much memory
as it would have had for shared data, on top of what it needs besides, and the kernel
pages to a swap file on the machine's disk."""
import contextlib
import os
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
import kernel_swap  # noqa: E402

NotHere = kernel_swap.NotHere
Killed = kernel_swap.Killed
until_not_killed = kernel_swap.until_not_killed
FOLDER = "/var/tmp"  # not in memory


@contextlib.contextmanager
def groups(n_nodes):
    """@raise NotHere if the machine does not let us"""
    with tempfile.TemporaryDirectory(prefix="experiment-", dir=FOLDER) as folder:
        swap = kernel_swap.KernelSwap(folder)
        try:
            yield Groups(swap, n_nodes)
        finally:
            swap.close()


class Groups:
    """A group for each node."""

    def __init__(self, swap, n_nodes):
        self.swap = swap
        self.names = [f"n{i}" for i in range(n_nodes)]
        if not swap.is_first:
            swap.write("cgroup.subtree_control", "+memory")
        for name in self.names:
            os.mkdir(f"{swap.group}/{name}")
            if swap.is_first:
                swap.write(f"{name}/memory.swappiness", 100)

    def command(self, command):
        """The program's words, which join the node's group first."""
        return ["sh", "-c", f"echo $$ > {self.swap.group}/n$TEAMSTER_NODE/"
                'cgroup.procs; exec "$@"', "sh", *command]

    def set_limits(self, limits):
        """Bytes of each node."""
        for name, limit in zip(self.names, limits):
            self.swap.write(f"{name}/{self.swap.limit_file}", limit)

    def most(self):
        """Bytes that each node has had at most."""
        found = []
        for name in self.names:
            path = f"{self.swap.group}/{name}/{self.swap.most_file}"
            with open(path, encoding="ascii") as file:
                found.append(int(file.read()))
        return found
