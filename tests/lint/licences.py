#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if the first line of a source file, or the line after #!, is not the SPDX line of the file's license.

Usage: licences.py ROOT
       licences.py --self-test   shows that each rule can fail

Client code is also under the MIT license, so that a program under any license can contain it.
"""
import os
import pathlib
import re
import sys
import tempfile

APACHE, EITHER = "Apache-2.0", "Apache-2.0 OR MIT"
# Code that is copied into other programs, or with which other programs are linked.
CLIENTS = ("include/", "src/go/", "src/node/", "src/python/", "src/rust/", "src/wire/gpuprobe.", "src/wire/json_reader.")
FOLDERS = ("bench", "cockpit", "debian", "dbus", "docs", "include", "man", "src", "tests", "tools")
SOURCES = {".c", ".comp", ".cpp", ".go", ".h", ".hpp", ".js", ".map", ".mjs", ".py", ".rs", ".sh", ".ts", ".zig"}
NOT_OURS = ("tests/data/", "node_modules/")
SPDX = re.compile(r"SPDX-License-Identifier: ([^*\n]+?)(?: \*/| -->)?$")
LICENCES = {"LICENSES/Apache-2.0.txt", "LICENSES/MIT.txt", "LICENSE"}


def source_files(root):
    """Yields (path relative to the root, expected license line) of each source file and each script without a suffix, except empty files."""
    for folder in FOLDERS:
        for where, _, names in os.walk(root / folder):
            for path in (pathlib.Path(where, name) for name in sorted(names)):
                name = path.relative_to(root).as_posix()
                if path.is_symlink() or path.suffix not in SOURCES | {""} or any(part in name for part in NOT_OURS):
                    continue
                first, *more = path.read_bytes()[:400].decode(errors="replace").splitlines() or [""]
                is_script = first.startswith("#!")
                if is_script or (first and path.suffix):
                    yield name, (more or [""])[0] if is_script else first


def problems(root):
    for missing in sorted(each for each in LICENCES if not (root / each).is_file()):
        yield f"{missing}: missing"
    for name, line in source_files(root):
        found, wanted = SPDX.search(line), EITHER if name.startswith(CLIENTS) else APACHE
        if not found or found[1] != wanted:
            yield f"{name}: SPDX-License-Identifier: {found[1] if found else 'missing'}, not {wanted}"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        texts = {"LICENSE": "x", "LICENSES/Apache-2.0.txt": "x", "src/a.cpp": f"// SPDX-License-Identifier: {APACHE}\n",
                 "src/go/a.go": f"// SPDX-License-Identifier: {EITHER}\n", "include/b.h": f"/* SPDX-License-Identifier: {EITHER} */\n",
                 "src/wire/gpuprobe.c": f"// SPDX-License-Identifier: {APACHE}\n", "src/b.cpp": f"// SPDX-License-Identifier: {EITHER}\n",
                 "src/c.py": "print()\n", "src/d.h": f"#pragma once\n// SPDX-License-Identifier: {APACHE}\n", "tools/d": "#!/bin/sh\n", "tools/e": "text", "src/__init__.py": "", "tests/data/f.c": "int f;\n"}
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = [problem.split(":")[0] for problem in problems(root)]
    assert found == ["LICENSES/MIT.txt", "src/b.cpp", "src/c.py", "src/d.h", "src/wire/gpuprobe.c", "tools/d"], found
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "each source file names its licence")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
