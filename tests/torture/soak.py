# SPDX-License-Identifier: Apache-2.0
"""Simulates normal use for a given time: GPUs are added and removed one at a time, drivers are probed, overrides change, and clients of
both interfaces make calls.

Only private memory of the daemon is counted, because the proportional set size also changes when other programs use the same libraries. The
memory is measured every ten seconds. The median in the last fifth of the time is compared with the median in the second fifth, in which the daemon's
caches are already filled. The daemon must send exactly one signal for each GPU that is added or removed.
"""
import pathlib
import random
import select
import statistics
import time

import wire
from drivers import Drivers
from figures import Figures, quantile
from hardware import Bed, Machine, SLOTS
from kills import SocketDoor
from patient import Patient
from peer import BUS, NAME, Gone, Refused
from workers import judge_growth, ready

GROWTH = 1.03  # maximum growth of the memory
SAMPLED = 10  # seconds between two measurements
PAUSE = 1.5  # seconds between two events
MOST_PLUGGED = 8
FEW = 2  # memory is measured with at most this number of GPUs
APPLICATIONS = ("llama.cpp", "ollama", "torch", "whisper.cpp")
PROBED_EVERY, OVERRIDDEN_EVERY = 20, 3  # number of events between two probes, and between two changes of an override


def own_bytes(pid):
    """Returns the private memory of a process."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_"))


class Watcher:
    """Counts the signals about GPUs that were added or removed."""

    def __init__(self, patient):
        self.peer, self.seen = patient.connect(), {"InterfacesAdded": 0, "InterfacesRemoved": 0}
        self.peer.call(BUS, "/org/freedesktop/DBus", BUS, "AddMatch", "s", [f"type='signal',sender='{NAME}'"])

    def take(self):
        while self.peer.buffer or select.select([self.peer.socket], [], [], 0)[0]:
            member = self.peer.receive().fields.get(wire.MEMBER)
            if member in self.seen:
                self.seen[member] += 1
        return dict(self.seen)


class Day:
    def __init__(self, options, patient, bed, figures):
        self.options, self.patient, self.figures = options, patient, figures
        self.random = random.Random(options.seed)
        self.machine = Machine(bed, patient, figures, self.random)
        self.peer = self.machine.peer
        self.watcher, self.varlink = Watcher(patient), SocketDoor(patient)
        self.memory, self.waits = [], []

    def hot_plug(self):
        """Adds or removes a GPU; the daemon must send exactly one signal about the change."""
        before, plugged = self.watcher.take(), self.machine.plugged
        comes = not plugged or (len(plugged) < MOST_PLUGGED and self.random.random() < 0.5)
        if comes:
            self.machine.plug(self.random.choice([slot for slot in SLOTS if slot not in plugged]))
        else:
            self.machine.unplug(self.random.choice(sorted(plugged)))
        self.machine.settle(self.patient, "during the soak")
        after = self.watcher.take()
        told = (after["InterfacesAdded"] - before["InterfacesAdded"], after["InterfacesRemoved"] - before["InterfacesRemoved"])
        self.figures.outcomes["signals"] += sum(told)
        if told != ((1, 0) if comes else (0, 1)):
            self.figures.wrong.append(f"a GPU {'came' if comes else 'went'}: {told[0]} were signalled as new, {told[1]} as gone")

    def ask(self):
        start = time.monotonic()
        self.peer.manager("SelectBackend", "sa{sv}", ["default", {}])
        self.waits.append(time.monotonic() - start)
        self.varlink.client.call("Select", application="default")
        self.figures.outcomes["answers"] += 2

    def override(self):
        name = self.random.choice(APPLICATIONS)
        self.varlink.set_override(name, self.random.getrandbits(30) + 1)
        self.varlink.clear_override(name)
        self.figures.outcomes["overrides"] += 1

    def probe(self):
        self.peer.manager("Probe", "aoasa{sv}", [[], [], {}])
        ready(self.peer, self.patient)
        self.figures.outcomes["probes"] += 1

    def step(self, number):
        self.hot_plug()
        self.ask()
        if number % OVERRIDDEN_EVERY == 0:
            self.override()
        if number % PROBED_EVERY == 0:
            self.probe()
        self.figures.count += 1

    def pause(self):
        late = time.monotonic() + PAUSE
        while time.monotonic() < late:
            self.ask()
            time.sleep(0.05)

    def live(self):
        start, number = time.monotonic(), 0
        sampled = 0
        while time.monotonic() - start < self.options.soak and self.patient.is_alive():
            self.step(number)
            self.pause()
            number += 1
            # The report needs memory for each GPU, so the test measures the memory only when there are few GPUs.
            if time.monotonic() - start >= sampled and len(self.machine.plugged) <= FEW:
                sampled = time.monotonic() - start + SAMPLED
                self.memory.append(own_bytes(self.patient.pid))
            self.options.progress(int(time.monotonic() - start), int(self.options.soak))
        self.figures.seconds = time.monotonic() - start
        for address in sorted(self.machine.plugged):
            self.machine.unplug(address)
        self.machine.settle(self.patient, "in the end")

    def judge(self):
        fifth = len(self.memory) // 5
        if not fifth:
            return
        early, last = statistics.median(self.memory[fifth:2 * fifth]), statistics.median(self.memory[-fifth:])
        self.figures.outcomes["KiB at first"], self.figures.outcomes["KiB in the end"] = int(early) >> 10, int(last) >> 10
        if last > early * GROWTH and not self.patient.is_instrumented:
            self.figures.grown.append(f"memory of its own: {early:.0f} -> {last:.0f} bytes")


def run(options):
    """Simulates normal use for the given number of seconds. Returns the results."""
    figures, bed = Figures("soak"), Bed()
    drivers = Drivers(pathlib.Path(options.folder, "soak"), {})
    try:
        with Patient(options.daemon, "--worker", str(drivers.program), socket=True, environment=bed.environment()) as patient:
            try:
                day = Day(options, patient, bed, figures)
                ready(day.peer, patient)
                day.probe()
                day.override()  # opens the files that the daemon opens at its first call and keeps open
                figures.before(patient)
                day.live()
                day.judge()
                figures.latency = quantile(day.waits)
            except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError, KeyError) as problem:
                figures.wrong.append(f"{type(problem).__name__}: {problem}: {patient.last_words()[-500:]}")
            figures.deaths = 0 if patient.is_alive() else 1
            judge_growth(figures, patient)
    finally:
        bed.end()
    return figures
