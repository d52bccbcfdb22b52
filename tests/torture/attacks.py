# SPDX-License-Identifier: Apache-2.0
"""Runs attacks by a driver, chosen from the table in tests/escape, while two clients make calls."""
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import socket
import sys
import tempfile
import time

from figures import Figures, quantile
from patient import Patient
from peer import Peer
from workers import judge_growth, quiet, ready

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE_MS = 8000  # milliseconds; on a busy machine, drivers that are slowed down on purpose must still answer in this time
CALM = 3  # seconds without an attack
ASKED = ["cuda", "nvml", "level_zero", "opencl", "vulkan"]
QUESTION = b'{"method":"org.gpuprobe.Select","parameters":{"application":"default"}}\0'


class BusClient:
    def __init__(self, path):
        self.peer = Peer(path)

    def ask(self):
        self.peer.manager("SelectBackend", "sa{sv}", ["default", {}])


class SocketClient:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)

    def ask(self):
        self.socket.sendall(QUESTION)
        answer = b""
        while not answer.endswith(b"\0"):
            if not (piece := self.socket.recv(65536)):
                raise ConnectionError("the daemon has closed its socket")
            answer += piece
        if b'"error"' in answer:
            raise ValueError(answer[:200])


def become(user):
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def ask_regularly(kind, path, user, stop, waits):
    """Makes calls in a separate process, so that the torture program does not affect the waiting times."""
    waited, problem = [], None
    try:
        become(user)
        client = kind(path)
        while not stop.is_set():
            start = time.monotonic()
            client.ask()
            waited.append((start, time.monotonic() - start))
            time.sleep(0.005)
    except Exception as error:  # noqa: BLE001: any error is reported
        problem = repr(error)
    waits.put((waited, problem))


class Client:
    """A client that requests cached answers through one interface."""

    def __init__(self, kind, path, user=None):
        self.stop, self.waits = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=ask_regularly, args=(kind, path, user, self.stop, self.waits), daemon=True)
        self.process.start()

    def end(self):
        """Returns [(time of the call, seconds until the answer)] and the errors."""
        self.stop.set()
        try:
            return self.waits.get(timeout=40)
        finally:
            self.process.kill()
            self.process.join()


def table_and_world(options):
    """Loads tests/escape, whose modules read the paths of the built programs from the environment."""
    os.environ.update(GPUPROBE_BIN=str(pathlib.Path(options.daemon).parent), GPUPROBE_SOURCE=str(ROOT),
                      GPUPROBE_FAKES=str(options.bin.resolve() / "fakes"))
    sys.path[:0] = [str(ROOT / "tests/escape"), str(ROOT / "tests/integration/bus")]
    import escape_test
    import victims
    return escape_test, victims


def drawn(rows, count, rng):
    """Yields the given number of attacks in random order, each equally often."""
    while count > 0:
        turn = rng.sample(rows, len(rows))
        yield from turn[:count]
        count -= len(turn)


class Siege:
    """Runs a daemon in the environment of the escape tests."""

    def __init__(self, patient, peer, escape, victims, world):
        self.patient, self.peer, self.escape, self.victims, self.world = patient, peer, escape, victims, world
        self.seen = {}

    def ask(self, name, pace="-"):
        self.world.choose(name, pace)
        self.watch = self.victims.Watch(f"{self.world.victims}.peers", lambda: self.victims.descendants(self.patient.pid),
                                        self.seen)
        self.world.describe(name, self.patient.pid, bus=f"unix:path={self.patient.bus.path}",
                            varlink=f"{self.patient.folder}/varlink", state=f"{self.patient.folder}/state")
        try:
            self.peer.manager("ClearQuarantine", "a{sv}", [{"all": ("b", True)}])
            self.peer.manager("Probe", "aoasa{sv}", [[], ASKED, {}], timeout=60)
            return json.loads(self.peer.manager("Describe")[0])
        finally:
            self.watch.end()

    def attack(self, row, calm, figures):
        """Runs an attack. Returns the times at which the attack started and ended."""
        start = time.monotonic()
        report = self.ask(row.name, "slow" if row.beside else "-")
        end = time.monotonic()
        figures.outcomes[self.escape.own(report)["outcome"]] += 1
        problems = self.escape.judged(row, calm, report) + self.world.changes(self.watch)
        figures.wrong += [f"{row.name}: {problem}" for problem in dict.fromkeys(problems)]
        return start, end


def besiege(options, siege, figures):
    """Yields (name, start, end) of each attack, preceded by a period without an attack."""
    calm = siege.escape.others(siege.ask("none"))
    start = time.monotonic()
    time.sleep(CALM)
    times = [("(nothing)", start, time.monotonic())]
    start = time.monotonic()
    for _ in range(3):
        siege.ask("none")
    times.append(("(a driver that fails)", start, time.monotonic()))
    quiet(siege.patient)
    figures.before(siege.patient)
    rows = [row for row in siege.escape.ATTACKS if not siege.escape.ONLY or row.name in siege.escape.ONLY]
    for row in drawn(rows, options.attacks, random.Random(options.seed)):
        times.append((row.name, *siege.attack(row, calm, figures)))
        figures.count += 1
        options.progress(figures.count, options.attacks)
    return times


def waits_by_attack(times, clients):
    """Returns the rows of a table: the waiting times of each interface's client, in milliseconds, during each attack."""
    rows = {}
    for name, start, end in times:
        row = rows.setdefault(name, {})
        for interface, waited in clients.items():
            row.setdefault(interface, []).extend(seconds for when, seconds in waited if start <= when + seconds and when <= end)
    return {name: {interface: quantile(seconds) for interface, seconds in row.items()} for name, row in rows.items()}


def run(options):
    """Runs the given number of attacks. Returns the results, including the waiting times of two clients during each attack."""
    escape, victims = table_and_world(options)
    figures = Figures("attacks")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="torture-", dir=pathlib.Path(options.daemon).parents[1]))
    world = escape.World(folder)
    try:
        with Patient(options.daemon, "--launcher=spawn", "--worker", str(world.worker), "--deadline-ms",
                     str(max(options.deadline_ms, DEADLINE_MS)), f"--vulkan-drivers={folder}/vulkan",
                     f"--opencl-vendors={folder}/opencl", socket=True) as patient:
            measure(options, Siege(patient, patient.connect(), escape, victims, world), figures)
    finally:
        world.end()
        shutil.rmtree(folder, ignore_errors=True)
    return figures


def measure(options, siege, figures):
    patient, start = siege.patient, time.monotonic()
    ready(siege.peer, patient)
    interfaces = {"bus": Client(BusClient, patient.bus.path), "socket": Client(SocketClient, f"{patient.folder}/varlink")}
    times = []
    try:
        times = besiege(options, siege, figures)
    except Exception as problem:  # noqa: BLE001: an error is one of the results
        figures.wrong.append(f"{type(problem).__name__}: {problem}")
    waited = {}
    for interface, client in interfaces.items():
        waited[interface], problem = client.end()
        figures.wrong += [f"the client on the {interface}: {problem}"] if problem else []
    figures.seconds = time.monotonic() - start
    figures.deaths = 0 if patient.is_alive() else 1
    figures.latency = quantile([seconds for _when, seconds in waited["bus"]])
    figures.by_attack = waits_by_attack(times, waited)
    siege.peer.close()
    judge_growth(figures, patient)
