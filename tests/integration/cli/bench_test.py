# SPDX-License-Identifier: Apache-2.0
"""Tests of `probe --stage` and `bench`, and of choices that are based on the results of both, with a fake worker whose answers each test sets."""
import json
import os
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import told_worker as told
from cli_case import run

GPU = f"pci:{told.PLACE}"
FAST = {"cuda query": {"devices": [told.CARD]}, "cuda verify": told.verified(), "cuda measure": told.measured(4e12, 60e12),
        "cpu verify": told.verified(), "cpu measure": told.measured(20e9, 900e9)}


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ask(self, *words, code=0):
        done = run("--direct", f"--worker={self.folder}/told-worker", *words, HOME=str(self.folder))
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def backend(self):
        gpus = json.loads(self.ask("describe", "-j"))["gpus"]
        return gpus[0]["backends"]["cuda"]

    def test_shows_what_was_measured(self):
        told.install(self.folder, FAST)
        table = self.ask("bench", "--no-legend")
        card, processor = table.splitlines()[-2:]
        self.assertEqual(card.split()[:6], [GPU, "NVIDIA", "Fake", "H200", "cuda", "verified"])
        self.assertIn("60.0 T", card)
        self.assertIn("20.0 G", processor)
        self.assertIn(f"cuda  {GPU}: verified; reads 4.00 TB/s", self.ask("status"))
        self.assertIn("verified; reads 4.00 TB/s", self.ask("show", "--all", GPU))

    def test_tells_programs_the_same(self):
        told.install(self.folder, FAST)
        rows = json.loads(self.ask("bench", "-j"))["results"]
        self.assertEqual([row["kind"] for row in rows], ["gpu", "cpu"])
        self.assertEqual(rows[0]["measurement"]["memory_read"], 4_000_000_000_000)
        self.assertEqual(rows[0]["verification"]["result"], "verified")
        only = json.loads(self.ask("bench", "-j", GPU))["results"]
        self.assertEqual([row["gpu"] for row in only], [GPU])

    def test_each_device_needs_one_worker(self):
        told.install(self.folder, {key: answer for key, answer in FAST.items() if "verify" not in key})
        rows = json.loads(self.ask("bench", "-j"))["results"]
        self.assertEqual([row["verification"]["result"] for row in rows], ["verified", "verified"])

    def test_what_cannot_be_measured_is_still_verified(self):
        told.install(self.folder, {**FAST, "cuda measure": {"deed": "crash"}})
        rows = json.loads(self.ask("bench", "-j"))["results"]
        self.assertEqual([row["verification"]["result"] for row in rows], ["verified", "verified"])
        self.assertEqual([row["measurement"]["outcome"] for row in rows], ["crashed", "answered"])

    def test_the_next_program_knows_it(self):
        told.install(self.folder, FAST)
        self.ask("bench")
        told.tell(self.folder, {"cuda query": {"devices": [told.CARD]}})
        self.assertTrue(self.backend()["verified"])
        self.ask("probe")
        self.assertTrue(self.backend()["verified"], "a new probe of the drivers keeps the result")

    def test_a_gpu_that_computes_wrong_is_used_by_nobody(self):
        told.install(self.folder, {**FAST, "cuda verify": told.verified(wrong=17)})
        self.ask("probe", "--stage=verify")
        self.assertFalse(self.backend()["usable"])
        choice = json.loads(self.ask("select", "-j"))
        self.assertEqual(choice["backend"], "cpu")
        cuda = next(each for each in choice["candidates"] if each["backend"] == "cuda")
        self.assertEqual([reason["code"] for reason in cuda["reasons"]], ["miscomputed"])
        self.assertIn("computes wrong results: 17 of 4096 values are wrong", self.ask("status"))

    def test_each_fault_is_told_apart_and_leaves_the_backend_usable(self):
        for answer, result in (({"deed": "crash"}, "crashed"),
                               ({"outcome": "failed", "reasons": [{"code": "out-of-memory", "detail": {}}]}, "failed"),
                               ({**told.verified(), "deed": "crash"}, "crashed"),
                               ({"outcome": "absent", "reasons": [{"code": "device-not-found", "detail": {}}]}, "failed")):
            with self.subTest(answer), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                told.install(self.folder, {**FAST, "cuda verify": answer, "cuda measure": answer})
                self.ask("probe", "--stage=verify")
                # The process that runs the stage must also print the result, because gpuprobectl does not store failures for the next process.
                rows = json.loads(self.ask("bench", "-j", GPU))["results"]
                kept = rows[0]["verification"]
                reasons = [reason["code"] for reason in kept["reasons"]]
                self.assertTrue(kept["result"] == result or reasons == ["quarantined"], kept)

    def test_verified_can_be_wanted(self):
        told.install(self.folder, FAST)
        choice = json.loads(self.ask("select", "-j", "--require-verified"))
        self.assertEqual(choice["backend"], "cpu")
        cuda = next(each for each in choice["candidates"] if each["backend"] == "cuda")
        self.assertEqual(cuda["reasons"][-1]["code"], "not-verified")
        self.ask("probe", "--stage=verify")
        self.assertEqual(json.loads(self.ask("select", "-j", "--require-verified"))["backend"], "cuda")

    def test_verified_can_be_wanted_of_a_variant(self):
        told.install(self.folder, FAST)
        manifest = self.folder / "variants.json"
        manifest.write_text(json.dumps({"schema": "gpuprobe.variants/1", "name": "p", "platforms": {
            f"linux-{os.uname().machine}": {"variants": {
                "cu13": {"tier": 9, "requires": {"device": {"backend": "cuda"}}}, "cpu": {}}}}}))
        words = "recommend", f"--manifest={manifest}", "--require-verified"
        self.assertEqual(self.ask("-q", *words[:2]), "cu13\n")
        self.assertEqual(self.ask("-q", *words), "cpu\n")
        told_why = self.ask(*words, "--explain")
        self.assertIn("the results with cuda have not been verified", told_why)
        self.assertIn("verify the results: gpuprobectl probe --stage=verify", told_why)
        self.ask("probe", "--stage=verify")
        self.assertEqual(self.ask("-q", *words), "cu13\n")

    def test_the_faster_is_chosen_and_the_slower_says_why(self):
        told.install(self.folder, {**FAST, "cuda measure": told.measured(10e9, 300e9)})
        self.ask("bench")
        self.assertEqual(json.loads(self.ask("select", "-j"))["backend"], "cuda")
        choice = json.loads(self.ask("select", "-j", "--rank=measured"))
        self.assertEqual(choice["backend"], "cpu")
        cuda = next(each for each in choice["candidates"] if each["backend"] == "cuda")
        self.assertEqual(cuda["reasons"][-1]["code"], "slower-than-cpu")
        self.assertEqual(json.loads(self.ask("select", "-j", "measured"))["backend"], "cpu")
        self.assertIn("slower than the CPU when measured", self.ask("select", "--explain", "measured"))

    def test_only_what_is_asked_for_runs(self):
        told.install(self.folder, FAST)
        probes = json.loads(self.ask("probe", "-j", "--stage=measure", "--api=cpu"))["probes"]
        self.assertEqual([(each["api"], each["stage"], each["outcome"]) for each in probes],
                         [("cpu", "measure", "answered")])
        self.assertIsNone(self.backend()["measurement"])

    def test_a_capture_knows_what_the_report_knows(self):
        told.install(self.folder, FAST)
        self.ask("bench")
        for words in ((), ("--no-cache",)):
            with self.subTest(words=words):
                folder = f"{self.folder}/machine{len(words)}"
                report = json.loads(self.ask(*words, "describe", "-j"))
                self.ask(*words, "capture", folder)
                captured = json.loads(run(f"--replay={folder}", "describe", "-j").stdout)
                known = [document["gpus"][0]["backends"]["cuda"] for document in (report, captured)]
                self.assertEqual(*known)
                self.assertEqual(known[0]["verified"], not words, "only the cache has results of computations")

    def test_a_captured_machine_runs_nothing(self):
        told.install(self.folder, FAST)
        self.ask("bench")
        self.ask("capture", f"{self.folder}/machine")
        done = run(f"--replay={self.folder}/machine", "bench", "-j")
        rows = json.loads(done.stdout)["results"]
        self.assertEqual(rows[0]["measurement"]["memory_read"], 4_000_000_000_000)


if __name__ == "__main__":
    unittest.main()
