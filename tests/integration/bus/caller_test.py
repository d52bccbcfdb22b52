# SPDX-License-Identifier: Apache-2.0
"""Tests of the answers for callers who may open fewer or more device nodes than the daemon."""
import json
import os
import shutil
import subprocess
import unittest

from bus_case import BIN, GPU, MANAGER, NAME, OPEN_POLICY, ROOT, SOURCE, BusCase
from gi.repository import GLib

MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
PATH = ROOT + "/gpu/pci_0000_00_06_0"
NOBODY, RENDER = 65534, 60105
UUID = "GPU-00000000-0000-4000-8000-000000000001"


@unittest.skipUnless(os.geteuid() == 0, "only root can make calls as another user")
class Callers(BusCase):
    POLICY = OPEN_POLICY.replace("<allow own", '<allow user="*"/>\n    <allow own')

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        machine = self.folder + "/machine"
        shutil.copytree(MACHINE, machine, symlinks=True)
        nodes = json.loads((MACHINE / "nodes.json").read_text())
        for path, node in nodes.items():
            node.update(uid=0, gid=RENDER, group="gpuprobe-render", mode=0o660 if path == "/dev/nvidia0" else 0o666)
        with open(machine + "/nodes.json", "w", encoding="utf-8") as file:
            json.dump(nodes, file)
        self.start("--replay", machine, f"--socket={self.socket}")

    def as_user(self, *command, uid=NOBODY, groups=()):
        return subprocess.run(command, user=uid, group=uid, extra_groups=groups, capture_output=True, text=True,
                              timeout=20, check=False, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})

    def ctl(self, *arguments, **who):
        return self.as_user(str(BIN / "gpuprobectl"), f"--socket={self.socket}", *arguments, **who)

    def busctl(self, *arguments, **who):
        return self.as_user("busctl", f"--address={self.bus.address}", "--allow-interactive-authorization=no", "-j",
                            "call", NAME, *arguments, **who)

    def selected(self, **who):
        answer = self.ctl("select", "default", "-j", **who)
        return json.loads(answer.stdout)

    def test_a_backend_is_for_those_who_may_open_its_nodes(self):
        for who in ({"uid": 0}, {"groups": [RENDER]}, {"groups": [7, RENDER, 8]}):
            with self.subTest(who):
                decision = self.selected(**who)
                self.assertEqual(decision["backend"], "cuda")
                self.assertEqual(decision["environment"]["CUDA_VISIBLE_DEVICES"], UUID)
        for who in ({}, {"groups": [RENDER + 1]}):
            with self.subTest(who):
                decision = self.selected(**who)
                self.assertEqual(decision["backend"], "cpu")
                cuda = next(entry for entry in decision["candidates"] if entry["backend"] == "cuda")
                self.assertEqual((cuda["verdict"], cuda["reasons"][0]), (
                    "rejected", {"code": "no-permission",
                                 "text": "no permission to open /dev/nvidia0 (group gpuprobe-render)",
                                 "fix": 'add your account to the group, then log in again: sudo usermod -aG gpuprobe-render "$USER"',
                                 "commands": ['sudo usermod -aG gpuprobe-render "$USER"'],
                                 "subject": {"gpu": "pci:0000:00:06.0", "api": "cuda", "path": "/dev/nvidia0"},
                                 "detail": {"node": "/dev/nvidia0", "group": "gpuprobe-render", "mode": "0660"}}))
        self.assertEqual(self.selected(groups=[RENDER])["backend"], "cuda", "a caller never gets another caller's answer")

    def test_one_caller_is_answered_the_same_each_time(self):
        answers = {self.busctl(ROOT, MANAGER, "SelectBackend", "sa{sv}", "default",
                               "1", "explain", "b", "true").stdout for _ in range(3)}
        self.assertEqual(len(answers), 1)
        self.assertIn("no-permission", answers.pop())

    def test_reports_are_as_seen_by_who_asks(self):
        for command in (("describe", "-j"), ("show", "0", "-j")):
            with self.subTest(command):
                self.assertIn(UUID, self.ctl(*command, uid=0).stdout)
                self.assertIn(UUID, self.ctl(*command, groups=[RENDER]).stdout)
                shut = self.ctl(*command)
                self.assertEqual(shut.returncode, 0, shut.stderr)
                self.assertNotIn(UUID, shut.stdout)
                self.assertNotIn(UUID.removeprefix("GPU-"), shut.stdout)
                self.assertIn("no-permission", shut.stdout)
        for path, interface in ((ROOT, MANAGER), (PATH, GPU)):
            with self.subTest(interface):
                self.assertIn(UUID, self.busctl(path, interface, "Describe", uid=0).stdout)
                shut = self.busctl(path, interface, "Describe")
                self.assertEqual(shut.returncode, 0, shut.stderr)
                self.assertNotIn(UUID, shut.stdout)

    def test_the_doctor_examines_who_asks(self):
        for who, wanted in (({}, 6), ({"groups": [RENDER]}, 0), ({"uid": 0}, 0)):
            with self.subTest(who):
                answer = self.ctl("doctor", "-j", **who)
                self.assertEqual(answer.returncode, wanted, answer.stderr)
                found = [finding for finding in json.loads(answer.stdout)["findings"] if finding["id"] == "no-permission"]
                self.assertEqual(len(found), 1 if wanted else 0)
                if found:
                    self.assertEqual(found[0]["fix"], 'add your account to the group, then log in again: sudo usermod -aG gpuprobe-render "$USER"')

    def test_identifiers_are_for_those_who_may_open_the_gpu(self):
        for who in ({"uid": 0}, {"groups": [RENDER]}):
            with self.subTest(who):
                answer = self.busctl(PATH, GPU, "GetIdentifiers", "a{sv}", "0", **who)
                self.assertEqual(answer.returncode, 0, answer.stderr)
                self.assertEqual(json.loads(answer.stdout)["data"][0]["NvidiaUuid"], UUID)
        refused = self.busctl(PATH, GPU, "GetIdentifiers", "a{sv}", "0")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("org.gpuprobe.get-identifiers", refused.stderr)

    def test_more_callers_than_it_remembers(self):
        parameters = GLib.Variant("(sa{sv})", ("default", {}))
        for _ in range(300):
            connection = self.bus.connect()
            answer = self.call_raw(ROOT, MANAGER, "SelectBackend", parameters, connection)
            self.assertEqual(answer.unpack()[0]["Backend"], "cuda")
            connection.close_sync(None)
        self.assert_same_daemon()


if __name__ == "__main__":
    unittest.main()
