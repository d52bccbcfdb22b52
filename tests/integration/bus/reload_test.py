# SPDX-License-Identifier: Apache-2.0
"""Tests how a running daemon reacts to external events: an application changes, the machine is suspended, or systemd's watchdog expects a
notification."""
import json
import pathlib
import signal

from bus_case import MANAGER, ROOT, SOURCE, BusCase, Failure
from gi.repository import GLib

H200 = SOURCE / "tests/data/machines/nvidia-h200-1"
SELECTION = {"backends": ["opencl", "cpu"], "cpu": "last", "integrated": "always", "strict": False}


class Reload(BusCase):
    def setUp(self):
        super().setUp()
        self.applications = pathlib.Path(self.folder, "applications")
        self.applications.mkdir()
        self.start("--replay", str(H200), "--applications", str(self.applications))

    def hang_up(self):
        self.daemon.send_signal(signal.SIGHUP)
        self.notify.wait_for("READY=1", self.daemon)

    def write(self, **changes):
        document = {"schema": "gpuprobe.application/1", "name": "mine", "description": "", "selection": {**SELECTION, **changes}}
        (self.applications / "mine.json").write_text(json.dumps(document), encoding="utf-8")

    def test_an_application_comes_changes_and_goes(self):
        with self.assertRaises(Failure):
            self.select(application="mine")
        self.write()
        self.hang_up()
        self.assertEqual(self.select(application="mine")["Backend"], "opencl")
        generation = self.property(ROOT, MANAGER, "Generation")
        self.write(backends=["cuda", "cpu"])
        self.hang_up()
        self.assertEqual(self.select(application="mine")["Backend"], "cuda")
        self.assertGreater(self.property(ROOT, MANAGER, "Generation"), generation)
        (self.applications / "mine.json").write_text("{", encoding="utf-8")
        self.hang_up()
        with self.assertRaises(Failure):
            self.select(application="mine")
        self.assertIn("application-ignored", [note["code"] for note in json.loads(self.manager("Describe"))["notes"]])
        self.assert_same_daemon()

    def test_an_override_outlives_it(self):
        rule = {"deny": GLib.Variant("as", ["cuda"])}
        self.manager("SetOverride", GLib.Variant("(sa{sv})", ("default", rule)))
        before = self.select()["Backend"]
        self.hang_up()
        self.assertEqual(self.select()["Backend"], before)
        self.assertIn("default", self.manager("ListOverrides"))


class Watchdog(BusCase):
    def environment(self):
        return {**super().environment(), "WATCHDOG_USEC": "400000"}

    def test_it_is_fed_while_the_loop_turns(self):
        self.start_on(self.capture())
        for _ in range(3):
            self.notify.wait_for("WATCHDOG=1", self.daemon)


class Sleep(BusCase):
    """Tests that send logind's signals about a suspend, as on a system bus."""

    def setUp(self):
        super().setUp()
        self.launched = pathlib.Path(self.folder) / "launches"
        self.launched.touch()
        worker = pathlib.Path(self.folder) / "worker"
        worker.write_text(f'#!/bin/sh\necho "$1" >> {self.launched}\n', encoding="utf-8")
        worker.chmod(0o755)
        self.login = self.bus.connect()
        self.login.call_sync("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                             GLib.Variant("(su)", ("org.freedesktop.login1", 4)), None, 0, -1, None)
        self.start(f"--worker={worker}")
        self.wait_until(self.is_done, "the first probes")

    def is_done(self):
        return self.property(ROOT, MANAGER, "State") != "probing"

    def launches(self):
        return len(self.launched.read_text(encoding="utf-8").split())

    def prepare_for_sleep(self, is_about_to):
        self.login.emit_signal(None, "/org/freedesktop/login1", "org.freedesktop.login1.Manager", "PrepareForSleep",
                               GLib.Variant("(b)", (is_about_to,)))
        self.login.flush_sync(None)
        # The bus keeps the order of messages, so when this call is answered, the daemon has received the signal.
        self.login.call_sync("org.gpuprobe.GpuProbe1", ROOT, "org.freedesktop.DBus.Peer", "Ping", None, None, 0, -1, None)

    def probe(self):
        self.manager("Probe", GLib.Variant("(aoasa{sv})", ([], [], {})))

    def test_nothing_is_asked_until_it_is_awake(self):
        before = self.launches()
        self.prepare_for_sleep(True)
        self.probe()
        self.assertEqual(self.launches(), before)
        self.prepare_for_sleep(False)
        self.wait_until(lambda: self.launches() > before and self.is_done(), "the probes that were put off")
        self.assertEqual(self.launches(), 2 * before)
        self.assert_same_daemon()
