# SPDX-License-Identifier: Apache-2.0
"""Tests with a state folder that became read-only, as after a disk error: the daemon still uses the stored state."""
import json
import subprocess

from bus_case import MANAGER, ROOT, BusCase, Failure
from gi.repository import GLib

READ_ONLY = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
             'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"')


class ReadOnlyState(BusCase):
    def setUp(self):
        super().setUp()
        self.state = f"{self.folder}/state"
        self.first = ()
        tried = subprocess.run([*READ_ONLY, self.folder, "true"], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            self.skipTest(f"folders cannot be made read-only here: {tried.stderr.strip()}")

    def command(self, *arguments):
        return [*self.first, *super().command(*arguments)]

    def override(self, application, backend):
        rule = {"only": GLib.Variant("as", [backend])}
        return self.manager("SetOverride", GLib.Variant("(sa{sv})", (application, rule)))

    def test_is_still_read_and_says_that_it_is_not_kept(self):
        capture = self.capture()
        self.start_on(capture, f"--state-dir={self.state}")
        self.override("torch", "cpu")
        self.end_daemon()
        self.first = (*READ_ONLY, self.state)
        self.start_on(capture, f"--state-dir={self.state}")
        self.assertIn("torch", self.manager("ListOverrides"))
        with self.assertRaises(Failure) as refused:
            self.override("torch", "cuda")
        self.assertIn("Read-only file system", str(refused.exception))
        self.assertEqual(self.manager("ListOverrides")["torch"]["Rule"]["only"], ["cpu"])
        notes = json.loads(self.manager("Describe"))["notes"]
        self.assertIn("override-set", [note["code"] for note in notes])
