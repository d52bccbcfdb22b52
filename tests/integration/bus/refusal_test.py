#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that clients which make mistakes, send many calls or disconnect early do not affect other clients."""
import os
import subprocess

from bus_case import DEADLINE, GPU, MANAGER, NAME, PROPERTIES, ROOT, BusCase, Failure
from gi.repository import Gio, GLib

ERROR = NAME + ".Error."
INVALID_ARGS = "org.freedesktop.DBus.Error.InvalidArgs"
ADDRESS = "0000:03:00.0"
PATH = ROOT + "/gpu/pci_0000_03_00_0"


def nested(levels):
    value = GLib.Variant("s", "x")
    for _ in range(levels):
        value = GLib.Variant("v", value)
    return value


BAD_REQUESTS = {
    "unknown key": {"colour": GLib.Variant("s", "red")},
    "number for names": {"built": GLib.Variant("t", 1)},
    "names for a size": {"min-memory": GLib.Variant("as", ["1"])},
    "negative size": {"min-memory": GLib.Variant("x", -1)},
    "text for a flag": {"strict": GLib.Variant("s", "yes")},
    "struct": {"built": GLib.Variant("(ss)", ("a", "b"))},
    "bytes": {"backend": GLib.Variant("ay", b"cuda")},
    "nested variants": {"backend": nested(20)},
    "many values": {"built": GLib.Variant("as", ["x"] * 100_000)},
    "long text": {"backend": GLib.Variant("s", "x" * 1_000_000)},
    "many keys": {f"key{i}": GLib.Variant("b", True) for i in range(10_000)},
    "empty key": {"": GLib.Variant("b", True)},
    "backend nobody knows": {"backend": GLib.Variant("s", "no-such-backend")},
}


class Refusals(BusCase):
    def setUp(self):
        super().setUp()
        machine = self.capture()
        machine.add_gpu(ADDRESS, status="suspended")
        self.start_on(machine)

    def test_bad_requests_are_named_and_survived(self):
        for name, request in BAD_REQUESTS.items():
            with self.subTest(name):
                self.assert_refused(ERROR + "InvalidRequest", self.select, request)
                self.assert_same_daemon()

    def test_a_descriptor_that_is_not_there_is_survived(self):
        with self.assertRaises(Failure):
            self.select({"backend": GLib.Variant("h", 0)})
        self.assert_same_daemon()

    def test_unknown_applications_are_named(self):
        for application in ("nobody", "", "../../etc/passwd", "x" * 100_000, "\uffee\u202e"):
            with self.subTest(application[:16]):
                self.assert_refused(ERROR + "UnknownApplication", self.select, {}, application)
        self.assert_same_daemon()

    def test_wrong_signatures_never_arrive(self):
        for method, parameters in (
            ("SelectBackend", GLib.Variant("(s)", ("default",))),
            ("SelectBackend", GLib.Variant("(ias)", (1, []))),
            ("ListGpus", None),
            ("Describe", GLib.Variant("(s)", ("x",))),
            ("Probe", GLib.Variant("(asasa{sv})", ([], [], {}))),
        ):
            with self.subTest(method):
                self.assert_refused(INVALID_ARGS, self.manager, method, parameters)
        self.assert_refused("org.freedesktop.DBus.Error.UnknownMethod", self.manager, "Explode")
        self.assert_same_daemon()

    def probe(self, gpus=(), apis=(), options=None):
        return self.manager("Probe", GLib.Variant("(aoasa{sv})", (gpus, apis, options or {})))

    def test_options_may_be_unknown_but_not_of_a_wrong_type(self):
        self.probe(options={"colour": GLib.Variant("(ss)", ("a", "b"))})
        for key, value, problem in (("allow-wake", GLib.Variant("s", "yes"), "expected boolean, found string"),
                                    ("stage", GLib.Variant("u", 1), "stage: expected string, found integer"),
                                    ("stage", GLib.Variant("s", "burn"), "burn"),
                                    ("allow-wake", nested(30), "allow-wake: nested too deeply")):
            with self.subTest(key):
                message = self.assert_refused(ERROR + "InvalidRequest", self.probe, [], [], {key: value})
                self.assertIn(problem, message)
        self.manager("ListGpus", GLib.Variant("(a{sv})", ({"colour": GLib.Variant("s", "red")},)))
        self.assert_same_daemon()

    def test_probing_names_gpus_that_exist_and_are_awake(self):
        self.assert_refused(ERROR + "NoSuchGpu", self.probe, ["/"])
        self.assert_refused(ERROR + "NoSuchGpu", self.probe, [ROOT + "/gpu/other"])
        self.assert_refused(ERROR + "WouldWake", self.probe, [PATH])
        self.probe([PATH], [], {"allow-wake": GLib.Variant("b", True)})
        self.assert_refused(ERROR + "InvalidRequest", self.probe, [PATH] * 10_000)
        # The daemon checks the number of values before it looks up a value, because a message may contain
        # millions of values.
        self.assert_refused(ERROR + "InvalidRequest", self.probe, ["/"] * 10_000)
        self.assert_refused(ERROR + "InvalidRequest", self.probe, [], [""] * 10_000)
        self.assertEqual(self.property(PATH, GPU, "PowerState"), "suspended")

    def test_properties_cannot_be_written(self):
        def put():
            self.call(ROOT, PROPERTIES, "Set",
                      GLib.Variant("(ssv)", (MANAGER, "State", GLib.Variant("s", "x"))))

        self.assert_refused("org.freedesktop.DBus.Error.PropertyReadOnly", put)

    def test_one_caller_cannot_take_all_the_text(self):
        with self.assertRaisesRegex(Exception, "TooManyRequests"):
            for _ in range(200_000):
                self.manager("Describe")
        other = self.bus.connect()
        self.call_raw(ROOT, MANAGER, "Describe", None, other)

    def test_a_thousand_calls_at_once_are_all_answered(self):
        answers = []
        parameters = GLib.Variant("(sa{sv})", ("default", {}))
        for _ in range(1000):
            self.connection.call(NAME, ROOT, MANAGER, "SelectBackend", parameters, None,
                                 Gio.DBusCallFlags.NONE, DEADLINE * 1000, None,
                                 lambda bus, result: answers.append(bus.call_finish(result).unpack()))
        self.wait_until(lambda: len(answers) == 1000, "1000 answers")
        self.assertTrue(all(answer == answers[0] for answer in answers))
        self.assert_same_daemon()


class Probes(BusCase):
    """Tests of probes on the machine that runs the tests, with a worker that never answers."""

    def setUp(self):
        super().setUp()
        worker = f"{self.folder}/worker"
        with open(worker, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexec /bin/sleep 60\n")
        os.chmod(worker, 0o755)
        self.start("--worker", worker)
        self.errors = []

    def probe(self, connection=None):
        """Calls Probe. When the call has ended, appends the name of its error, or None, to `errors`."""
        def done(bus, result):
            try:
                bus.call_finish(result)
                self.errors.append(None)
            except GLib.Error as error:
                self.errors.append(Gio.DBusError.get_remote_error(error))

        (connection or self.connection).call(
            NAME, ROOT, MANAGER, "Probe", GLib.Variant("(aoasa{sv})", ([], [], {})), None,
            Gio.DBusCallFlags.NONE, DEADLINE * 1000, None, done)
        self.ping(connection)

    def test_apis_that_are_unknown_are_refused(self):
        self.assert_refused(ERROR + "InvalidRequest", self.manager, "Probe",
                            GLib.Variant("(aoasa{sv})", ([], ["vulcan"], {})))

    def test_a_probe_shows_in_the_state(self):
        self.probe()
        self.assertEqual(self.property(ROOT, MANAGER, "State"), "probing")
        objects = self.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        self.assertEqual([path for path, found in objects.items() if GPU not in found], [], "a probe is not a D-Bus object")
        self.assertEqual(self.errors, [])

    def test_a_caller_that_leaves_costs_nothing(self):
        other = self.bus.connect()
        self.probe(other)
        other.close_sync(None)
        self.probe()
        self.select()
        self.assert_same_daemon()
        self.assertEqual(self.terminate()[0], 0)
        self.wait_until(lambda: len(self.errors) == 2, "the end of both calls")

    def test_one_user_waits_for_a_bounded_number(self):
        for _ in range(9):
            self.probe()
        self.wait_until(lambda: self.errors, "a refusal")
        self.ping()
        self.assertEqual(self.errors, [ERROR + "TooManyRequests"])

    def test_the_end_of_the_daemon_ends_probes_and_workers(self):
        self.probe()
        code, seconds = self.terminate()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 5)
        self.wait_until(lambda: self.errors, "an answer")
        self.assertEqual(self.errors, [ERROR + "Cancelled"])
        workers = subprocess.run(["pgrep", "-f", self.folder], stdout=subprocess.PIPE, check=False)
        self.assertNotIn(b"sleep", workers.stdout)
