# SPDX-License-Identifier: Apache-2.0
"""Tests that programs that were linked with an earlier libgpuprobe.so.1 run with the current library: libabigail compares the library with the
description in tests/data/libgpuprobe.so.1.abi. GPUPROBE_ACCEPT=1 adds new symbols to the description."""
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
LIBRARY = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "libgpuprobe.so.1"
CODE, READER, SYMBOLS = "wire/gpuprobe.c", "wire/json_reader.c", "wire/gpuprobe.map"
HEADER = "include/gpuprobe/gpuprobe.h"
DESCRIBED = SOURCE / "tests/data/libgpuprobe.so.1.abi"


@unittest.skipUnless(shutil.which("abidiff"), "abidiff (abigail-tools) is not installed")
@unittest.skipUnless(platform.machine() == "x86_64", "the description is for x86_64")
@unittest.skipIf(os.environ.get("GPUPROBE_SANITIZE"), "sanitizers add symbols")
class Abi(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuprobe-abi-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def description(self, library, headers=SOURCE / "include/gpuprobe"):
        """Writes a description of the library's public interface. Returns its path."""
        path = self.folder / f"{library.name}.abi"
        subprocess.run(["abidw", "--exported-interfaces-only", "--drop-private-types", "--headers-dir", headers, "--no-corpus-path",
                        "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--type-id-style", "hash", "--out-file", path, library],
                       check=True, timeout=60)
        return path

    def differences(self, described, *words):
        return subprocess.run(["abidiff", *words, DESCRIBED, described], capture_output=True, text=True, timeout=60, check=False)

    def changed(self, changes):
        """Builds the library with changes, {file: (old text, new text)}. Returns a description of the library's public interface."""
        folder = self.folder / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(SOURCE / "include", folder / "include")
        (folder / "wire").mkdir()
        for name in (CODE, READER, "wire/json_reader.h", SYMBOLS):
            shutil.copy(SOURCE / "src" / name, folder / name)
        for name, (text, other) in changes.items():
            before = (folder / name).read_text(encoding="utf-8")
            self.assertIn(text, before)
            (folder / name).write_text(before.replace(text, other), encoding="utf-8")
        library = folder / "libgpuprobe.so.1"
        subprocess.run(["cc", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-I", folder / "include", "-I", folder, "-o", library,
                        folder / CODE, folder / READER,
                        f"-Wl,--version-script={folder / SYMBOLS}", "-Wl,-soname,libgpuprobe.so.1"], check=True, timeout=60)
        return self.description(library, folder / "include/gpuprobe")

    def test_keeps_what_programs_were_linked_with(self):
        done = self.differences(self.description(LIBRARY), "--no-added-syms")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stdout + done.stderr)

    def test_describes_all_that_there_is(self):
        described = self.description(LIBRARY)
        if os.environ.get("GPUPROBE_ACCEPT"):
            self.assertEqual(self.differences(described, "--no-added-syms").returncode, 0)
            shutil.copy(described, DESCRIBED)
        self.assertEqual(self.differences(described).stdout, "")

    def test_shows_no_structure(self):
        shown = [line.strip() for line in DESCRIBED.read_text(encoding="utf-8").splitlines() if "-decl name" in line and "is-struct" in line]
        self.assertEqual([line for line in shown if "is-declaration-only='yes'" not in line], [])
        self.assertEqual(len(shown), 1)  # the only structure is the client

    def test_finds_what_breaks_programs(self):
        for what, change, *files in (
                ("another type of a result", ("long gpuprobe_count(", "int gpuprobe_count("), READER, HEADER),
                ("another type of a parameter", ("int milliseconds)", "long milliseconds)"), CODE, HEADER),
                ("one more parameter", ("long index)", "long index, int from)"), READER, HEADER),
                ("no such function", ("    gpuprobe_key;\n", ""), SYMBOLS),
                ("another version of the symbols", ("GPUPROBE_1", "GPUPROBE_2"), SYMBOLS)):
            with self.subTest(what):
                done = self.differences(self.changed(dict.fromkeys(files, change)), "--no-added-syms")
                self.assertNotEqual(done.returncode, 0, done.stdout)

    def test_allows_one_more_function(self):
        described = self.changed({HEADER: ("#ifdef __cplusplus\n}", "GPUPROBE_PUBLIC int gpuprobe_more(void);\n#ifdef __cplusplus\n}"),
                                  READER: ("long gpuprobe_count(", "int gpuprobe_more(void) { return 0; }\nlong gpuprobe_count("),
                                  SYMBOLS: ("    gpuprobe_key;\n", "    gpuprobe_key;\n    gpuprobe_more;\n")})
        self.assertIn("gpuprobe_more", self.differences(described).stdout)
        self.assertEqual(self.differences(described, "--no-added-syms").returncode, 0)


if __name__ == "__main__":
    unittest.main()
