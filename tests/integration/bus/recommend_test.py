#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that RecommendVariant gives the same answer as gpuprobectl without a daemon, and that the daemon survives hostile manifests."""
import json
import subprocess
import unittest

from bus_case import BIN, MANAGER, NAME, ROOT, SOURCE, BusCase, without_generation
from gi.repository import GLib

ERROR = NAME + ".Error."
MANIFESTS = SOURCE / "tests/data/variants/manifests"
H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def manifest(variant):
    return json.dumps({
        "schema": "gpuprobe.variants/1", "name": "p", "platforms": {"linux-x86_64": {"variants": {"v": variant}}},
    })


HOSTILE = {
    "not JSON": ("<html>", "not JSON at byte 1"),
    "10,000 levels": ('{"schema":"gpuprobe.variants/1","x-a":' + "[" * 10_000, "nested too deeply"),
    "a key twice": ('{"name":"a","name":"b"}', "name: a key appears twice"),
    "zero hash": (manifest({"url": "https://a/b", "sha256": "0" * 64}),
                  "platforms.linux-x86_64.variants.v.sha256: a placeholder"),
    "local file": (manifest({"url": "file:///etc/shadow", "sha256": HASH}),
                   "platforms.linux-x86_64.variants.v.url: not an https or http URL"),
    "NaN": (manifest({"requires": {"host": {"glibc_min": "NaN"}}}),
            "platforms.linux-x86_64.variants.v.requires.host.glibc_min: expected a version of one to four numbers"),
    "number that is none": (manifest({"tier": 1}).replace("1}", "NaN}"), "not JSON"),
    "unknown member": (manifest({"surprise": 1}), "platforms.linux-x86_64.variants.v.surprise: unknown member"),
    "513 variants": (json.dumps({"schema": "gpuprobe.variants/1", "name": "p", "platforms": {
        "linux-x86_64": {"variants": {f"v{i}": {} for i in range(513)}}}}), "needs 1 to 512 variants"),
}


class RecommendOnTheBus(BusCase):
    def setUp(self):
        super().setUp()
        self.start("--replay", str(H200), f"--socket={self.socket}")

    def recommend(self, application, text="", request=None):
        return self.call(ROOT, MANAGER, "RecommendVariant", GLib.Variant("(ssa{sv})", (application, text, request or {})))

    def explain(self, application, text="", request=None):
        return self.recommend(application, text, {**(request or {}), "explain": GLib.Variant("b", True)})

    def test_answers_for_an_installed_product(self):
        self.assertIn("torch", [one["Name"] for one in self.call(ROOT, MANAGER, "ListApplications")])
        self.assertNotIn("Candidates", self.recommend("torch"))
        answer = self.explain("torch")
        self.assertEqual(answer["Status"], "ok")
        self.assertRegex(answer["Variant"], r"^cu13\d$")
        self.assertEqual(answer["Artifact"]["type"], "index")
        self.assertEqual(answer["Fallback"][-1], "cpu")
        self.assertEqual(len(answer["Gpus"]), 1)
        rejected = [c for c in answer["Candidates"] if c["Verdict"] == "rejected"]
        self.assertTrue(all(c["Reasons"][0]["Code"] and c["Reasons"][0]["Text"] for c in rejected))
        request = {"exclude": GLib.Variant("as", ["family:cuda"]), "need-mib": GLib.Variant("t", 1)}
        self.assertEqual(self.recommend("torch", request=request)["Variant"], "cpu")

    def test_wants_what_was_verified(self):
        answer = self.explain("torch", request={"require-verified": GLib.Variant("b", True)})
        self.assertEqual(answer["Variant"], "cpu")
        reasons = next(c for c in answer["Candidates"] if c["Variant"] == "cu130")["Reasons"]
        self.assertEqual(reasons[-1]["Code"], "not-verified")
        self.assert_refused(ERROR + "InvalidRequest", self.recommend, "torch", "",
                            {"require-verified": GLib.Variant("s", "yes")})

    def test_is_the_same_as_without_a_daemon(self):
        for path in sorted(MANIFESTS.glob("*.json")):
            with self.subTest(path.name):
                answers = []
                for where in (f"--socket={self.socket}", f"--replay={H200}"):
                    done = subprocess.run([BIN / "gpuprobectl", where, "-j", "recommend", "--manifest", path],
                                          env=self.environment(), capture_output=True, text=True)
                    self.assertIn(done.returncode, (0, 3), done.stderr)
                    answers.append(without_generation(done.stdout))
                self.assertEqual(*answers)

    def test_hostile_manifests_are_named_and_survived(self):
        for name, (text, problem) in HOSTILE.items():
            with self.subTest(name):
                message = self.assert_refused(ERROR + "MalformedManifest", self.recommend, "p", text)
                self.assertIn(problem, message)
                self.assert_same_daemon()
        self.assert_refused(ERROR + "TooLarge", self.recommend, "p", " " * (2 << 20))
        self.assert_refused(ERROR + "UnknownApplication", self.recommend, "no-such-product")
        self.assert_refused(ERROR + "NotFound", self.recommend, "default")
        self.assert_refused(ERROR + "InvalidRequest", self.recommend, "torch", "",
                            {"preferred": GLib.Variant("s", "x")})
        self.assert_same_daemon()

    def test_a_manifest_of_the_largest_size_is_answered(self):
        devices = [{"backend": "cuda", "vram_min_mib": i} for i in range(16)]
        variants = {f"v{i}": {"requires": {"device": devices}} for i in range(512)}
        text = json.dumps({"schema": "gpuprobe.variants/1", "name": "p",
                           "platforms": {"linux-x86_64": {"variants": variants}}})
        answer = self.explain("p", text, {"only": GLib.Variant("as", ["v7"])})
        self.assertEqual((answer["Variant"], len(answer["Candidates"])), ("v7", 512))

    def test_a_reported_failure_changes_the_answer(self):
        first = self.recommend("torch")["Variant"]
        outcome = {"application": GLib.Variant("s", "torch"), "variant": GLib.Variant("s", first),
                   "outcome": GLib.Variant("s", "failed"), "detail": GLib.Variant("s", "no kernel image")}
        self.call(ROOT, MANAGER, "ReportOutcome", GLib.Variant("(a{sv})", (outcome,)))
        answer = self.explain("torch")
        self.assertNotEqual(answer["Variant"], first)
        reasons = next(c for c in answer["Candidates"] if c["Variant"] == first)["Reasons"]
        self.assertEqual(reasons[0]["Code"], "reported-failed")
        self.assertEqual(reasons[0]["Detail"]["detail"], "no kernel image")


class RecommendForManyGpus(BusCase):
    def test_says_how_many_variants_have_no_reasons(self):
        """Tests with variants that each have 5 reasons, on eight equal GPUs. A message can contain 2,048 reasons, so the reasons of 409 variants fit
        into a message."""
        self.start("--replay", str(H200.parent / "hwloc-g4dnmetal"))
        requires = {"host": {"glibc_min": "99", "kernel_min": "99", "cpu_features": ["none-such"]},
                    "device": {"backend": "cuda", "driver_min": "9999", "vram_min_mib": 99_999_999}}
        for count in (64, 409, 410, 450):
            with self.subTest(count):
                text = json.dumps({"schema": "gpuprobe.variants/1", "name": "p", "platforms": {
                    "linux-x86_64": {"variants": {f"v{i}": {"requires": requires} for i in range(count)}}}})
                answer = self.call(ROOT, MANAGER, "RecommendVariant", GLib.Variant("(ssa{sv})", ("p", text, {"explain": GLib.Variant("b", True)})))
                sizes = [len(candidate["Reasons"]) for candidate in answer["Candidates"]]
                left_out = max(0, count - 409)
                self.assertEqual(sizes, [5] * (count - left_out) + [0] * left_out)
                self.assertTrue(all(reason.get("Detail") for candidate in answer["Candidates"] for reason in candidate["Reasons"]))
                self.assertEqual({candidate["Why"] for candidate in answer["Candidates"]}, {answer["Candidates"][0]["Why"]})
                warned = [warning for warning in answer["Warnings"] if warning["Code"] == "reasons-left-out"]
                self.assertEqual([warning["Detail"]["count"] for warning in warned], [left_out] if left_out else [])
                self.assertTrue(all(f"against {left_out} variants" in warning["Text"] for warning in warned))


if __name__ == "__main__":
    unittest.main()
