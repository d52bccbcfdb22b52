# SPDX-License-Identifier: Apache-2.0
"""Simulates suspends and resumes on a machine that cannot sleep.

logind's signal PrepareForSleep is sent in pairs ("true" and "false"), without the second signal of a pair, twice, and many times in a row. Some
signals are sent while the daemon is stopped (SIGSTOP), as on a suspended machine, and some while probes run and clients wait. Between "true" and
"false", no driver may be probed. Every call must be answered. After the last "false", all results must be the same as before the suspends.
"""
import pathlib
import random
import signal
import threading
import time

import drivers
import wire
from figures import Figures, quantile
from patient import Patient
from peer import BUS, MANAGER, NAME, ROOT, Gone, Refused
from varlink import Varlink
from workers import judge_growth, quiet, ready

LOGIN = "org.freedesktop.login1"
STOPPED = 1.5  # seconds: the maximum time for which the daemon is stopped
STOPPED_LONG, LONG_EVERY = 5, 25  # seconds that are longer than a client's timeout, and how often they are used
PATIENCE = 60
STORM = 200  # number of signals
DEADLINE_MS = 20_000  # a long time limit, because workers continue while the daemon is stopped


class Login:
    """A fake logind, which sends the signals for which the daemon waits."""

    def __init__(self, patient):
        self.peer, self.count = patient.connect(), 0
        self.peer.call(BUS, "/org/freedesktop/DBus", BUS, "RequestName", "su", [LOGIN, 4])

    def tell(self, is_about_to):
        fields = {wire.PATH: "/org/freedesktop/login1", wire.INTERFACE: LOGIN + ".Manager", wire.MEMBER: "PrepareForSleep",
                  wire.SIGNATURE: "b"}
        self.peer.send(wire.message(wire.SIGNAL, self.peer.next_serial(), fields, wire.body_of("b", [is_about_to])))
        self.count += 1

    def settled(self):
        """Waits until the daemon has received the signals. The bus delivers all messages from one connection in the order in which they were sent."""
        self.peer.call(NAME, ROOT, BUS + ".Peer", "Ping", timeout=PATIENCE)


class Waiter(threading.Thread):
    """A client that makes calls during the suspends."""

    def __init__(self, patient, figures, turn):
        super().__init__(daemon=True)
        self.figures, self.turn, self.stopped, self.waits = figures, turn, threading.Event(), []
        self.ask = self.by_bus(patient) if turn % 2 else self.by_socket(patient)

    @staticmethod
    def by_bus(patient):
        peer = patient.connect()
        return lambda: peer.manager("SelectBackend", "sa{sv}", ["default", {}], timeout=PATIENCE)[0]["Backend"]

    @staticmethod
    def by_socket(patient):
        client = Varlink(patient.socket_path)
        return lambda: client.call("Select")["backend"]

    def run(self):
        try:
            while not self.stopped.wait(0.01):
                start = time.monotonic()
                backend = self.ask()
                self.waits.append(time.monotonic() - start)
                if backend != "cuda":
                    self.figures.wrong.append(f"a client was answered {backend}")
        except Exception as problem:  # noqa: BLE001: any error is reported
            self.figures.wrong.append(f"client {self.turn}: {problem!r}")

    def end(self):
        self.stopped.set()
        self.join(PATIENCE)
        if self.is_alive():
            self.figures.wrong.append(f"client {self.turn} is not answered")
        return self.waits


def outcomes_of(peer):
    return peer.property("State"), sorted((probe["Api"], probe["Outcome"]) for probe in peer.manager(
        "Probe", "aoasa{sv}", [[], [], {}], timeout=PATIENCE)[0]["Probes"])


class Nights:
    def __init__(self, patient, machine, figures, rng):
        self.patient, self.machine, self.figures, self.random = patient, machine, figures, rng
        self.peer, self.prober, self.login = patient.connect(), patient.connect(), Login(patient)
        self.is_asleep, self.unanswered, self.rounds = False, [], 0

    def tell(self, *words):
        for is_about_to in words:
            self.login.tell(is_about_to)
        self.login.settled()
        woke = sum(before and not after for before, after in zip([self.is_asleep, *words], words))
        self.rounds += woke  # deferred probes start after the resume
        self.is_asleep = words[-1]

    def probe(self):
        """Starts a probe without waiting for the answer."""
        self.unanswered.append(self.prober.ask(NAME, ROOT, MANAGER, "Probe", "aoasa{sv}", [[], [], {}]))
        self.rounds += 1

    def stop(self):
        is_long = self.figures.count % LONG_EVERY == LONG_EVERY - 1
        self.patient.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_LONG if is_long else self.random.uniform(0.01, STOPPED))
        self.patient.process.send_signal(signal.SIGCONT)
        self.figures.outcomes["stops"] += 1

    def asleep(self):
        """Checks that no worker is started before the next "false", and that running workers end."""
        self.login.settled()
        quiet(self.patient)
        before = self.machine.launches()
        if self.random.random() < 0.5:
            self.probe()
            self.login.settled()
        self.stop()
        self.peer.ping()
        if (further := self.machine.launches() - before) and self.is_asleep:
            self.figures.wrong.append(f"night {self.figures.count}: {further} workers began while the machine was about to sleep")

    def night(self):
        kind = self.random.choice(["whole", "whole", "no false", "no true", "twice", "storm"])
        self.figures.outcomes[kind] += 1
        if self.random.random() < 0.5:
            self.probe()  # so that a probe is running when the machine suspends
        if kind == "no true":
            self.stop()
            self.tell(False)
        elif kind == "storm":
            self.tell(*(self.random.random() < 0.5 for _ in range(STORM)))
            self.stop()
        else:
            self.tell(*([True, True] if kind == "twice" else [True]))
            self.asleep()
            if kind != "no false":
                self.tell(*([False, False] if kind == "twice" else [False]))
        self.figures.count += 1

    def morning(self):
        """Checks that after the last "false" every call is answered and every driver was probed."""
        self.tell(False)
        waiting = set(self.unanswered)
        while waiting:
            message = self.prober.receive(PATIENCE)
            if message.answers in waiting:
                waiting.discard(message.answers)
                self.figures.outcomes["probes refused" if message.error else "probes answered"] += 1
        self.unanswered.clear()
        ready(self.peer, self.patient)
        quiet(self.patient)


def judge_end(nights, before, launches, targets):
    figures = nights.figures
    nights.morning()
    if (after := outcomes_of(nights.peer)) != before:
        figures.wrong.append(f"afterwards {after}, not {before}")
    # In a round of probes, each driver is probed once, and a second time if its answer differs from the last answer.
    most = (nights.rounds + 1) * targets * 2
    figures.outcomes["workers"] = nights.machine.launches() - launches
    if figures.outcomes["workers"] > most:
        figures.wrong.append(f"{figures.outcomes['workers']} workers in {nights.rounds} rounds")
    figures.outcomes["signals"] = nights.login.count


def run(options):
    """Simulates the given number of suspends. Returns the results."""
    figures, folder = Figures("sleeps"), pathlib.Path(options.folder, "sleeps")
    machine = drivers.h200(folder)
    with Patient(options.daemon, "--worker", str(machine.program), f"--deadline-ms={DEADLINE_MS}", socket=True) as patient:
        start, clients, waits = time.monotonic(), [], []
        try:
            nights = Nights(patient, machine, figures, random.Random(options.seed))
            ready(nights.peer, patient)
            before, launches = outcomes_of(nights.peer), machine.launches()
            quiet(patient)
            clients = [Waiter(patient, figures, turn) for turn in range(4)]
            for client in clients:
                client.start()
            figures.before(patient)
            while figures.count < options.sleeps and patient.is_alive():
                nights.night()
                if figures.count % 10 == 0:
                    nights.morning()
                options.progress(figures.count, options.sleeps)
            judge_end(nights, before, launches, len(before[1]))
        except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError) as problem:
            figures.wrong.append(f"{type(problem).__name__}: {problem}: {patient.last_words()[-500:]}")
        finally:
            patient.process.send_signal(signal.SIGCONT)
        for client in clients:
            waits += client.end()
        figures.seconds, figures.latency = time.monotonic() - start, quantile(waits)
        figures.deaths = 0 if patient.is_alive() else 1
        judge_growth(figures, patient)
    return figures
