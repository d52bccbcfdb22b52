# SPDX-License-Identifier: Apache-2.0
"""Tests that shells complete verbs, options, and the names on the machine, and that they offer no completions if gpuprobectl fails."""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from cli_case import BIN, CTL, DATA, SOURCE, WithDaemon, environment, run

FOLDER = SOURCE / "data/completions"
GPUS = [gpu["id"] for gpu in json.loads((DATA / "laptop.report.json").read_text(encoding="utf-8"))["gpus"]]


def verbs_and_options():
    """Returns {verb: the long options in its help}; the value for "" contains the options that all verbs have."""

    def page(*topic):
        return subprocess.run([CTL, "help", *topic], env=environment(), capture_output=True, text=True, check=True).stdout

    def options(text):
        return set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", text, re.M))

    overview = page()
    verbs = list(dict.fromkeys(re.findall(r"^  ([a-z][a-z-]+)", overview, re.M)))
    return {"": options(overview), **{verb: options(page(verb)) for verb in verbs}}


class Shell(WithDaemon):
    """Runs shells in which the built program is in the PATH and finds a daemon."""

    def run_shell(self, shell, script, **more):
        settings = environment(
            PATH=f"{BIN}:/usr/bin:/bin", GPUPROBE_SOCKET=self.socket, HOME=self.home.name, **more
        )
        done = subprocess.run([*shell, script], env=settings, capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = tempfile.TemporaryDirectory(prefix="gpuprobe-shell-")
        cls.addClassCleanup(cls.home.cleanup)


class BashCompletion(Shell):
    def complete(self, *words):
        """Returns the completions that bash offers for the last word. The caller must split `words` as bash splits a command line."""
        quoted = " ".join(f"'{word}'" for word in ("gpuprobectl", *words))
        script = (
            f"source {FOLDER}/gpuprobectl.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words)};"
            ' _gpuprobectl; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return self.run_shell(["bash", "--norc", "-c"], script).split()

    def test_is_syntactically_valid(self):
        subprocess.run(["bash", "-n", FOLDER / "gpuprobectl.bash"], check=True)

    def test_completes_verbs(self):
        self.assertEqual(self.complete("st"), ["status"])
        self.assertIn("monitor", self.complete(""))
        self.assertEqual(self.complete("help", "sel"), ["select", "selector"])

    def test_completes_gpus_and_applications(self):
        self.assertEqual(self.complete("show", ""), GPUS)
        self.assertEqual(self.complete("-j", "select", "ts"), ["tsuku", "tsuku-draft"])
        self.assertEqual(self.complete("env", "ts"), ["tsuku", "tsuku-draft"])
        self.assertEqual(self.complete("env", "pci"), GPUS)

    def test_words_broken_at_colons_are_one(self):
        start, rest = GPUS[0].split(":", 1)
        self.assertIn(rest, self.complete("show", start, ":", rest[:4]))
        self.assertIn(rest, self.complete("show", start, ":"))

    def test_completes_options_and_their_values(self):
        self.assertIn("--explain", self.complete("select", "--ex"))
        self.assertEqual(self.complete("list", "--ex"), [])
        self.assertEqual(self.complete("--json", "=", "p"), ["pretty"])
        self.assertEqual(self.complete("--color", "=", "al"), ["always"])
        self.assertEqual(self.complete("select", "tsuku", "--backend", "=", "vu"), ["vulkan"])

    def test_completes_files(self):
        manifest = pathlib.Path(self.home.name) / "a manifest.json"
        manifest.touch()
        quoted = f"'gpuprobectl' 'verify' '{self.home.name}/'"
        script = (
            f"source {FOLDER}/gpuprobectl.bash; COMP_WORDS=({quoted}); COMP_CWORD=2;"
            ' _gpuprobectl; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        self.assertEqual(self.run_shell(["bash", "--norc", "-c"], script), f"{manifest}\n")


class FishCompletion(Shell):
    def complete(self, line):
        """Returns {completion: description} for the completions that fish offers at the end of a command line."""
        if not shutil.which("fish"):
            self.skipTest("fish is not installed")
        script = f"source {FOLDER}/gpuprobectl.fish; complete -C '{line}'"
        return dict(
            (found.split("\t") + [""])[:2] for found in self.run_shell(["fish", "--no-config", "-c"], script).splitlines()
        )

    def test_offers_verbs_names_options_and_values(self):
        self.assertEqual(self.complete("gpuprobectl stat"), {"status": "show a one-screen summary of this machine (default)"})
        self.assertEqual(list(self.complete("gpuprobectl show ")), sorted(GPUS))
        self.assertIn("--explain", self.complete("gpuprobectl select --ex"))
        self.assertEqual(list(self.complete("gpuprobectl select --only=cuda,vul")), ["--only=cuda,vulkan"])
        self.assertEqual(list(self.complete("gpuprobectl --json=p")), ["--json=pretty"])
        self.assertIn("llama.cpp", self.complete("gpuprobectl recommend lla"))


class ZshCompletion(Shell):
    def complete(self, *words):
        """Returns the arguments that gpuprobectl's function passes to zsh's completion functions for the last word."""
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        quoted = " ".join(f"'{word}'" for word in ("gpuprobectl", *words))
        script = (
            "_describe() { [[ $1 == -t ]] && shift 2; print -rl -- ${(P)2}; }; _files() { print files $*; }; compset() { :; };"
            f" words=({quoted}); CURRENT={len(words) + 1}; PREFIX=${{words[-1]}}; source {FOLDER}/_gpuprobectl"
        )
        return self.run_shell(["zsh", "-f", "-c"], script).splitlines()

    def test_offers_verbs_names_options_and_values(self):
        self.assertEqual(self.complete("stat"), ["status:show a one-screen summary of this machine (default)"])
        self.assertEqual([line.split(":Intel")[0].replace("\\:", ":")[:16] for line in self.complete("show", "")], GPUS)
        self.assertIn("--explain", "\n".join(self.complete("select", "--ex")))
        self.assertEqual(self.complete("select", "--only=cuda,vul"), ["--only=cuda,vulkan:"])
        self.assertEqual(self.complete("verify", ""), ["files"])
        self.assertEqual(self.complete("--replay", ""), ["files -/"])


class TheProgramOffers(Shell):
    """Tests that shells offer each verb and option in the help at the places where it is allowed, and nowhere else."""

    def offered(self, *words):
        done = run("complete", *words, GPUPROBE_SOCKET=self.socket)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_every_verb_and_option(self):
        known = verbs_and_options()
        self.assertGreater(len(known), 20)
        self.assertIn("--explain", known["select"])
        self.assertEqual(set(self.offered("")), set(known) - {""})
        for verb, options in known.items():
            before = [verb] if verb else []
            names = {option.rstrip("=") for option in self.offered(*before, "--")}
            self.assertEqual(names, options | known[""], verb)

    def test_the_machine_of_a_replay(self):
        machine = SOURCE / "tests/data/machines/ghw-intel-i7-1270p"
        ids = [gpu["id"] for gpu in json.loads(run("--replay", str(machine), "-j", "describe").stdout)["gpus"]]
        self.assertEqual(self.offered("--replay", str(machine), "show", ""), ids)

    def test_nothing_without_a_daemon_and_no_complaint(self):
        done = run("complete", "show", "")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_waits_for_no_daemon_that_does_not_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            silent = socket.socket(socket.AF_UNIX)
            silent.bind(folder + "/socket")
            silent.listen()
            done = run("complete", "env", "ts", GPUPROBE_SOCKET=f"{folder}/socket")
            silent.close()
        self.assertEqual((done.returncode, done.stdout.split("\t")[0]), (0, "tsuku"))


if __name__ == "__main__":
    unittest.main()
