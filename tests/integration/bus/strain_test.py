#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests with many callers, with large messages, and with callers that never read, up to the limits of the bus.

The tests send raw bytes over the connections (tests/torture), because no D-Bus library would send most of these messages.
"""
import os
import pathlib
import signal
import sys
import time
import unittest

SOURCE = pathlib.Path(os.environ["GPUPROBE_SOURCE"])
DAEMON = pathlib.Path(os.environ["GPUPROBE_BIN"]) / "gpuprobed"
sys.path.insert(0, str(SOURCE / "tests/torture"))

import wire  # noqa: E402
from figures import quantile  # noqa: E402
from patient import Patient  # noqa: E402
from peer import BUS, MANAGER, NAME, ROOT, Gone, Refused  # noqa: E402

MACHINE = SOURCE / "tests/data/machines/nvidia-h200-1"
ERROR = NAME + ".Error."
MIB = 1 << 20
# The limits of a system bus. Source: dbus-daemon(1), "limit".
PENDING, CONNECTIONS, FDS = 128, 256, 16
MANY = 10_000
NOBODY = 65534
RESTED = 6 * MIB  # the most memory that may be allocated ten seconds after the load has ended


@unittest.skipUnless(DAEMON.exists(), "gpuprobed is not built")
class StrainCase(unittest.TestCase):
    LIMITS = {}

    def setUp(self):
        self.patient = Patient(str(DAEMON), "--replay", str(MACHINE), limits=self.LIMITS)
        self.addCleanup(self.patient.end)
        self.peers = []
        self.addCleanup(lambda: [peer.close() for peer in self.peers])
        first = self.patient.connect()
        first.manager("SelectBackend", "sa{sv}", ["default", {}])
        first.close()
        self.before = self.patient.descriptors()

    def connect(self, **options):
        self.peers.append(self.patient.connect(**options))
        return self.peers[-1]

    def assert_unharmed(self, resident=32 * MIB):
        """Checks that the daemon was not restarted, still answers, uses little memory, and has closed all connections."""
        self.assertTrue(self.patient.is_alive(), self.patient.last_words())
        self.patient.connect().ping()
        self.assertLessEqual(self.patient.settled_descriptors(self.before), self.before)
        if not self.patient.is_instrumented:
            self.assertLess(self.patient.resident(), resident)

    def refusal(self, peer, *call):
        with self.assertRaises(Refused) as caught:
            peer.call(NAME, ROOT, *call)
        return caught.exception.args[0]


class Crowds(StrainCase):
    LIMITS = {"max_connections_per_user": CONNECTIONS, "max_replies_per_connection": PENDING}

    def test_ten_thousand_calls_in_flight_are_all_answered(self):
        callers, each = 200, MANY // 200
        peers = [self.connect() for _ in range(callers)]
        waiting = [{peer.ask(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}])
                    for _ in range(each)} for peer in peers]
        answers = set()
        for peer, serials in zip(peers, waiting):
            while serials:
                message = peer.receive()
                if message.answers not in serials:
                    continue  # the message with which the bus sends each client its name
                self.assertIsNone(message.error)
                answers.add(message.data[message.start:])
                serials.discard(message.answers)
        self.assertEqual(len(answers), 1)
        self.assert_unharmed()
        self.assert_memory_comes_back()

    def assert_memory_comes_back(self):
        """Checks that the daemon returns unused memory after many callers have stopped making calls."""
        if self.patient.is_instrumented:
            return  # a sanitizer keeps freed memory in order to detect later accesses
        for _ in range(100):
            if self.patient.allocated() < RESTED:
                return
            time.sleep(0.1)
        self.fail(f"{self.patient.allocated()} bytes are still allocated ten seconds later")

    def test_ten_thousand_calls_of_one_caller_end_in_answers_or_the_limit_of_the_bus(self):
        peer = self.connect()
        serials = {peer.ask(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}]) for _ in range(MANY)}
        errors = set()
        while serials:
            message = peer.receive()
            errors.add(message.error)
            serials.discard(message.answers)
        self.assertLessEqual(errors, {None, BUS + ".Error.LimitsExceeded"})
        self.assertIn(None, errors)
        self.assert_unharmed()

    @unittest.skipIf(os.geteuid() != 0, "only root can connect as two users")
    def test_one_users_calls_do_not_wait_for_all_of_another(self):
        """One user makes 3,000 calls that take a millisecond each; the daemon answers a later call of another user while over 500 of these calls
        still wait."""
        os.chmod(self.patient.folder, 0o755)
        crowd = []
        os.seteuid(NOBODY)
        try:
            crowd += [self.connect() for _ in range(100)]
        finally:
            os.seteuid(0)
        other = self.connect()
        other.manager("ListApplications")
        for place, peer in enumerate(crowd):
            for number in range(30):  # no two calls are equal, so no answer comes from the cache
                request = {"need-mib": ("t", 100 * place + number), "explain": ("b", True)}
                peer.ask(NAME, ROOT, MANAGER, "RecommendVariant", "ssa{sv}", ["torch", "", request])
        other.manager("RecommendVariant", "ssa{sv}", ["torch", "", {}])
        self.patient.process.send_signal(signal.SIGSTOP)
        waiting = sum(30 - self.arrived(peer) for peer in crowd)
        self.patient.process.send_signal(signal.SIGCONT)
        self.assertGreater(waiting, 500)
        self.assert_unharmed()

    def arrived(self, peer):
        """Returns how many replies have arrived."""
        count = 0
        try:
            while True:
                count += peer.receive(timeout=0.01).answers is not None
        except TimeoutError:
            return count

    def test_more_connections_than_the_bus_allows(self):
        with self.assertRaises((Gone, Refused, OSError)):
            for _ in range(CONNECTIONS + 50):
                self.connect()
        self.peers[0].ping()
        self.peers.pop().close()
        self.assert_unharmed()

    def test_introspection_and_all_objects_again_and_again(self):
        peer = self.connect()
        for _ in range(500):
            peer.call(NAME, ROOT, BUS + ".Introspectable", "Introspect")
            peer.call(NAME, ROOT, BUS + ".ObjectManager", "GetManagedObjects")
        self.assert_unharmed()


class SlowReaders(StrainCase):
    """Tests with callers that never read. If the daemon sent these callers too many messages, the bus would stop reading from the daemon for 5 s, and
    all callers would have to wait."""

    LIMITS = {"max_connections_per_user": CONNECTIONS, "max_replies_per_connection": PENDING}

    def waits(self, calls=200):
        peer, waited = self.connect(), []
        for _ in range(calls):
            start = time.monotonic()
            peer.manager("SelectBackend", "sa{sv}", ["default", {}])
            waited.append(time.monotonic() - start)
        return quantile(waited)

    def assert_prompt(self):
        _median, late, _longest = self.waits()
        # A call may take a quarter of a second, or longer if other programs use the machine. If the bus stopped reading from the daemon, calls would
        # wait at least 5 s.
        busy = max(1, os.getloadavg()[0] / os.cpu_count())
        self.assertLess(late, 250 * busy)
        self.assert_unharmed()

    def test_two_that_ask_for_the_whole_report(self):
        for _ in range(2):
            peer = self.connect()
            for _ in range(PENDING - 1):
                peer.ask(NAME, ROOT, MANAGER, "Describe")
        self.assert_prompt()

    def test_many_that_ask_for_decisions(self):
        for _ in range(CONNECTIONS - 16):
            peer = self.connect()
            for _ in range(20):
                peer.ask(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}])
        self.assert_prompt()

    def test_many_that_ask_for_descriptors(self):
        for _ in range(20):
            peer = self.connect(with_fds=True)
            for _ in range(PENDING - 1):
                peer.ask(NAME, ROOT, MANAGER, "DescribeFd")
        self.assert_prompt()

    def test_callers_that_leave_before_their_answer(self):
        for _ in range(300):
            peer = self.patient.connect()
            for _ in range(20):
                peer.ask(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}])
            peer.close()
        self.assert_unharmed()


class Oversized(StrainCase):
    def manifest(self, text):
        return self.refusal(self.connect(), MANAGER, "RecommendVariant", "ssa{sv}", ["x", text, {}])

    def test_manifests_that_are_none(self):
        deep = 200_000
        for name, text, error in (
            ("one byte", "x", "MalformedManifest"),
            ("over the limit", " " * (MIB + 1), "TooLarge"),
            ("ten MiB", "x" * (10 * MIB), "TooLarge"),
            ("lists in lists", "[" * deep, "MalformedManifest"),
            ("objects in objects", '{"a":' * deep, "MalformedManifest"),
            ("a key twice", '{"schema":"gpuprobe.variants/1","schema":"x"}', "MalformedManifest"),
            ("many items", "[" + "0," * 400_000 + "0]", "MalformedManifest"),
            ("a byte order mark", '\ufeff{"schema":"gpuprobe.variants/1"}', "MalformedManifest"),
            ("half of a surrogate pair", '{"schema":"\\ud800"}', "MalformedManifest"),
            ("a number over all", '{"schema":1e999}', "MalformedManifest"),
            ("2 to the 64th", '{"schema":18446744073709551616}', "MalformedManifest"),
            ("minus zero", '{"schema":-0}', "MalformedManifest"),
        ):
            with self.subTest(name):
                self.assertEqual(self.manifest(text), ERROR + error)
        self.assert_unharmed()

    def test_an_installed_manifest_that_is_cut_anywhere(self):
        text = (SOURCE / "data/knowledge/applications/jax.json").read_text(encoding="utf-8").rstrip()
        peer = self.connect()
        for end in range(1, len(text), 7):
            serial = peer.ask(NAME, ROOT, MANAGER, "RecommendVariant", "ssa{sv}", ["x", text[:end], {}])
            self.assertEqual(peer.reply_to(serial).error, ERROR + "MalformedManifest", end)
        self.assert_unharmed()

    def test_the_longest_text_that_a_bus_carries(self):
        peer = self.connect()
        for size in (31 * MIB, 16 * MIB):
            for values in (["x" * size, {}], ["default", {"backend": ("s", "x" * size)}]):
                self.assertEqual(self.refusal(peer, MANAGER, "SelectBackend", "sa{sv}", values), ERROR + "TooLarge")
        size = 2 * MIB - 4096  # a call may contain 2 MiB
        self.assertEqual(self.refusal(peer, MANAGER, "SelectBackend", "sa{sv}", ["x" * size, {}]), ERROR + "UnknownApplication")
        self.assertEqual(self.refusal(peer, MANAGER, "SelectBackend", "sa{sv}",
                                      ["default", {"backend": ("s", "x" * size)}]), ERROR + "InvalidRequest")
        self.assert_unharmed()

    def test_more_than_a_bus_carries(self):
        # dbus-daemon closes the connection of a client that announces a larger message than
        # allowed.
        peer = self.connect()
        with self.assertRaises((Gone, Refused)):
            peer.call(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["x" * (140 * MIB), {}])
        self.assert_unharmed()

    def test_more_values_than_anybody_needs(self):
        many = 300_000
        keys = {f"{key:x}": ("y", 1) for key in range(many)}
        peer = self.connect()
        for method, signature, values in (
            ("ListGpus", "a{sv}", [keys]),
            ("SelectBackend", "sa{sv}", ["default", keys]),
            ("SelectBackend", "sa{sv}", ["default", {"built": ("as", ["x"] * many)}]),
            ("Probe", "aoasa{sv}", [[], ["x"] * many, {}]),
            ("ReportOutcome", "sa{sv}", ["x", keys]),
            ("NoSuchMethod", "aa{sv}", [[{}] * many]),
        ):
            with self.subTest(method, signature=signature):
                started = time.monotonic()
                self.assertEqual(self.refusal(peer, MANAGER, method, signature, values), ERROR + "InvalidRequest")
                print(f"{method}: {time.monotonic() - started:.2f} s")
                self.assert_unharmed()

    def test_variants_in_variants(self):
        value = ("s", "x")
        for levels in range(1, 60):
            value = ("v", value)
            if levels % 10 == 0:
                with self.subTest(levels):
                    self.assertEqual(self.refusal(self.connect(), MANAGER, "SelectBackend", "sa{sv}",
                                                  ["default", {"backend": value}]), ERROR + "InvalidRequest")
        self.assert_unharmed()

    def test_descriptors_that_nobody_asked_for(self):
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        self.addCleanup(os.close, null)
        for signature, values in (("sa{sv}", ["default", {}]), ("a" * 3 + "h", [[[list(range(FDS))]]]), ("s", ["x"])):
            peer = self.connect(with_fds=True)
            for _ in range(50):
                serial = peer.ask(NAME, ROOT, MANAGER, "SelectBackend", signature, values, [null] * FDS)
                peer.reply_to(serial)
        self.assert_unharmed()

    def test_texts_that_are_none(self):
        for text in (b"\xff", b"a\0b", b"\xed\xa0\x80"):
            peer = self.connect()
            with self.subTest(text), self.assertRaises(Gone):
                peer.call(NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", [text, {}])
        self.assert_unharmed()

    def test_messages_that_never_end(self):
        data = wire.call(9, NAME, ROOT, MANAGER, "SelectBackend", "sa{sv}", ["default", {}])
        for end in range(1, len(data)):
            peer = self.patient.connect()
            peer.send(data[:end])
            peer.close()
        self.assert_unharmed()


if __name__ == "__main__":
    unittest.main()
