# SPDX-License-Identifier: Apache-2.0
"""Tests for every recorded machine that gpuprobectl's output fits the terminal, and that all rows of a table can be distinguished."""
import json
import re
import unittest

from cli_case import SOURCE, run, run_in_terminal

MACHINES = sorted(path for path in (SOURCE / "tests/data/machines").iterdir() if (path / "capture.json").exists())
WIDTHS = (80, 40)
SHORTEST_NAME = 11  # a table shows at least this many characters of a name, not counting a space at the end
NO_GPU = "gpuprobectl: this machine has no GPU\n"


def ask(machine, *words):
    done = run(f"--replay={machine}", *words)
    assert done.stderr in ("", NO_GPU if words[0] == "list" else ""), done.stderr
    return done.stdout


def screen(machine, columns, *words):
    return run_in_terminal(columns, f"--replay={machine}", "--color=never", *words)[1]


def one_line(text):
    return " ".join(text.split())


def commands_in(document):
    """Returns all strings in a document, each of which may be a command. gpuprobectl does not wrap commands, so that users can copy them."""
    if isinstance(document, dict):
        return [found for value in document.values() for found in commands_in(value)]
    if isinstance(document, list):
        return [found for value in document for found in commands_in(value)]
    return [document] if isinstance(document, str) else []


class EveryMachine(unittest.TestCase):
    maxDiff = None

    def test_no_screen_is_wider_than_the_terminal(self):
        self.assertGreater(len(MACHINES), 80)
        for machine in MACHINES:
            texts = commands_in(json.loads(ask(machine, "doctor", "-j"))) + commands_in(json.loads(ask(machine, "-j")))
            for columns in WIDTHS:
                for verb in ("status", "list", "show", "doctor"):
                    with self.subTest(machine=machine.name, columns=columns, verb=verb):
                        for line in screen(machine, columns, verb).splitlines():
                            is_word = len(line.split()) == 1
                            is_command = any(line.strip() in text for text in texts)
                            self.assertTrue(len(line) <= columns or is_word or is_command, line)

    def test_show_fits_on_a_screen(self):
        for machine in MACHINES:
            with self.subTest(machine=machine.name):
                for text in (ask(machine, "show"), screen(machine, 80, "show")):
                    self.assertLessEqual(text.count("\n"), 20, text)

    def test_no_row_loses_what_differs(self):
        for machine in MACHINES:
            rows = [re.split(r" {2,}", line.strip()) for line in ask(machine, "list").split("\n\n")[0].splitlines()]
            if len(rows) < 2 or rows[0][0] != "#":
                continue
            names = {row[2] for row in rows[1:]}
            for columns in WIDTHS:
                with self.subTest(machine=machine.name, columns=columns):
                    text = one_line(screen(machine, columns, "list"))
                    for row in rows[1:]:
                        self.assertIn(row[1], text)
                        self.assertIn(one_line(row[-1]), text)
                    shown = {next(name[:length] for length in range(len(name), 0, -1) if name[:length] in text) for name in names}
                    self.assertEqual(len(shown), len(names), text)
                    self.assertTrue(all(len(one) >= len(name[:SHORTEST_NAME].rstrip()) for one, name in zip(sorted(shown), sorted(names))), shown)

    def test_unknown_memory_is_a_question_mark(self):
        seen = 0
        for machine in MACHINES:
            gpus = json.loads(ask(machine, "describe", "-j"))["gpus"]
            lines = ask(machine, "list", "--all").splitlines()
            for index, gpu in enumerate(gpus):
                memory = gpu["memory"]
                if memory["physical"] is None and memory["allocatable"] is None:
                    seen += 1
                    line = next(line for line in lines if line.split()[:2] == [str(index), gpu["id"]])
                    self.assertRegex(line, r"  \?  ", machine.name)
        self.assertGreater(seen, 0)


class EqualGpus(unittest.TestCase):
    FOUR = SOURCE / "tests/data/machines/nvidia-h200-4"

    def test_share_a_row(self):
        for verb in ("status", "list", "show"):
            text = ask(self.FOUR, verb)
            self.assertEqual(text.count("4 x NVIDIA H200"), 1 if verb == "list" else 2, text)
            self.assertNotIn("pci:0000:00:07.0", text)

    def test_have_their_addresses_in_all(self):
        for verb in ("status", "list", "show"):
            text = ask(self.FOUR, verb, "--all")
            for number in range(6, 10):
                self.assertIn(f"pci:0000:00:0{number}.0", text, verb)

    def test_are_listed_with_their_indices(self):
        self.assertRegex(ask(self.FOUR, "list"), r"(?m)^0-3  pci:0000:00:06\.0 …  4 x NVIDIA H200  ")


class DefaultChoice(unittest.TestCase):
    def test_is_on_the_first_line_of_status(self):
        for name, words in (("nvidia-h200-1", "1 GPU · default: CUDA on NVIDIA H200"), ("nvidia-h200-4", "4 GPUs · default: CUDA on 4 x NVIDIA H200"),
                            ("pc-three-vendors", "3 GPUs · no backend is known to work on them · default: CPU")):
            text = ask(SOURCE / "tests/data/machines" / name, "status")
            self.assertEqual(text.splitlines()[0], words)
            self.assertNotIn("report 1", text)


class WhatHelps(unittest.TestCase):
    def test_is_told_where_something_is_needed(self):
        self.assertIn("gpuprobectl probe", ask(SOURCE / "tests/data/machines/pc-three-vendors", "status"))
        # On this machine, CUDA works on each usable GPU, so it does not matter that Vulkan was not
        # probed.
        self.assertNotIn("gpuprobectl probe", ask(SOURCE / "tests/data/machines/nvidia-h100-mig-mixed", "status"))

    def test_show_has_the_command(self):
        self.assertIn("nvidia-smi", ask(SOURCE / "tests/data/machines/nvidia-h100-mig-mixed", "show"))


class Verdicts(unittest.TestCase):
    def test_unknown_is_never_a_cross(self):
        text = ask(SOURCE / "tests/data/machines/pc-three-vendors", "recommend", "torch", "--explain")
        self.assertRegex(text, r"(?m)^  \?  cu118\b")
        self.assertRegex(text, r"(?m)^  ✗  cu128\b")


if __name__ == "__main__":
    unittest.main()
