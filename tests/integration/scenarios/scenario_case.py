# SPDX-License-Identifier: Apache-2.0
"""Shared code for the scenario tests, which replay captures of simulated machines with gpuprobectl."""
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
BIN = pathlib.Path(os.environ["GPUPROBE_BIN"])
CTL = str(BIN / "gpuprobectl")
SPY = """#!/bin/sh
echo "$0 $*" >>{log}
exec {program} "$@"
"""


class Answer:
    """Parses the output of `select -j`."""

    def __init__(self, done):
        self.code = done.returncode
        self.document = json.loads(done.stdout)
        self.error = self.document.get("error")
        about = self.error or self.document
        self.backend = self.document.get("backend")
        self.gpus = self.document.get("gpus", [])
        self.environment = self.document.get("environment", {})
        self.answers = about.get("answers", {})
        self.messages = about.get("messages", [])
        self.summary = about.get("decision")
        self.candidates = about.get("candidates", [])

    def codes(self, backend, gpu=None):
        """Returns the codes of the reasons of a candidate. Without `gpu`, the decision must have only one candidate for the backend."""
        found = [each for each in self.candidates if each["backend"] == backend and gpu in (None, each["gpu"], *each["also"])]
        assert len(found) == 1, (backend, self.candidates)
        return [reason["code"] for reason in found[0]["reasons"]]

    def detail(self, backend, code):
        for each in self.candidates:
            for reason in each["reasons"]:
                if each["backend"] == backend and reason["code"] == code:
                    return reason["detail"]
        raise AssertionError((backend, code, self.candidates))


class Recommended:
    """Parses the output of `recommend`: the JSON document, and the text for users."""

    def __init__(self, done, explained):
        self.code = done.returncode
        self.text = explained.stdout + explained.stderr
        document = json.loads(done.stdout)
        self.status = document["status"]
        self.variant = document["variant"]
        self.artifact = document["artifact"] or {}
        self.gpus = document["gpus"]
        self.fallback = document["fallback"]
        self.hint = document["hint"]
        self.warnings = {each["code"]: each["detail"] for each in document["warnings"]}
        self.candidates = {each["variant"]: each for each in document["candidates"]}

    def why(self, variant):
        """Returns {code: detail} of the reasons for which the variant was rejected."""
        candidate = self.candidates[variant]
        assert candidate["verdict"] == "rejected", candidate
        return {reason["code"]: reason["detail"] for reason in candidate["reasons"]}


class ScenarioCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprobe-scenario-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.count = 0

    def environment(self, **more):
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "GPUPROBE_SOCKET": "/nonexistent/socket",
            **more,
        }

    def run_ctl(self, *words, **more):
        return subprocess.run([CTL, *words], env=self.environment(**more), capture_output=True, text=True, timeout=100, check=False)

    def capture(self, machine):
        self.count += 1
        return str(machine.write(self.folder / f"machine-{self.count}"))

    def ask(self, machine, *words):
        done = self.run_ctl("--replay", self.capture(machine), "--json=short", *words)
        return json.loads(done.stdout)

    def select(self, machine, application, *options):
        return Answer(self.run_ctl("--replay", self.capture(machine), "--json=short", "select", application, *options))

    def select_anywhere(self, application, *options):
        """Runs select without a capture, for answers that depend only on the profile."""
        return Answer(self.run_ctl("--json=short", "select", application, *options))

    def recommend(self, machine, application, *options):
        words = ("--replay", self.capture(machine))
        asked = ("recommend", application, *options)
        return Recommended(self.run_ctl(*words, "--json=short", *asked), self.run_ctl(*words, *asked, "--explain"))

    def explained(self, machine, application, *options):
        done = self.run_ctl("--replay", self.capture(machine), "select", application, "--explain", *options)
        return done.stdout + done.stderr

    @staticmethod
    def manifest(name, platform):
        """Returns {name: variant} of an application for a platform."""
        text = (SOURCE / f"data/knowledge/applications/{name}.json").read_text(encoding="utf-8")
        return json.loads(text)["manifest"]["platforms"][platform]["variants"]

    def spy_on(self, program, name):
        """Makes a program with a given name that logs each run and then runs `program`. Returns the paths of the new program and of the log. The new
        program contains the path of the log, because workers do not inherit variables."""
        log = self.folder / f"{name}.log"
        spy = self.folder / "spies" / name
        spy.parent.mkdir(exist_ok=True)
        spy.write_text(SPY.format(program=program, log=log), encoding="utf-8")
        spy.chmod(spy.stat().st_mode | stat.S_IXUSR)
        return spy, log

    @staticmethod
    def runs(log):
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []
