# SPDX-License-Identifier: Apache-2.0
"""Tests which users may set overrides and report outcomes, how these change the answers, and that they are kept when the daemon ends."""
import os
import subprocess
import unittest

from bus_case import MANAGER, NAME, OPEN_POLICY, ROOT, BusCase
from gi.repository import GLib

ERROR = NAME + ".Error."
NOBODY = 65534
OTHER = 1  # the user "daemon", which exists on every Debian system; a bus rejects unknown users


def words(*names):
    return GLib.Variant("as", list(names))


def text(value):
    return GLib.Variant("s", value)


class AdviceCase(BusCase):
    # By default, a bus accepts only connections of the user that runs the bus.
    POLICY = OPEN_POLICY.replace("<allow own", '<allow user="*"/>\n    <allow own')

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.machine = self.capture()
        self.start_again()

    def start_again(self):
        if self.daemon:
            self.terminate()
            self.daemon.stderr.close()
        self.start_on(self.machine, f"--state-dir={self.folder}/state")

    def set_override(self, application, **rule):
        rule = {key.replace("_", "-"): value for key, value in rule.items()}
        return self.manager("SetOverride", GLib.Variant("(sa{sv})", (application, rule)))

    def clear_override(self, application):
        return self.manager("ClearOverride", GLib.Variant("(s)", (application,)))

    def report(self, **outcome):
        return self.manager("ReportOutcome",
                            GLib.Variant("(a{sv})", ({key: text(value) for key, value in outcome.items()},)))

    def codes(self):
        """Returns {code: details} of the reasons of all candidates."""
        return {reason["Code"]: reason.get("Detail", {})
                for candidate in self.explain()["Candidates"] for reason in candidate["Reasons"]}

    def call_as(self, uid, *arguments):
        done = subprocess.run(["busctl", f"--address={self.bus.address}", "call", NAME, ROOT, MANAGER, *arguments],
                              capture_output=True, text=True, user=uid, group=uid, extra_groups=[], timeout=30)
        return done.returncode, done.stdout + done.stderr


class Overrides(AdviceCase):
    def test_an_override_changes_the_answer_until_it_is_cleared(self):
        self.assertEqual(self.select()["Backend"], "cpu")
        generation = self.property(ROOT, MANAGER, "Generation")
        self.set_override("default", deny=words("cpu"))
        self.assertGreater(self.property(ROOT, MANAGER, "Generation"), generation)
        self.assert_refused(ERROR + "NoMatch", self.select)
        self.assertIn("denied", self.codes())
        self.assertTrue(self.clear_override("default"))
        self.assertFalse(self.clear_override("default"))
        self.assertEqual(self.select()["Backend"], "cpu")

    def test_overrides_are_listed_and_outlive_the_daemon(self):
        self.set_override("ollama", prefer=words("vulkan", "cuda"), min_memory=GLib.Variant("t", 1 << 33))
        self.start_again()
        overrides = self.manager("ListOverrides")
        self.assertEqual(list(overrides), ["ollama"])
        self.assertEqual(overrides["ollama"]["Rule"], {"prefer": ["vulkan", "cuda"], "min-memory": 1 << 33})
        self.assertEqual(overrides["ollama"]["SetByUid"], os.getuid())
        self.assertGreater(overrides["ollama"]["SetAtUsec"], 1_700_000_000_000_000)

    def test_a_bad_rule_is_refused_by_name(self):
        for rule in ({}, {"evict": text("x")}, {"prefer": GLib.Variant("i", 1)}):
            with self.subTest(rule=rule):
                self.assert_refused(ERROR + "InvalidRequest", lambda: self.set_override("default", **rule))
        self.assert_refused(ERROR + "UnknownApplication", lambda: self.set_override("a b", strict=GLib.Variant("b", True)))
        refused = self.assert_refused(ERROR + "InvalidRequest", lambda: self.set_override("ollama", deny=words("cdua")))
        self.assertIn("did you mean 'cuda'?", refused)
        self.assert_refused(ERROR + "NoSuchGpu", lambda: self.set_override("ollama", deny=words("pci:0000:77:00.0")))
        self.assertEqual(self.manager("ListOverrides"), {})

    def test_rules_are_merged_key_by_key(self):
        self.set_override("ollama", deny=words("cuda"), strict=GLib.Variant("b", True))
        self.set_override("ollama", deny=words(), prefer=words("vulkan"))
        self.assertEqual(self.manager("ListOverrides")["ollama"]["Rule"], {"strict": True, "prefer": ["vulkan"]})

    @unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
    def test_not_everybody_may(self):
        code, said = self.call_as(NOBODY, "SetOverride", "sa{sv}", "default", "1", "strict", "b", "true")
        self.assertNotEqual(code, 0)
        self.assertIn("set-override", said)
        code, said = self.call_as(NOBODY, "ClearOverride", "s", "default")
        self.assertNotEqual(code, 0)
        self.assertEqual(self.manager("ListOverrides"), {})

    def test_a_broken_file_is_kept_and_named(self):
        self.set_override("ollama", strict=GLib.Variant("b", True))
        path = f"{self.folder}/state/overrides"
        with open(path, "a", encoding="utf-8") as file:
            file.write("x")
        self.start_again()
        self.assertEqual(self.manager("ListOverrides"), {})
        self.assertIn("state-ignored", self.manager("Describe"))
        self.assertTrue(os.path.exists(path + ".broken"))


class Outcomes(AdviceCase):
    def test_what_failed_for_root_is_offered_to_nobody(self):
        self.report(application="default", backend="cpu", outcome="failed", detail="SIGILL")
        self.assert_refused(ERROR + "NoMatch", self.select)
        self.assertEqual(self.codes()["reported-failed"]["detail"], "SIGILL")
        self.start_again()
        self.assert_refused(ERROR + "NoMatch", self.select)
        self.report(application="default", backend="cpu", outcome="ok")
        self.assertEqual(self.select()["Backend"], "cpu")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
    def test_what_failed_for_one_user_is_offered_to_the_others(self):
        ask = ("SelectBackend", "sa{sv}", "default", "0")
        self.assertEqual(self.call_as(NOBODY, *ask)[0], 0)
        code, said = self.call_as(NOBODY, "ReportOutcome", "a{sv}", "3", "application", "s", "default",
                                  "backend", "s", "cpu", "outcome", "s", "failed")
        self.assertEqual(code, 0, said)
        self.assertIn("nothing on this machine satisfies", self.call_as(NOBODY, *ask)[1])
        self.assertEqual(self.call_as(OTHER, *ask)[0], 0)
        self.assertEqual(self.select()["Backend"], "cpu")

    @unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
    def test_one_user_does_not_wear_out_the_disk(self):
        arguments = ("ReportOutcome", "a{sv}", "3", "application", "s", "default", "backend", "s", "cpu",
                     "outcome", "s", "failed")
        answers = [self.call_as(NOBODY, *arguments) for _ in range(31)]
        self.assertEqual([code for code, _ in answers[:30]], [0] * 30)
        self.assertIn("30 such calls", answers[30][1])
        self.assertEqual(self.call_as(OTHER, *arguments)[0], 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
    def test_probes_and_outcomes_of_one_user_have_one_budget(self):
        probe = ("Probe", "aoasa{sv}", "0", "0", "0")
        answers = [self.call_as(NOBODY, *probe) for _ in range(31)]
        self.assertEqual([code for code, _ in answers[:30]], [0] * 30, answers[0])
        self.assertIn("30 such calls", answers[30][1])
        self.assertEqual(self.call_as(OTHER, *probe)[0], 0)

    def test_a_bad_outcome_is_refused_by_name(self):
        refused = self.assert_refused(ERROR + "InvalidRequest", lambda: self.report(application="default"))
        self.assertIn("outcome", refused)
        self.assert_refused(ERROR + "NoSuchGpu", lambda: self.report(
            application="default", backend="cpu", outcome="failed", gpu="pci:0000:09:00.0"))


if __name__ == "__main__":
    unittest.main()
