# SPDX-License-Identifier: Apache-2.0
"""Tests the verbs override and report-outcome as a user runs them, with a separate state folder."""
import json
import tempfile
import unittest

from cli_case import SOURCE, run


class AdviceVerbs(unittest.TestCase):
    """Tests in which each command is a separate process, so that the processes share state only on the disk."""

    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="gpuprobe-home-")
        self.addCleanup(home.cleanup)
        self.home = home.name

    def direct(self, *words):
        return run("--direct", *words, HOME=self.home)

    def test_an_override_lasts_until_it_is_cleared(self):
        self.assertEqual(self.direct("override", "list").stdout, "no overrides\n")
        done = self.direct("override", "set", "default", "--exclude=cpu", "--prefer=vulkan,cuda", "--strict")
        self.assertEqual((done.returncode, done.stdout), (0, "default: override set\n"), done.stderr)
        self.assertIn("prefer vulkan, cuda; deny cpu; strict", self.direct("override").stdout)
        listed = json.loads(self.direct("override", "list", "-j").stdout)["overrides"]["default"]
        self.assertEqual(listed["rule"], {"deny": ["cpu"], "prefer": ["vulkan", "cuda"], "strict": True})
        self.assertEqual(self.direct("override", "clear", "default").stdout, "default: override cleared\n")
        self.assertEqual(self.direct("override", "clear", "default").stdout, "default: no override was set\n")

    def test_an_override_narrows_the_variants_too(self):
        manifest = f"--manifest={SOURCE}/data/knowledge/applications/llama.cpp.json"
        before = json.loads(self.direct("recommend", "llama.cpp", "-j").stdout)
        done = self.direct("override", "set", "llama.cpp", f"--exclude-variants={before['variant']}", "--memory-variants=1MiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"variants: exclude {before['variant']}; need-mib 1", self.direct("override").stdout)
        after = json.loads(self.direct("recommend", "llama.cpp", "-j").stdout)
        self.assertNotEqual(after["variant"], before["variant"])
        # The override for an application applies to a manifest that contains the name of the application.
        self.assertEqual(json.loads(self.direct("recommend", manifest, "-j").stdout)["variant"], after["variant"])

    def test_an_override_of_backends_narrows_the_variants_too(self):
        def variant():
            return json.loads(self.direct("recommend", "llama.cpp", "-j").stdout)["variant"]
        self.direct("override", "set", "llama.cpp", "--exclude=cpu")
        self.assertIsNone(variant())  # this machine has no GPU that can compute
        self.direct("override", "clear", "llama.cpp")
        chosen = variant()
        self.direct("report-outcome", "llama.cpp", "failed", "--backend=cpu", "--detail=SIGILL")
        self.assertNotEqual(variant(), chosen)

    def test_rules_are_merged_key_by_key(self):
        self.direct("override", "set", "llama.cpp", "--exclude=cuda", "--strict")
        self.direct("override", "set", "llama.cpp", "--exclude=vulkan", "--exclude-variants=family:rocm")
        self.direct("override", "set", "llama.cpp", "--prefer-variants=family:cpu")
        rule = json.loads(self.direct("override", "list", "-j").stdout)["overrides"]["llama.cpp"]["rule"]
        self.assertEqual(rule, {"deny": ["vulkan"], "strict": True,
                                "variants": {"exclude": ["family:rocm"], "prefer": ["family:cpu"]}})

    def test_what_is_not_there_is_refused_with_the_nearest_word(self):
        rows = ((("override", "set", "ollama", "--exclude=cdua"), "did you mean 'cuda'?"),
                (("override", "set", "ollama", "--only=nonsense"), "nonsense: no such backend"),
                (("override", "set", "ollama", "--backend=cdua"), "cdua"),
                (("override", "set", "ollama", "--exclude=pci:0000:77:00.0"), "no such GPU"),
                (("override", "set", "olama", "--exclude=cuda"), "did you mean 'ollama'?"),
                (("override", "set", "llama.cpp", "--exclude-variants=family:vulcan"), "did you mean 'vulkan'?"),
                (("report-outcome", "olama", "failed", "--backend=cuda"), "did you mean 'ollama'?"),
                (("report-outcome", "ollama", "failed", "--backend=cdua"), "did you mean 'cuda'?"),
                (("report-outcome", "llama.cpp", "failed", "--family=vulcan"), "did you mean 'vulkan'?"))
        for words, problem in rows:
            with self.subTest(words=words):
                done = self.direct(*words)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(problem, done.stderr)
        self.assertEqual(self.direct("override", "list").stdout, "no overrides\n")

    def test_a_replayed_machine_keeps_nothing(self):
        machine = f"--replay={SOURCE}/tests/data/machines/nvidia-h200-1"
        for words in (("override", "set", "ollama", "--exclude=cuda"), ("override", "clear", "ollama"),
                      ("report-outcome", "ollama", "failed", "--backend=cuda")):
            with self.subTest(words=words):
                done = run(machine, *words, HOME=self.home)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("not possible with a replayed machine", done.stderr)

    def test_a_failure_is_not_offered_again(self):
        before = self.direct("select", "-q")
        failed = self.direct("report-outcome", "default", "failed", "--backend=cpu", "--detail=SIGILL at start")
        self.assertEqual((failed.returncode, failed.stdout), (0, "recorded: default failed\n"), failed.stderr)
        without = self.direct("select", "--backend=cpu")
        self.assertEqual(without.returncode, 3)
        self.assertIn("the application reported a failure: SIGILL at start", without.stderr)
        self.assertEqual(self.direct("report-outcome", "default", "ok", "--backend=cpu", "-q").returncode, 0)
        self.assertEqual(self.direct("select", "-q").stdout, before.stdout)

    def test_mistakes_are_named(self):
        rows = ((("override", "set"), 2, "missing APPLICATION"),
                (("override", "evict", "default"), 2, "evict"),
                (("override", "set", "default"), 2, "at least one key"),
                (("override", "set", "default", "--gpu=nosuch"), 1, "nosuch"),
                (("report-outcome", "default"), 2, "RESULT"),
                (("report-outcome", "default", "fine"), 2, "fine"),
                (("report-outcome", "default", "ok"), 2, "backend"),
                (("report-outcome", "default", "ok", "--backend=a", "--family=b"), 2, "one of backend"))
        for words, code, problem in rows:
            with self.subTest(words=words):
                done = self.direct(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(problem, done.stderr)


if __name__ == "__main__":
    unittest.main()
