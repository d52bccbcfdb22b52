# SPDX-License-Identifier: Apache-2.0
"""Tests that the one-file program of the profile "embed" gives the same answers as the full program. tools/portable --profile embed
builds the one-file program; tests/portable/run --profile embed runs it in the root folders of several distributions."""
import concurrent.futures
import json
import os
import pathlib
import platform
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
CTL = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobectl"
ARCH = platform.machine()
FILE = SOURCE / f"build/embed-{ARCH}/gpuprobe-embed-linux-{ARCH}"
MACHINES = SOURCE / "tests/data/machines"
MAX_SIZE = 3_000_000
QUESTIONS = (["describe"], ["list"], ["status"], ["doctor"], ["select", "llama.cpp", "--explain"], ["select", "default"],
             ["select", "torch"], ["select", "ollama"], ["recommend", "llama.cpp", "--explain"], ["recommend", "torch"], ["env"],
             ["env", "llama.cpp"], ["call", "Select", '{"application":"vllm"}'], ["call", "Recommend", '{"application":"ollama"}'])
LEFT_OUT = ("run", "watch", "export", "selector", "verify", "check", "plan", "probe", "bench", "capture", "override",
            "report-outcome", "quarantine", "knowledge")


def ask(program, *words):
    """Returns the exit status, the standard output and the standard error of a program."""
    environment = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                          env=environment)
    return done.returncode, done.stdout, done.stderr


class Embed(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if not FILE.exists():
            self.skipTest(f"there is no {FILE.name}: tools/portable --profile embed builds it")
        if FILE.stat().st_mtime < CTL.stat().st_mtime:
            self.skipTest(f"{FILE.name} is older than gpuprobectl: run tools/portable --profile embed again")

    def difference(self, machine, question):
        words = ["--replay", MACHINES / machine, *question, "-j"]
        ours, theirs = ask(FILE, *words), ask(CTL, *words)
        return None if ours == theirs else f"{machine}: {' '.join(question)}: {ours} instead of {theirs}"

    def test_answers_as_the_full_program_on_every_recorded_machine(self):
        machines = sorted(place.parent.name for place in MACHINES.glob("*/capture.json"))
        self.assertGreater(len(machines), 100)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(lambda pair: self.difference(*pair),
                             [(machine, question) for machine in machines for question in QUESTIONS])
            self.assertEqual([text for text in found if text], [])

    def test_is_small_and_loads_no_library(self):
        self.assertLessEqual(FILE.stat().st_size, MAX_SIZE)
        headers = subprocess.run(["readelf", "--wide", "--program-headers", FILE], check=True, capture_output=True, text=True).stdout
        self.assertNotIn("INTERP", headers)

    def test_names_the_full_program_for_what_it_leaves_out(self):
        for verb in LEFT_OUT:
            for words in ([verb], [verb, "--json=short", "x"], ["help", verb]):
                code, output, problem = ask(FILE, *words)
                self.assertEqual(code, 2, (words, output, problem))
                self.assertIn(f"'{verb}' is not included in this program", problem)
                self.assertIn("gpuprobe-linux-", problem)
        self.assertNotIn("\nplan", ask(FILE, "help")[1])

    def test_has_every_other_verb(self):
        def verbs(program):
            return {verb for verb in ("status", "list", "show", "describe", "select", "env", "recommend", "monitor", "doctor", "call", "apps",
                                      "version", "help", *LEFT_OUT) if ask(program, "help", verb)[0] == 0}

        self.assertEqual(verbs(CTL) - verbs(FILE), set(LEFT_OUT))

    def test_leaves_out_the_method_of_plan(self):
        code, output, _ = ask(FILE, "--direct", "-j", "call", "Plan", "{}")
        self.assertEqual((code, json.loads(output)["error"]["name"]), (2, "org.varlink.service.MethodNotFound"))

    def test_follows_the_machine(self):
        with subprocess.Popen([FILE, "--direct", "-j", "-q", "call", "--more", "Subscribe"], stdout=subprocess.PIPE, text=True) as following:
            self.addCleanup(following.kill)
            first = json.loads(following.stdout.readline())
            following.terminate()
            self.assertEqual(first.keys(), {"generation", "state"})


if __name__ == "__main__":
    unittest.main()
