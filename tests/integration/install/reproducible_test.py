# SPDX-License-Identifier: Apache-2.0
"""Tests that compiled files do not depend on the folder in which they are compiled, and contain no path of the build machine."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
NEEDED = ("CMakeLists.txt", "cmake", "src", "include", "dbus", "systemd", "data", "man", "cockpit")
# A sample, because building everything takes twenty minutes: C and C++ code, a generated file, and linked
# libraries.
SAMPLE = ("src/libgpuprobe.so.1.1.0", "src/libgpuprobe.a", "src/CMakeFiles/gpuprobe_base.dir/base/units.cpp.o",
          "src/CMakeFiles/gpuprobe_knowledge.dir/__/generated/builtin_rules.cpp.o")
# The packages are built with the CMake configuration in this test. The configuration adds debug information, which contains file names.
CONFIGURED = ("-GNinja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_C_FLAGS=-O2 -g", "-DCMAKE_CXX_FLAGS=-O2 -g", "-DGPUPROBE_TESTS=OFF")


class Reproducible(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *words, cwd):
        done = subprocess.run(words, cwd=cwd, env={**os.environ, "CCACHE_DISABLE": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def tree(self, name):
        for needed in NEEDED:
            copy = shutil.copytree if (SOURCE / needed).is_dir() else shutil.copy
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            copy(SOURCE / needed, self.folder / name / needed)
        return self.folder / name

    def test_a_sample_is_the_same_in_two_folders(self):
        made = []
        for tree in self.tree("here"), self.tree("elsewhere/with a longer name"):
            self.run_command("cmake", "-S", ".", "-B", "build", *CONFIGURED, cwd=tree)
            self.run_command("ninja", "-C", "build", *SAMPLE, cwd=tree)
            made.append({name: (tree / "build" / name).read_bytes() for name in SAMPLE})
        for name in SAMPLE:
            with self.subTest(name):
                self.assertTrue(made[0][name] == made[1][name], "differs")
                self.assertNotIn(bytes(self.folder), made[0][name])


if __name__ == "__main__":
    unittest.main()
