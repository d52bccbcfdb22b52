# SPDX-License-Identifier: Apache-2.0
"""The completions load, offer what the program has, and never wait for long."""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

from cli_case import CTL, SOURCE, environment

FOLDER = SOURCE / "data/completions"
FAKE = """#!/bin/sh
case $1 in
    list) echo "0  pci:0000:01:00.0  Card"; echo "1  pci:0000:02:00.0  Card" ;;
    consumers) echo default; echo tsuku ;;
esac
"""


class BashCompletion(unittest.TestCase):
    def complete(self, *words):
        """What bash offers for the last word."""
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder) / "gpuprobectl"
            fake.write_text(FAKE, encoding="utf-8")
            fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
            quoted = " ".join(f"'{word}'" for word in ("gpuprobectl", *words))
            script = (
                f"source {FOLDER}/gpuprobectl.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words)};"
                ' _gpuprobectl; printf "%s\\n" "${COMPREPLY[@]}"'
            )
            done = subprocess.run(
                ["bash", "--norc", "-c", script],
                env=environment(PATH=f"{folder}:/usr/bin:/bin"),
                capture_output=True,
                text=True,
                check=True,
            )
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

    def test_is_syntactically_valid(self):
        subprocess.run(["bash", "-n", FOLDER / "gpuprobectl.bash"], check=True)

    def test_completes_verbs(self):
        self.assertEqual(self.complete("st"), ["status"])
        self.assertIn("monitor", self.complete(""))
        self.assertEqual(self.complete("help", "sel"), ["select"])

    def test_completes_gpus_and_consumers(self):
        self.assertEqual(self.complete("show", ""), ["pci:0000:01:00.0", "pci:0000:02:00.0"])
        self.assertEqual(self.complete("-j", "select", "ts"), ["tsuku"])
        self.assertEqual(self.complete("env", "ts"), ["tsuku"])
        self.assertEqual(self.complete("env", "pci"), ["pci:0000:01:00.0", "pci:0000:02:00.0"])

    def test_completes_options_and_their_values(self):
        self.assertIn("--explain", self.complete("select", "--ex"))
        self.assertEqual(self.complete("list", "--ex"), [])
        self.assertEqual(self.complete("--json", "=", "p"), ["pretty"])
        self.assertEqual(self.complete("--bus", "=", "se"), ["session"])
        self.assertEqual(self.complete("select", "tsuku", "--backend", "=", "vu"), ["vulkan"])


class CompletionsAgree(unittest.TestCase):
    """Every verb and every long option of the help is in each completion file."""

    def help(self, *topic):
        return subprocess.run([CTL, "help", *topic], env=environment(), capture_output=True, text=True, check=True).stdout

    def test_every_verb_and_option_is_offered(self):
        overview = self.help()
        verbs = re.findall(r"^  ([a-z]+) ", overview, re.M)
        self.assertGreater(len(verbs), 8)
        options = set()
        for page in (overview, *(self.help(verb) for verb in verbs)):
            options |= set(re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", page, re.M))
        self.assertIn("explain", options)
        for name in ("gpuprobectl.bash", "_gpuprobectl", "gpuprobectl.fish"):
            text = (FOLDER / name).read_text(encoding="utf-8")
            for word in (*verbs, *options):
                self.assertRegex(text, rf"\b{word}\b", f"{name}: {word}")


class OtherShells(unittest.TestCase):
    def test_zsh_and_fish_read_their_files(self):
        for shell, name in (("zsh", "_gpuprobectl"), ("fish", "gpuprobectl.fish")):
            if not shutil.which(shell):
                self.skipTest(f"{shell} is not installed")
            subprocess.run([shell, "-n", FOLDER / name], check=True)


if __name__ == "__main__":
    unittest.main()
