# SPDX-License-Identifier: Apache-2.0
"""Calls every method with random values over a real bus, and sends damaged messages from a fake bus."""
import os
import random
import struct
import subprocess
import time

import wire
from false_bus import FalseBus
from figures import Figures, quantile
from interfaces import methods_of
from patient import Patient
from peer import MANAGER, NAME, ROOT, Gone, Refused
from values import Values

BATCH = 20
MAX_PING = 10.0  # seconds; the machine may be busy
MAX_GROWTH = 16 << 20  # bytes of resident memory
WITH_FDS, WITH_WRONG_TYPES, INVALID, CUT_SHORT = 0.05, 0.1, 0.15, 0.05
FALSE_PART = 10  # one of this many calls uses the fake bus


class Fuzzer:
    def __init__(self, patient, rng, figures):
        self.patient, self.random, self.figures = patient, rng, figures
        self.valid, self.invalid = Values(rng), Values(rng, is_valid=False)
        self.values = self.valid
        self.watcher = patient.connect()
        self.methods = list(methods_of(self.watcher))
        self.peer = patient.connect(with_fds=True)
        self.pings = []
        self.null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)

    def arguments(self, method):
        """Returns (signature, values, file descriptors), which are usually valid for the method."""
        values = self.values
        signature = method.signature
        if self.random.random() < WITH_WRONG_TYPES:
            signature = self.random.choice(["", "s", "v", "a{sv}", "ay", "(ss)", "aav", "h", "a(sv)", "t"])
        fds = [self.null] * self.random.choice([1, 16]) if self.random.random() < WITH_FDS else []
        return signature, [values.of(kind) for kind in wire.types_of(signature)], fds

    def message(self, method):
        signature, values, fds = self.arguments(method)
        interface = method.interface if self.random.random() < 0.9 else self.random.choice(["", "no.such.Interface"])
        flags = self.random.choice([0, 0, 0, wire.NO_REPLY, wire.INTERACTIVE, wire.NO_START])
        serial = self.peer.next_serial()
        try:
            data = wire.call(serial, NAME, method.path, interface, method.name, signature, values, flags, len(fds))
        except struct.error:
            return None  # the text would be longer than a signature may be
        return serial, data, fds, flags

    def batch(self):
        """Makes a batch of calls. Returns False if the bus has closed the connection."""
        waiting = set()
        # If the test sends a message that the bus forbids, the bus closes the connection, and all later messages are lost.
        self.values = self.invalid if self.random.random() < INVALID else self.valid
        for _ in range(BATCH):
            made = self.message(self.random.choice(self.methods))
            if not made:
                continue
            serial, data, fds, flags = made
            self.figures.count += 1
            if self.random.random() < CUT_SHORT / BATCH:
                self.peer.send(data[: self.random.randrange(1, len(data))])
                raise Gone("by ourselves")
            self.peer.send(data, fds)
            if not flags & wire.NO_REPLY:
                waiting.add(serial)
        while waiting:
            message = self.peer.receive()
            if message.answers in waiting:
                waiting.discard(message.answers)
                self.figures.outcomes["refused" if message.error else "accepted"] += 1
        self.peer.drop_fds()

    def step(self):
        try:
            self.batch()
        except Gone:
            self.figures.outcomes["connections ended"] += 1
            self.peer.close()
            self.peer = self.patient.connect(with_fds=True)
        took = self.watcher.ping()
        self.pings.append(took)
        if took > MAX_PING:
            self.figures.wrong.append(f"a ping took {took:.1f} s")

    def close(self):
        self.peer.close()
        self.watcher.close()
        os.close(self.null)


def damaged(data, rng):
    """Returns the message with some of its bytes changed, removed or repeated."""
    data = bytearray(data)
    # Usually change bytes after the lengths in the header, because a reader with a wrong length waits for data that never arrives.
    first = 0 if rng.random() < 0.2 else wire.FIXED_HEADER
    for _ in range(rng.randint(1, 6)):
        data[rng.randrange(first, len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.getrandbits(8)])
    what = rng.random()
    if what < 0.05:
        del data[rng.randrange(len(data)) :]
    elif what < 0.1:
        start = rng.randrange(len(data))
        data[start:start] = data[start : start + rng.randrange(64)]
    elif what < 0.15:
        # Readers of a message rely on the lengths in its header.
        struct.pack_into("<I", data, rng.choice([4, 12]), rng.choice([0, 1, 0xFFFFFFFF, 1 << 27, rng.getrandbits(12)]))
    return bytes(data)


class Damage:
    """A daemon on a fake bus."""

    def __init__(self, options, rng, figures):
        self.random, self.figures, self.values = rng, figures, Values(rng, largest=10_000)
        path = f"{options.folder}/false-bus"
        self.bus = FalseBus(path)
        self.log = open(f"{options.folder}/false-bus.log", "w+", encoding="utf-8", errors="replace")
        self.daemon = subprocess.Popen(
            [options.daemon, f"--bus=unix:path={path}", "--no-cache", "--replay", str(options.replay)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "HOME": options.folder})
        self.bus.accept()

    def send_some(self, methods):
        method = self.random.choice(methods)
        values = [self.values.of(kind) for kind in wire.types_of(method.signature)]
        data, _serial = self.bus.call(method.path, method.interface, method.name, method.signature, values)
        self.figures.count += 1
        try:
            self.bus.send(damaged(data, self.random))
            self.bus.serve(0)
        except (Gone, struct.error, UnicodeDecodeError, IndexError):
            return self.come_back()
        self.figures.outcomes["damaged"] += 1

    def come_back(self):
        self.figures.outcomes["damaged, and the daemon hung up"] += 1
        self.bus.accept()

    def answers(self):
        """Returns whether the daemon still answers a correct call. After a damaged message, the daemon may have to connect to the bus again before it
        can answer."""
        for _ in range(2):
            try:
                data, serial = self.bus.call(ROOT, MANAGER, "ListApplications")
                self.bus.send(data)
                late = time.monotonic() + 2
                while time.monotonic() < late:
                    if any(message.answers == serial for message in self.bus.serve(0.2)):
                        return True
            except Gone:
                pass
            # If the length of a message was damaged, the daemon waits for the rest of the message.
            self.bus.accept()
        return False

    def end(self):
        self.bus.close()
        if self.daemon.poll() is None:
            self.daemon.terminate()
        try:
            code = self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            code = self.daemon.wait()
        if code != 0:
            self.log.seek(0)
            self.figures.deaths += 1
            self.figures.wrong.append(f"the daemon on the false bus ended with {code}: {self.log.read()[-2000:]}")
        self.log.close()


def fuzz_true_bus(options, patient, rng, figures):
    fuzzer = Fuzzer(patient, rng, figures)
    warm = False
    try:
        while figures.count < options.fuzz * (FALSE_PART - 1) / FALSE_PART:
            fuzzer.step()
            if not warm and figures.count >= options.fuzz / 5:
                warm = True
                figures.before(patient)
            options.progress(figures.count, options.fuzz)
    except (Gone, Refused, TimeoutError, OSError) as problem:
        figures.wrong.append(f"{type(problem).__name__}: {problem}")
    figures.latency = quantile(fuzzer.pings)
    methods = fuzzer.methods
    fuzzer.close()
    return methods


def fuzz_false_bus(options, methods, rng, figures):
    damage = Damage(options, rng, figures)
    try:
        while figures.count < options.fuzz and damage.daemon.poll() is None:
            damage.send_some(methods)
            if rng.random() < 0.1 and not damage.answers():
                figures.wrong.append("no answer after damaged messages")
            options.progress(figures.count, options.fuzz)
    except (Gone, TimeoutError) as problem:
        figures.wrong.append(f"the false bus: {type(problem).__name__}: {problem}")
    damage.end()


def run(options):
    """Makes at least the given number of calls. Returns the results."""
    rng, figures = random.Random(options.seed), Figures("made-up calls")
    start = time.monotonic()
    with Patient(options.daemon, "--replay", str(options.replay)) as patient:
        methods = fuzz_true_bus(options, patient, rng, figures)
        if not patient.is_alive():
            figures.deaths += 1
            figures.wrong.append(patient.last_words())
        else:
            judge_growth(figures, patient)
    if not figures.deaths:
        fuzz_false_bus(options, methods, rng, figures)
    figures.seconds = time.monotonic() - start
    return figures


def judge_growth(figures, patient):
    figures.after(patient)
    if None in figures.resident:
        return
    if figures.descriptors[1] > figures.descriptors[0]:
        figures.grown.append(f"descriptors: {figures.descriptors}")
    if figures.resident[1] > figures.resident[0] + MAX_GROWTH and not patient.is_instrumented:
        figures.grown.append(f"resident bytes: {figures.resident}")
