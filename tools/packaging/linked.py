#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the libraries that are linked into the portable program, with their licenses as SPDX expressions. Sources: the copyright files of
Debian 12's packages. If this file is run as a program, it prints the license of the complete portable program."""
import typing


class Library(typing.NamedTuple):
    name: str
    licence: str
    archives: tuple = ()  # names in cmake/portable.cmake
    package: str = ""  # name of the package in Debian 12


LIBRARIES = [
    Library("CLI11", "BSD-3-Clause", (), "libcli11-dev"),
    Library("fmt", "MIT", (), "libfmt-dev"),
    Library("GCC runtime libraries", "GPL-3.0-or-later WITH GCC-exception-3.1", (), "libgcc-12-dev"),
    Library("GMP", "LGPL-3.0-or-later OR GPL-2.0-or-later", ("gmp",), "libgmp-dev"),
    Library("GNU C Library", "LGPL-2.1-or-later", (), "libc6-dev"),
    Library("JSON for Modern C++", "MIT", (), "nlohmann-json3-dev"),
    Library("libc++", "Apache-2.0 WITH LLVM-exception", (), "libc++-19-dev"),
    Library("libpci", "GPL-2.0-or-later", ("pci",), "libpci-dev"),
    Library("libseccomp", "LGPL-2.1-only", ("seccomp",), "libseccomp-dev"),
    Library("Nettle", "LGPL-3.0-or-later OR GPL-2.0-or-later", ("hogweed", "nettle"), "nettle-dev"),
    Library("zlib", "Zlib", ("z",), "zlib1g-dev"),
    Library("Zstandard", "BSD-3-Clause OR GPL-2.0-only", ("zstd",), "libzstd-dev"),
]


def licence(*own):
    """Returns the license of a work that contains the program, and whose other parts have the licenses in `own`."""
    parts = {"Apache-2.0", *own, *(library.licence for library in LIBRARIES)}
    return " AND ".join(sorted(f"({part})" if " OR " in part else part for part in parts))


if __name__ == "__main__":
    print(licence())
