# SPDX-License-Identifier: MIT
"""juggle for Spack. The sources are the tree that this file lies in: `spack dev-build`, or
`spack develop` in an environment; see the README."""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:
    pass  # Before Spack 1.0, spack.package has it.


class Juggle(MesonPackage):
    """Keep all threads of an unmodified parallel program progressing at the same rate, by moving
    them between CPUs; with a library for programs that publish the progress of their parts."""

    # The repository that this file lies in. A copy of the recipe elsewhere needs another address.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))

    license("MIT")

    version("main", branch="main")

    variant("mpi", default=True, description="jacobi and ubench-mpi over MPI ranks")
    variant("openmp", default=True, description="jacobi and ubench-omp with OpenMP")
    variant("ncurses", default=True, description="jugglectl top")

    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")  # completions, where the module goes
    depends_on("cmocka", type="test")
    depends_on("hwloc@2:")
    depends_on("jansson@2.13:")
    depends_on("libnl")
    depends_on("mpi", when="+mpi")
    depends_on("ncurses", when="+ncurses")

    conflicts("platform=darwin", msg="juggle needs Linux")
    conflicts("platform=windows", msg="juggle needs Linux")

    def meson_args(self):
        def feature(name, wanted):
            return "-D%s=%s" % (name, "enabled" if wanted else "disabled")

        return [feature(name, self.spec.satisfies("+" + name)) for name in ("mpi", "openmp", "ncurses")] + [
            feature("completions", True),
            feature("fortran", False),
            feature("html", False),
            feature("slurm", False),
            feature("python", True),
            feature("tests", self.run_tests),
        ]
