# SPDX-License-Identifier: BSD-3-Clause
# Spack brings the names that are not defined here. pylint: skip-file
"""A recipe for Spack. It fetches from the repository that TEAMSTER_GIT names, one of
one's own: export TEAMSTER_GIT=file:///home/me/teamster; spack install teamster@main."""
import os

from spack.package import *


class Teamster(CMakePackage):
    """One shared-memory C program over several machines: distributed shared memory in
    user space, with threads that move."""

    git = os.environ.get("TEAMSTER_GIT", "file:///usr/src/teamster")

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("pmix", default=True, description="programs run under mpirun and srun")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("boost+context")
    depends_on("jansson")
    depends_on("ncurses")
    depends_on("libmicrohttpd")
    depends_on("liburing")
    depends_on("libsodium", type=("build", "link", "run"))
    depends_on("ucx", type=("build", "link", "run"))
    depends_on("zstd", type=("build", "link", "run"))
    depends_on("pmix", type=("build", "link", "run"), when="+pmix")

    requires("target=x86_64:", msg="it knows x86-64 only")
    requires("platform=linux", msg="it needs userfaultfd or mprotect() of Linux")

    generator("ninja")

    def cmake_args(self):
        return [self.define("TM_TESTS", "OFF")]

    def setup_run_environment(self, env):
        """UCX, libsodium, zstd and PMIx are loaded while a program runs."""
        for name in ("ucx", "libsodium", "zstd", "pmix"):
            if name in self.spec:
                env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)
