# SPDX-License-Identifier: Apache-2.0
"""Generates hardware events as fast as the daemon handles them: GPUs that are added, changed and removed, up to 64 at a time, other
devices, and malformed events.

The devices are simulated with umockdev's test bed. The test measures the waiting times of a client and counts the rounds of probes. At the
end, the report must contain exactly the GPUs that are plugged in.
"""
import json
import pathlib
import random
import subprocess
import time

from calls import Client
from drivers import Drivers
from figures import Figures, quantile
from patient import Patient
from peer import Gone, Refused
from workers import judge_growth, quiet, ready

BED = pathlib.Path(__file__).with_name("test_bed.py")
SLOTS = [f"0000:{0x10 + slot:02x}:00.0" for slot in range(64)]
BURST = 5  # events between two calls; the kernel queues ten for a socket
OTHERS = {"sdx": "block", "ttyX": "tty", "eth9": "net", "input9": "input"}
MALFORMED = {"bad0": ("pci", "long"), "bad1": ("pci", "control characters"), "bad2": ("drm", "empty"), "bad3": ("pci", "no address"),
             "bad4": ("drm", "no number"), "bad5": ("drm", "no text"), "bad6": ("pci", "many")}
FULL_EVERY = 5000  # after this many events, all 64 GPUs are plugged in and removed again
SETTLED = 120  # seconds: the maximum time until the report is up to date


class Bed:
    """Controls the test bed by sending commands to the process of the test bed."""

    def __init__(self):
        self.process = subprocess.Popen(["umockdev-wrapper", "/usr/bin/python3", str(BED)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.folder, self.sent_again = self.process.stdout.readline().strip(), 0

    def do(self, *order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise AssertionError("the test bed has ended")
        self.sent_again = int(answer[1])

    def environment(self):
        return {"LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": self.folder}

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)


class Machine:
    """The devices that are plugged in: address -> [device id, revision]."""

    def __init__(self, bed, patient, figures, rng):
        self.bed, self.figures, self.random, self.plugged = bed, figures, rng, {}
        self.peer = patient.connect()
        for name, subsystem in OTHERS.items():
            self.order("other", name, subsystem)
        for name, (subsystem, kind) in MALFORMED.items():
            self.order("malformed", name, subsystem, kind)

    def order(self, *words, events=1):
        """Sends a command to the test bed, and then calls the daemon, so that the daemon has handled the events when the function returns."""
        self.bed.do(*words)
        self.figures.count += events
        self.peer.ping()

    def plug(self, address):
        device = f"0x73{self.random.randrange(256):02x}"
        self.plugged[address] = [device, "0x00"]
        self.order("plug", address, f"card{SLOTS.index(address)}", device, events=2)
        self.figures.outcomes["plugged in"] += 1

    def unplug(self, address):
        names = [f"card{SLOTS.index(address)}", address]
        self.order("events", [[name, "remove"] for name in names], events=2)
        self.order("unplug", *names, events=0)
        del self.plugged[address]
        self.figures.outcomes["unplugged"] += 1

    def change(self):
        address = self.random.choice(sorted(self.plugged))
        if self.random.random() < 0.2:
            self.plugged[address][1] = f"0x{self.random.randrange(256):02x}"
            self.order("set", address, "revision", self.plugged[address][1], events=0)
        self.order("events", [[f"card{SLOTS.index(address)}", "change"]] * (BURST - 1) + [[address, "change"]], events=BURST)
        self.figures.outcomes["changes"] += BURST

    def of_others(self, names):
        actions = ["add", "change", "remove", "bind", "unbind", "move", "online", "nonsense"]
        self.order("events", [[self.random.choice(sorted(names)), self.random.choice(actions)] for _ in range(BURST)], events=BURST)
        self.figures.outcomes["of other devices" if names is OTHERS else "malformed"] += BURST

    def everything_in_and_out(self):
        for address in SLOTS:
            if address not in self.plugged:
                self.plug(address)
        for address in self.random.sample(SLOTS, len(SLOTS) - 2):
            self.unplug(address)

    def step(self):
        kind, spare = self.random.random(), [address for address in SLOTS if address not in self.plugged]
        if not self.plugged or (kind < 0.04 and len(self.plugged) < 8):
            self.plug(self.random.choice(spare))
        elif kind < 0.08:
            self.unplug(self.random.choice(sorted(self.plugged)))
        elif kind < 0.6:
            self.change()
        else:
            self.of_others(OTHERS if kind < 0.8 else MALFORMED)

    def reported(self):
        """Returns the GPUs in the report, in the same form as `plugged`."""
        found = {}
        for gpu in json.loads(self.peer.manager("Describe")[0])["gpus"]:
            identity = gpu["pci"]
            found[identity["address"]] = [f"0x{int(identity['device_id'], 16):04x}", f"0x{int(identity['revision'], 16):02x}"]
        return found

    def settle(self, patient, what):
        late = time.monotonic() + SETTLED
        while (found := self.reported()) != self.plugged and time.monotonic() < late:
            time.sleep(0.1)
        if found != self.plugged:
            self.figures.wrong.append(f"{what}: the report has {found}, and plugged in is {self.plugged}")
        ready(self.peer, patient)
        if len(self.peer.manager("ListGpus", "a{sv}", [{}])[0]) != len(self.plugged):
            self.figures.wrong.append(f"{what}: ListGpus has others than the report")
        quiet(patient)


def storm(options, machine, patient, drivers, figures):
    rounds, used, start = drivers.launches("pci"), patient.processor_seconds(), time.monotonic()
    figures.count, full = 0, 0
    while figures.count < options.storm and patient.is_alive():
        if figures.count >= full:
            full += FULL_EVERY
            machine.everything_in_and_out()
        machine.step()
        options.progress(figures.count, options.storm)
    lasted = time.monotonic() - start
    machine.settle(patient, "in the end")
    rounds = drivers.launches("pci") - rounds
    # As engine/system_events.h describes, the daemon waits until no event has arrived for some time. This time increases up to five seconds, and the
    # daemon waits for at most thirty seconds.
    most = 4 + (time.monotonic() - start) / 5
    figures.outcomes["rounds of probes"], figures.outcomes["sent again"] = rounds, machine.bed.sent_again
    if not 0 < rounds <= most:
        figures.wrong.append(f"{rounds} rounds of probes in {lasted:.0f} s, at most {most:.0f} are right")
    figures.processor = patient.processor_seconds() - used
    figures.seconds = lasted


def run(options):
    """Generates at least the given number of events. Returns the results."""
    figures, bed = Figures("hardware events"), Bed()
    drivers = Drivers(pathlib.Path(options.folder, "storm"), {})
    try:
        with Patient(options.daemon, "--worker", str(drivers.program), environment=bed.environment()) as patient:
            client = None
            try:
                machine = Machine(bed, patient, figures, random.Random(options.seed))
                ready(machine.peer, patient)
                machine.everything_in_and_out()
                machine.settle(patient, "before the storm")
                client = Client(patient.bus.path)
                figures.before(patient)
                storm(options, machine, patient, drivers, figures)
            except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError, KeyError) as problem:
                figures.wrong.append(f"{type(problem).__name__}: {problem}: {patient.last_words()[-500:]}")
            if client:
                waited, problem = client.end()
                figures.latency = quantile(waited)
                figures.wrong += [f"the client beside it: {problem}"] if problem else []
            figures.deaths = 0 if patient.is_alive() else 1
            judge_growth(figures, patient)
    finally:
        bed.end()
    return figures
