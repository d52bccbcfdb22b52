# SPDX-License-Identifier: Apache-2.0
"""Simulates clients that send invalid calls, flood the daemon, disconnect during a call or never read their replies. During these calls, a regular
client measures how long its calls take."""
import multiprocessing
import random
import time

import wire
from figures import Figures, quantile
from interfaces import methods_of
from patient import Patient
from peer import BUS, MANAGER, NAME, ROOT, Gone, Peer, Refused
from values import Values

PEERS = 40
BATCH = 25  # maximum number of pending calls of one peer
SLOW_READERS = 2
UNREAD = 120  # number of calls of each client that does not read; the bus allows 128
MAX_GROWTH = 8 << 20  # bytes of resident memory
# Calls whose answers do not depend on other callers. If the expected answer is "", the test accepts any answer.
GOOD = [
    ("SelectBackend", "sa{sv}", ["llama.cpp", {}]),
    ("SelectBackend", "sa{sv}", ["llama.cpp", {"deny": ("as", ["cuda"]), "include-rejected": ("b", True)}]),
    ("RecommendVariant", "ssa{sv}", ["llama.cpp", "", {}]),
    ("ListGpus", "a{sv}", [{}]),
    ("ListApplications", "", []),
]
# Methods that would change the answers to other callers, or would end calls of other callers.
LEFT_OUT = {"SetOverride", "ClearOverride", "ReportOutcome", "ClearQuarantine", "Set"}


def steady(value):
    """Returns the answer without values that change from call to call."""
    if isinstance(value, dict):
        return {key: steady(item) for key, item in value.items() if key != "Generation"}
    return [steady(item) for item in value] if isinstance(value, list) else value


def ask_regularly(path, stop, times):
    """Makes calls in a separate process, so that the torture program does not affect the waiting times."""
    peer, waited, problem = Peer(path), [], None
    try:
        while not stop.is_set():
            start = time.monotonic()
            peer.manager("SelectBackend", "sa{sv}", ["llama.cpp", {}])
            waited.append(time.monotonic() - start)
            time.sleep(0.005)
    except (Gone, Refused, TimeoutError) as error:
        problem = repr(error)
    times.put((waited, problem))


class Client:
    def __init__(self, path):
        self.stop, self.times = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=ask_regularly, args=(path, self.stop, self.times), daemon=True)
        self.process.start()

    def end(self):
        """Returns the seconds of each call and the errors."""
        self.stop.set()
        told = self.times.get(timeout=60)
        self.process.join()
        return told


class Crowd:
    def __init__(self, patient, rng, figures):
        self.patient, self.random, self.figures = patient, rng, figures
        self.values = Values(rng, largest=100_000)
        with_answers = patient.connect()
        self.methods = [one for one in methods_of(with_answers) if one.name not in LEFT_OUT]
        self.expected = [steady(with_answers.manager(*call)) for call in GOOD]
        with_answers.close()
        self.peers = [patient.connect(with_fds=True) for _ in range(PEERS)]
        self.unread = []

    def good(self, peer):
        kind = self.random.randrange(len(GOOD))
        return peer.ask(NAME, ROOT, MANAGER, *GOOD[kind]), kind

    def bad(self, peer):
        method = self.random.choice(self.methods)
        signature = method.signature
        if self.random.random() < 0.3:
            signature = self.random.choice(["", "s", "a{sv}", "aoasa{sv}", "v", "ay", "(ss)"])
        values = [self.values.of(kind) for kind in wire.types_of(signature)]
        return peer.ask(NAME, method.path, method.interface, method.name, signature, values), None

    def judge(self, message, kind):
        if kind is None:
            self.figures.outcomes["refused" if message.error else "accepted"] += 1
        elif message.error:
            self.figures.wrong.append(f"{GOOD[kind][0]}: {message.error} {message.values()}")
        elif steady(message.values()) != self.expected[kind]:
            self.figures.wrong.append(f"{GOOD[kind][0]}: another answer")
        else:
            self.figures.outcomes["right"] += 1

    def exchange(self, peer):
        """Makes a batch of calls, each of which must be answered."""
        sent = dict(self.good(peer) if self.random.random() < 0.7 else self.bad(peer)
                    for _ in range(self.random.randint(1, BATCH)))
        self.figures.count += len(sent)
        while sent:
            message = peer.receive()
            if message.answers in sent:
                self.judge(message, sent.pop(message.answers))
        peer.drop_fds()

    def abandon(self, peer):
        """Makes calls, and disconnects before the daemon has answered them."""
        for _ in range(self.random.randint(1, BATCH)):
            (self.good if self.random.random() < 0.5 else self.bad)(peer)
            self.figures.count += 1
            self.figures.outcomes["abandoned"] += 1

    def tear(self, peer):
        """Sends a message whose end never arrives."""
        data = wire.call(peer.next_serial(), NAME, ROOT, MANAGER, *GOOD[1])
        peer.send(data[: self.random.randrange(1, len(data))])
        self.figures.count += 1
        self.figures.outcomes["torn"] += 1

    def step(self):
        place = self.random.randrange(len(self.peers))
        peer, what = self.peers[place], self.random.random()
        try:
            if what < 0.7:
                return self.exchange(peer)
            (self.abandon if what < 0.9 else self.tear)(peer)
        except Gone:
            self.figures.outcomes["thrown off the bus"] += 1
        peer.close()
        self.peers[place] = self.patient.connect(with_fds=True)

    def stop_reading(self):
        """Requests large answers, and never reads these answers."""
        for _ in range(SLOW_READERS):
            peer = self.patient.connect()
            self.unread.append(peer)
            for _ in range(UNREAD):
                peer.ask(NAME, ROOT, MANAGER, *(GOOD[0] if self.random.random() < 0.5 else ("Describe",)))
            self.figures.count += UNREAD
            self.figures.outcomes["never read"] += UNREAD

    def leave(self):
        for peer in self.peers + self.unread:
            peer.close()


def judge_growth(figures, patient, may_settle):
    if may_settle:  # answers about many GPUs are large, so wait until their memory is free
        patient.settled_resident(figures.resident[0] + MAX_GROWTH)
    figures.after(patient)
    if figures.descriptors[1] > figures.descriptors[0]:
        figures.grown.append(f"descriptors: {figures.descriptors}")
    if figures.resident[1] > figures.resident[0] + MAX_GROWTH and not patient.is_instrumented:
        figures.grown.append(f"resident bytes: {figures.resident}")


def run(options):
    """Makes at least the given number of calls. Returns the results."""
    rng, figures = random.Random(options.seed), Figures("calls")
    with Patient(options.daemon, "--replay", str(options.replay)) as patient:
        crowd = Crowd(patient, rng, figures)
        figures.before(patient)
        crowd.stop_reading()
        client, start = Client(patient.bus.path), time.monotonic()
        try:
            while figures.count < options.calls and patient.is_alive():
                crowd.step()
                options.progress(figures.count, options.calls)
        except (Gone, Refused, TimeoutError, AssertionError) as problem:
            figures.wrong.append(f"{type(problem).__name__}: {problem}")
        figures.seconds = time.monotonic() - start
        waited, problem = client.end()
        figures.latency = quantile(waited)
        figures.wrong += [f"the client beside it: {problem}"] if problem else []
        crowd.leave()
        figures.deaths = 0 if patient.is_alive() else 1
        if figures.deaths:
            figures.wrong.append(patient.last_words())
        else:
            patient.settled_descriptors(figures.descriptors[0])  # waits until the descriptors of disconnected callers are closed
            judge_growth(figures, patient, bool(options.gpus))
    return figures
