# SPDX-License-Identifier: Apache-2.0
"""`gpuprobectl` is two programs, and says what the whole one says."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "socket"))
from socket_case import BIN, MACHINES, SocketCase  # noqa: E402

ASKED = (
    ("select",), ("select", "default", "-j"), ("select", "ollama", "--explain"), ("select", "ollama", "--explain", "--no-legend"),
    ("select", "nonsense"), ("select", "nonsense", "-j"), ("select", "default", "--gpu=nobody"), ("select", "default", "--only=rocm"),
    ("select", "default", "--fake=amd"), ("select", "default", "--platform=windows-x86_64"), ("select", "default", "--nonsense"),
    ("select", "default", "--help"), ("env", "llama.cpp"), ("env", "llama.cpp", "-j"), ("env", "llama.cpp", "--gpu=1,0"), ("env",),
    ("--quiet", "select", "vllm"), ("--colour=always", "select", "torch", "--explain"), ("list",), ("status",), ("version",), ("help", "select"),
    ("complete", "select", "oll"), ("recommend", "torch"), ("nonsense", "select"), (),
)


class Front(SocketCase):
    def outcome(self, program, words, where=None):
        socket = () if words and words[0] == "complete" else (where or f"--socket={self.path}",)
        done = subprocess.run([BIN / program, *socket, *words], env=self.environment(), capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_both_say_the_same(self):
        self.start(machine=MACHINES / "pc-three-vendors")
        for words in ASKED:
            with self.subTest(words):
                self.assertEqual(self.outcome("gpuprobectl", words), self.outcome("gpuprobectl-whole", words))

    def test_both_say_the_same_where_nobody_answers(self):
        for words in ASKED:
            with self.subTest(words):
                where = f"--socket={self.folder}/nobody"
                self.assertEqual(self.outcome("gpuprobectl", words, where), self.outcome("gpuprobectl-whole", words, where))

    @unittest.skipIf(os.environ.get("GPUPROBE_SANITIZE"), "a program with a sanitizer keeps what nobody calls")
    def test_it_loads_no_library_of_the_bus_or_of_hardware(self):
        told = subprocess.run(["ldd", BIN / "gpuprobectl"], check=True, capture_output=True, text=True).stdout
        for library in ("libsdbus", "libsystemd", "libudev", "libhogweed"):
            self.assertNotIn(library, told)

    def test_alone_it_answers_what_it_can_and_says_what_is_missing(self):
        self.start()
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(BIN / "gpuprobectl", folder)
            answer, other = (subprocess.run([alone, f"--socket={self.path}", *words], capture_output=True, text=True, timeout=60, check=False)
                             for words in (("select", "default"), ("status",)))
        self.assertEqual((answer.returncode, answer.stdout.splitlines()[0]), (0, "cuda on NVIDIA H200 (pci:0000:00:06.0)"))
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertIn(f"gpuprobectl: there is no program at {folder}/gpuprobectl-whole, ", other.stderr)
        self.assertIn("install gpuprobe again", other.stderr)


if __name__ == "__main__":
    unittest.main()
