# SPDX-License-Identifier: Apache-2.0
"""Tests the verb quarantine in the way in which a user runs it, with a worker that crashes when it probes CUDA."""
import json
import pathlib
import tempfile
import unittest

from cli_case import BIN, run


class QuarantineVerb(unittest.TestCase):
    """Tests in which each command is a separate process, so that the processes share state only on the disk."""

    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="gpuprobe-home-")
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)
        self.log = self.home / "launches"
        self.log.write_text("", encoding="utf-8")
        worker = self.home / "worker"
        worker.write_text(
            f'#!/bin/sh\necho "$1" >> {self.log}\nif [ "$1" = cuda ]; then kill -SEGV $$; fi\n'
            f'exec {BIN}/gpuprobe-worker "$@"\n', encoding="utf-8")
        worker.chmod(0o755)

    def direct(self, *words):
        return run("--direct", f"--worker={self.home}/worker", *words, HOME=str(self.home))

    def launches(self):
        return self.log.read_text(encoding="utf-8").split().count("cuda")

    def test_a_home_that_is_not_there_is_not_made(self):
        home = self.home / "gone"
        done = run("--direct", "describe", HOME=str(home))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(home.exists())

    def test_a_driver_that_crashes_is_listed_until_it_is_cleared(self):
        listed = self.direct("quarantine")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, r"(?m)^cuda +.* UTC +it crashed 2 times: SIGSEGV$")
        self.assertEqual(self.launches(), 2)
        held, = json.loads(self.direct("quarantine", "list", "-j").stdout)["quarantine"]
        self.assertEqual((held["api"], held["driver"], held["why"], held["times"]), ("cuda", "", "crashed", 2))
        self.assertIn("cuda: the driver is in quarantine until", self.direct("status").stdout)
        self.assertEqual(self.launches(), 2)
        self.assertEqual(self.direct("quarantine", "clear", "vulkan").stdout, "no driver was in quarantine\n")
        self.assertEqual(self.direct("quarantine", "clear", "cuda").stdout, "cleared: 1\n")
        self.assertEqual(self.launches(), 2)
        self.direct("list")
        self.assertEqual(self.launches(), 4)
        self.assertEqual(json.loads(self.direct("quarantine", "clear", "--all", "-j").stdout), {"cleared": 1})

    def test_mistakes_are_named(self):
        rows = ((("quarantine", "clear"), "quarantine clear: name an API or --driver=PATH, or give only --all"),
                (("quarantine", "clear", "cuda", "--all"), "name an API or --driver=PATH, or give only --all"),
                (("quarantine", "evict"), "evict"))
        for words, problem in rows:
            with self.subTest(words=words):
                done = self.direct(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(problem, done.stderr)
        self.assertEqual(self.launches(), 0)


if __name__ == "__main__":
    unittest.main()
