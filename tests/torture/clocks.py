# SPDX-License-Identifier: Apache-2.0
"""Changes the wall clock while clients make calls, reported failures expire and a probe exceeds its time limit.

wall_clock.c changes the wall clock that the daemon reads, but not the monotonic clock.
"""
import json
import mmap
import pathlib
import random
import re
import struct
import subprocess
import time
import traceback

import drivers
from figures import Figures, quantile
from kills import BusInterface, write_applications
from patient import Patient
from peer import BUS, MANAGER, NAME, ROOT, Gone, Refused
from varlink import Varlink
from workers import quiet, ready

SOURCE = pathlib.Path(__file__).with_name("wall_clock.c")
APPLICATIONS = 24
DAY, YEAR = 86400, 365 * 86400
LASTS = 7 * DAY  # lifetime of a reported failure: docs/applications.md
SLACK = 5  # seconds before and after the expiry in which both results are accepted
DEADLINE_MS = 500
LATEST = 20  # seconds: the maximum duration of a probe with this time limit on a busy machine
IDLE, BUSY = 0.1, 0.5  # seconds without a call, and the maximum processor usage of an idle daemon
INSTANT = re.compile(r"(created|at|since)_?usec$", re.IGNORECASE)  # matches the keys of instants in documents and on the bus


class WallClock:
    """The daemon's wall clock: the true time plus an offset in seconds."""

    def __init__(self, folder):
        self.path, self.offset, self.shown, self.jumps = pathlib.Path(folder, "clock"), 0, [], 0
        self.library = pathlib.Path(folder, "wall_clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", self.library, SOURCE], check=True)
        self.path.write_bytes(bytes(8))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 8)
        self.set(0)

    def environment(self):
        return {"LD_PRELOAD": str(self.library), "WALL_CLOCK": str(self.path)}

    def now(self):
        return time.time() + self.offset

    def set(self, offset):
        start = time.time()
        self.memory[:] = struct.pack("q", offset * 10**9)
        if self.shown:
            self.shown[-1] = (*self.shown[-1][:2], time.time())
        self.offset = offset
        self.shown.append((offset, start, None))
        self.jumps += 1

    def has_shown(self, instant):
        """Returns whether the clock ever showed this time (seconds since the epoch)."""
        return any(start - 1 <= instant - offset <= (end or time.time()) + 1 for offset, start, end in self.shown)


def jumps(rng, now):
    """Returns the sequence of offsets for one step. `now` is the current offset."""
    today = -time.time()
    kind = rng.randrange(7)
    if kind == 0:
        return [now + rng.randint(1, 30) * DAY]
    if kind == 1:
        return [now + rng.randint(1, 40) * YEAR]
    if kind == 2:
        return [now - rng.randint(1, 30) * DAY]
    if kind == 3:
        return [int(today) - rng.randint(1, 60 * YEAR)]  # before 1970
    if kind == 4:
        return [int(today) + 2**31 + rng.randint(0, 60 * YEAR)]  # past January 2038
    if kind == 5:
        return [now + rng.randint(-2, 2) for _ in range(20)]
    return [0]


def bounded(offset):
    """Returns the offset, limited so that the clock shows a time between 1900 and 2200."""
    now = int(time.time())
    return max(-70 * YEAR - now, min(230 * YEAR - now, offset))


def instants(value, path=""):
    """Yields (path, value) for every instant in an answer."""
    if isinstance(value, dict):
        for key, each in value.items():
            if INSTANT.search(key):
                yield f"{path}.{key}", each
            yield from instants(each, f"{path}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            name = "/".join(str(each[key]) for key in ("api", "driver", "id") if key in each) if isinstance(each, dict) else ""
            yield from instants(each, f"{path}[{name or place}]")


class Steps:
    def __init__(self, patient, clock, machine, figures, rng):
        self.patient, self.clock, self.machine, self.figures, self.random = patient, clock, machine, figures, rng
        self.reported, self.forgotten, self.known, self.waits = {}, set(), set(), []
        self.busiest = 0.0  # maximum processor usage of the idle daemon
        self.connect()

    def connect(self):
        self.peer, self.socket, self.interface = self.patient.connect(), Varlink(self.patient.socket_path), BusInterface(self.patient)

    def disconnect(self):
        for one in (self.peer, self.socket, self.interface):
            one.close()

    def wrong(self, text):
        self.figures.wrong.append(f"step {self.figures.count}, at {self.clock.offset:+d} s: {text}")

    def timed(self, ask, *arguments, **more):
        start = time.monotonic()
        answer = ask(*arguments, **more)
        self.waits.append(time.monotonic() - start)
        return answer

    def ask(self):
        if (chosen := self.timed(self.peer.manager, "SelectBackend", "sa{sv}", ["default", {}])[0]["Backend"]) != "cuda":
            self.wrong(f"chose {chosen}")
        if (chosen := self.timed(self.socket.call, "Select")["backend"]) != "cuda":
            self.wrong(f"chose {chosen} on the socket")
        if (gpus := self.timed(self.socket.call, "ListGpus")["gpus"]) and len(gpus) != 1:
            self.wrong(f"{len(gpus)} GPUs")
        for document in (json.loads(self.timed(self.peer.manager, "Describe")[0]), self.socket.call("ListQuarantine"),
                         self.socket.call("ListOverrides"), self.socket.call("GetMemory", gpu=gpus[0]["id"]),
                         self.peer.manager("ListQuarantine"), self.peer.manager("ListOverrides"),
                         self.peer.call(NAME, ROOT, BUS + ".ObjectManager", "GetManagedObjects")):
            self.judge_instants(document)
        self.judge_override()

    def judge_instants(self, document):
        for path, instant in instants(document):
            if instant is None:
                if path in self.known:
                    self.wrong(f"{path} is null, and was known before")
                continue
            self.known.add(path)
            self.figures.outcomes["instants"] += 1
            if not self.clock.has_shown(instant / 1e6):
                self.wrong(f"{path} is {instant}, which the clock never showed")

    def judge_override(self):
        rule = self.peer.manager("ListOverrides")[0].get("torch", {}).get("Rule")
        if rule != {"deny": ["vulkan"]}:
            self.wrong(f"the override is {rule}")

    def report(self):
        name = f"torture-{self.random.randrange(APPLICATIONS)}"
        before = self.clock.now()
        # The daemon deletes expired failures when a failure is reported. Setting the clock back does not restore deleted failures.
        self.forgotten |= {other for other, at in self.reported.items() if abs(at - before) >= LASTS}
        self.interface.report(name, 1)
        self.reported[name] = before
        self.forgotten.discard(name)
        self.figures.outcomes["failures reported"] += 1

    def counts(self, name):
        answer = self.timed(self.peer.manager, "SelectBackend", "sa{sv}", [name, {"explain": ("b", True)}])[0]
        return any(reason["Code"] == "reported-failed" for candidate in answer["Candidates"] for reason in candidate.get("Reasons", []))

    def judge_expiry(self):
        """Checks that failures count until they expire. If a failure is more than LASTS in the future, it was reported before the clock was set back.
        The age of this failure is unknown, so the daemon must ignore the failure."""
        now = self.clock.now()
        for name, at in self.reported.items():
            counts, age = self.counts(name), now - at
            if name in self.forgotten:
                if counts:
                    self.wrong(f"{name} was expired and counts again")
            elif abs(abs(age) - LASTS) > SLACK and counts != (abs(age) < LASTS):
                self.wrong(f"{name}, {age / DAY:.1f} days old, {'counts' if counts else 'does not count'}")
            else:
                self.figures.outcomes["failures that count" if counts else "expired failures"] += 1

    def jump(self):
        for offset in jumps(self.random, self.clock.offset):
            self.clock.set(bounded(offset))
            self.timed(self.peer.ping)

    def probe(self):
        """Starts a probe that hangs, and changes the clock during the probe."""
        self.peer.manager("ClearQuarantine", "a{sv}", [{"all": ("b", True)}])
        start = time.monotonic()
        serial = self.peer.ask(NAME, ROOT, MANAGER, "Probe", "aoasa{sv}", [[], ["level_zero", "cuda"], {}])
        for offset in jumps(self.random, self.clock.offset):
            self.clock.set(bounded(offset))
            self.timed(self.socket.call, "Select")
        told = self.peer.reply_to(serial).values()[0]
        lasted = time.monotonic() - start
        outcomes = {probe["Api"]: probe["Outcome"] for probe in told["Probes"]}
        if outcomes != {"level_zero": "timed-out", "cuda": "answered"}:
            self.wrong(f"probes: {outcomes}")
        if not DEADLINE_MS / 1000 * 0.9 <= lasted <= LATEST:
            self.wrong(f"a probe with a deadline of {DEADLINE_MS} ms took {lasted:.1f} s")
        self.figures.outcomes["probes with deadline"] += 1

    def restart(self):
        self.disconnect()
        if self.random.random() < 0.5:
            self.patient.kill()
        elif status := self.patient.terminate():
            self.wrong(f"ended with {status} after SIGTERM")
        self.patient.start()
        self.connect()
        ready(self.peer, self.patient)
        self.known.clear()
        self.figures.outcomes["restarts"] += 1

    def rest(self, seconds=IDLE):
        used = self.patient.processor_seconds()
        time.sleep(seconds)
        used = self.patient.processor_seconds() - used
        self.busiest = max(self.busiest, used / seconds)
        if used > max(0.05, BUSY * seconds):
            self.wrong(f"{used:.2f} s of processor time in {seconds} s at rest")

    def step(self):
        number = self.figures.count
        self.jump()
        self.judge_expiry()
        self.report()
        self.ask()
        if number % 4 == 1:
            self.probe()
        if number % 12 == 7:
            self.restart()
        quiet(self.patient)
        self.rest()
        self.figures.count += 1


def run(options):
    """Runs the given number of steps and returns the results. Each step is a jump of the clock or a series of small jumps."""
    figures, folder = Figures("jumps of the clock"), pathlib.Path(options.folder, "clocks")
    folder.mkdir()
    machine, clock = drivers.h200(folder / "drivers"), WallClock(folder)
    machine.hang("level_zero")
    applications = write_applications(folder, [f"torture-{number}" for number in range(APPLICATIONS)])
    with Patient(options.daemon, "--worker", str(machine.program), "--applications", str(applications), f"--deadline-ms={DEADLINE_MS}",
                 socket=True, cache=True, environment=clock.environment()) as patient:
        start, waits = time.monotonic(), []
        try:
            steps = Steps(patient, clock, machine, figures, random.Random(options.seed))
            waits = steps.waits
            ready(steps.peer, patient)
            steps.peer.manager("SetOverride", "sa{sv}", ["torch", {"deny": ("as", ["vulkan"])}])
            while figures.count < options.clock and patient.is_alive():
                steps.step()
                options.progress(figures.count, options.clock)
            steps.restart()
            steps.ask()
            quiet(patient)
            steps.rest(2)
            figures.outcomes["jumps"] = clock.jumps
            figures.outcomes["% of a processor at most at rest"] = round(100 * steps.busiest)
            steps.disconnect()
        except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError, KeyError) as problem:
            figures.wrong.append(f"{traceback.format_exc(limit=-4)}: {patient.last_words()[-500:]}")
        figures.seconds, figures.latency = time.monotonic() - start, quantile(waits)
        figures.deaths = 0 if patient.is_alive() else 1
    return figures
