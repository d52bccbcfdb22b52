# SPDX-License-Identifier: Apache-2.0
"""Tests that the small program gpuprobectl gives the same answers as gpuprobectl-whole, which gpuprobectl starts if necessary."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from cli_case import environment, run_in_terminal

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

    @unittest.skipIf(os.environ.get("GPUPROBE_SANITIZE"), "a program with a sanitizer keeps functions that are not called")
    def test_it_loads_no_library_of_the_bus_or_of_hardware(self):
        told = subprocess.run(["ldd", BIN / "gpuprobectl"], check=True, capture_output=True, text=True).stdout
        for library in ("libsdbus", "libsystemd", "libudev", "libhogweed"):
            self.assertNotIn(library, told)
        whole = subprocess.run(["ldd", BIN / "gpuprobectl-whole"], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("libsdbus", whole)

    def test_alone_it_answers_what_it_can_and_says_what_is_missing(self):
        self.start()
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(BIN / "gpuprobectl", folder)
            answer, other = (subprocess.run([alone, f"--socket={self.path}", *words], capture_output=True, text=True, timeout=60, check=False)
                             for words in (("select", "default"), ("status",)))
        self.assertEqual((answer.returncode, answer.stdout.splitlines()[0]), (0, "cuda on NVIDIA H200 (pci:0000:00:06.0)"))
        self.assertEqual((other.returncode, other.stdout), (1, ""))
        self.assertIn(f"gpuprobectl: program not found: {folder}/gpuprobectl-whole, ", other.stderr)
        self.assertIn("reinstall gpuprobe", other.stderr)


class FrontHelp(unittest.TestCase):
    """Tests that the small program prints every help page even if the whole program is not installed."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-front-")
        cls.addClassCleanup(folder.cleanup)
        cls.alone = shutil.copy(BIN / "gpuprobectl", folder.name)
        overview = cls.outcome(BIN / "gpuprobectl-whole", "help")[1]
        cls.verbs = list(dict.fromkeys(re.findall(r"^  ([a-z][a-z-]+)", overview, re.M)))

    @staticmethod
    def outcome(program, *words):
        done = subprocess.run([program, *words], env=environment(), capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def assert_same(self, *words):
        with self.subTest(words):
            page = self.outcome(self.alone, *words)
            self.assertEqual(page, self.outcome(BIN / "gpuprobectl-whole", *words))
            self.assertEqual((page[0], page[1][:6], page[2]), (0, "Usage:", ""))

    def test_it_has_the_overview(self):
        for word in ("help", "--help", "-h"):
            self.assert_same(word)

    def test_it_has_the_page_of_each_verb(self):
        self.assertLessEqual({"status", "select", "version", "help"}, set(self.verbs))
        for verb in self.verbs:
            self.assert_same("help", verb)
            if verb != "help":  # "help --help" prints the page about help, which only the whole program contains
                self.assert_same(verb, "--help")
        self.assert_same("status", "-h")

    def test_a_terminal_gets_the_page_in_its_width(self):
        for columns in (50, 80, 120):
            for words in (("help",), ("select", "--help"), ("help", "run")):
                with self.subTest(words, columns=columns):
                    self.assertEqual(run_in_terminal(columns, *words, program=self.alone),
                                     run_in_terminal(columns, *words, program=BIN / "gpuprobectl-whole"))

    def test_other_words_are_left_to_the_whole_program(self):
        for words in (("help", "nonsense"), ("help", "--help"), ("help", ""), ("", "--help"), ("list", "--nonsense", "--help"),
                      ("help", "list", "show"), ("--direct", "list", "--help"), ("run", "--help", "--", "true")):
            with self.subTest(words):
                self.assertEqual(self.outcome(BIN / "gpuprobectl", *words), self.outcome(BIN / "gpuprobectl-whole", *words))
                self.assertIn("program not found: ", self.outcome(self.alone, *words)[2])


if __name__ == "__main__":
    unittest.main()
