# SPDX-License-Identifier: Apache-2.0
"""Runs probes whose workers crash, hang, send too much or wrong data, or are killed, while a client makes calls."""
import os
import pathlib
import random
import shutil
import signal
import threading
import time
import traceback

import device_memory
from figures import Figures, quantile
from patient import Patient

# A driver that has crashed or hung twice is in quarantine, and later probes skip this driver.
ANSWERED, FAILED, CRASHED, LATE = {"answered"}, {"failed"}, {"crashed", "skipped"}, {"timed-out", "skipped"}
# The actions of tests/fakes/worker/hostile_worker.cpp: how often each action occurs in 1000 workers, and the outcomes that the daemon may report.
SCRIPTS = {
    "good": (150, ANSWERED), "slowly": (230, ANSWERED), "impossible": (50, ANSWERED), "stay": (50, ANSWERED),
    "child-holds-pipes": (20, ANSWERED), "daemon-holds-pipes": (20, ANSWERED), "fork-many": (10, ANSWERED),
    "crash": (60, CRASHED), "abort": (60, CRASHED), "silent": (60, FAILED), "exit-7": (50, FAILED),
    "unfinished": (50, FAILED), "garbage": (50, FAILED), "torn": (40, FAILED), "flipped": (40, FAILED),
    "answer-then-more": (10, FAILED), "flood-frames": (10, FAILED), "flood-phases": (10, FAILED),
    "print-and-fail": (18, FAILED), "hang": (4, LATE), "stop": (4, LATE), "flood-output": (2, LATE),
    "close-everything": (2, LATE | FAILED),
}
KILLED_AFTER = 0.25  # seconds: the maximum time until a worker is killed
KILLED_PART = 0.15
MAX_GROWTH = 4 << 20  # bytes of resident memory


class Killer(threading.Thread):
    """Ends children of the daemon by SIGKILL at random moments."""

    def __init__(self, patient, rng, within, part):
        super().__init__(daemon=True)
        self.patient, self.random, self.within, self.part = patient, rng, within, part
        self.kills, self.stopped = 0, threading.Event()

    def run(self):
        due, seen = {}, set()
        while not self.stopped.wait(0.002):
            now, children = time.monotonic(), set(self.patient.children())
            for pid in sorted(children - seen):
                if self.random.random() < self.part:
                    due[pid] = now + self.random.uniform(0, self.within)
            seen = children
            for pid in [pid for pid, when in due.items() if when <= now]:
                del due[pid]
                self._kill(pid)

    def _kill(self, pid):
        # Send the signal to the process through a pidfd, because another process may have the same id already.
        if pid not in self.patient.children():
            return
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            if pid in self.patient.children():
                signal.pidfd_send_signal(process, signal.SIGKILL)
                self.kills += 1
        except ProcessLookupError:
            pass
        finally:
            os.close(process)

    def stop(self):
        self.stopped.set()
        self.join()


class Client(threading.Thread):
    """A client that repeatedly requests cached answers."""

    def __init__(self, patient):
        super().__init__(daemon=True)
        self.patient, self.times, self.problem, self.stopped = patient, [], None, threading.Event()

    def run(self):
        peer = self.patient.connect()
        try:
            while not self.stopped.wait(0.02):
                start = time.monotonic()
                peer.manager("SelectBackend", "sa{sv}", ["default", {}])
                self.times.append(time.monotonic() - start)
        except Exception as problem:  # noqa: BLE001: any error is reported
            self.problem = problem
        finally:
            peer.close()

    def stop(self):
        self.stopped.set()
        self.join()


def lay_out(folder, worker, rng):
    """Writes the fake worker, and the plan of its actions, to the folder."""
    words = [script for script, (weight, _) in SCRIPTS.items() for _ in range(weight)]
    rng.shuffle(words)
    (folder / "plan").write_text("\n".join(words) + "\n", encoding="ascii")
    shutil.copy(worker, folder / "worker")
    return str(folder / "worker")


class Done:
    """Reads the notes in which workers record the actions that they have begun."""

    def __init__(self, folder):
        self.path, self.at, self.count = folder / "done", 0, 0

    def new(self):
        """Returns (API, driver) -> action of the last worker for this driver."""
        try:
            with open(self.path, encoding="ascii") as done:
                done.seek(self.at)
                lines = done.read().splitlines()
                self.at = done.tell()
        except FileNotFoundError:
            return {}
        self.count += len(lines)
        found = {}
        for line in lines:
            _number, api, script, driver = line.split(" ", 3)
            found[api, driver] = script
        return found


def ready(peer, patient, within=120):
    late = time.monotonic() + within
    while peer.property("State") in ("starting", "probing"):
        if time.monotonic() > late or not patient.is_alive():
            raise AssertionError(f"the daemon has not become ready: {patient.last_words()}")
        time.sleep(0.05)


class Round:
    """Calls Probe and checks the answer."""

    def __init__(self, figures, killer):
        self.figures, self.killer = figures, killer

    def run(self, peer):
        peer.manager("ClearQuarantine", "a{sv}", [{"all": ("b", True)}])
        answer = peer.manager("Probe", "aoasa{sv}", [[], [], {}], timeout=120)[0]
        return {(probe["Api"], probe.get("Driver", "")): probe for probe in answer["Probes"]}

    def judge_scripts(self, probes, scripts):
        for key, probe in probes.items():
            outcome = probe["Outcome"]
            self.figures.outcomes[outcome] += 1
            allowed = SCRIPTS[scripts[key]][1] if key in scripts else {"skipped"}
            if outcome == "timed-out" and outcome not in allowed:
                self.figures.late += 1  # the machine is busy
            elif outcome not in allowed and not (self.killer.kills and outcome in CRASHED):
                self.figures.wrong.append(f"{'/'.join(key)}: {scripts.get(key)} was {outcome}")

    def judge_real(self, probes, usual):
        for key, probe in probes.items():
            outcome = probe["Outcome"]
            self.figures.outcomes[outcome] += 1
            if outcome == "absent" and usual[key]["Outcome"] == "answered":
                self.figures.wrong.append(f"{'/'.join(key)}: absent, and it is there")


def quiet(patient, within=8):
    """Waits until the daemon has no children, or until the time limit is over. Returns the remaining children."""
    late = time.monotonic() + within
    while patient.children() and time.monotonic() < late:
        time.sleep(0.05)
    return patient.children()


def judge_growth(figures, patient):
    figures.children = len(quiet(patient))
    if figures.descriptors[0] is not None:
        patient.settled_descriptors(figures.descriptors[0])  # the daemon may notice the end of a child later
    figures.after(patient)
    if figures.children:
        figures.grown.append(f"{figures.children} children are left")
    if None in figures.descriptors:
        return  # the test ended before memory and descriptors were stable
    if figures.descriptors[1] > figures.descriptors[0]:
        figures.grown.append(f"descriptors: {figures.descriptors}")
    if figures.resident[1] > figures.resident[0] + MAX_GROWTH and not patient.is_instrumented:
        figures.grown.append(f"resident bytes: {figures.resident}")


def run(options):
    """Starts at least the given number of workers and returns the results. With `options.real`, the machine's real workers are used."""
    rng = random.Random(options.seed)
    figures = Figures("runs")
    arguments = ["--deadline-ms", str(options.deadline_ms)]
    memory = device_memory.used() if options.real else None
    work = pathlib.Path(options.folder)
    if not options.real:
        arguments += ["--worker", lay_out(work, options.worker, rng)]
    with Patient(options.daemon, *arguments) as patient:
        peer = patient.connect()
        ready(peer, patient)
        done = Done(work)
        killer = Killer(patient, rng, KILLED_AFTER, KILLED_PART)
        one = Round(figures, killer)
        usual = one.run(peer)
        done.new()
        if options.real:
            longest = max(probe.get("DurationUsec", 0) for probe in usual.values()) / 1e6
            killer.within, killer.part = max(longest, 0.05), 0.5
        torment(options, patient, peer, one, done, usual)
        peer.close()
        judge_growth(figures, patient)
    if options.real:
        figures.compare_memory(memory, device_memory.settled(memory))
    return figures


def torment(options, patient, peer, one, done, usual):
    figures, killer, client = one.figures, one.killer, Client(patient)
    start, warm, asked = time.monotonic(), False, done.count
    killer.start()
    client.start()
    try:
        while figures.count < options.runs:
            probes = one.run(peer)
            if options.real:
                one.judge_real(probes, usual)
                figures.count += len(probes)
            else:
                one.judge_scripts(probes, done.new())
                figures.count = done.count - asked
            if not warm and figures.count >= options.runs / 10:
                # The daemon's memory and number of descriptors are not stable before this point.
                warm = True
                quiet(patient)
                figures.before(patient)
            options.progress(figures.count, options.runs)
    except Exception as problem:  # noqa: BLE001: an error is one of the results
        figures.wrong.append(f"{type(problem).__name__}: {problem}: {traceback.format_exc(limit=-3)}")
    killer.stop()
    client.stop()
    figures.seconds, figures.kills = time.monotonic() - start, killer.kills
    figures.deaths = 0 if patient.is_alive() else 1
    figures.latency = quantile(client.times)
    if client.problem:
        figures.wrong.append(f"the client beside it: {client.problem!r}")
    if figures.deaths:
        figures.wrong.append(patient.last_words())
