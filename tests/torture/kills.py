# SPDX-License-Identifier: Apache-2.0
"""Kills daemons while clients change the stored state, and starts each daemon again with the state on disk.

After a restart, each acknowledged change must still exist, and a change that was not yet answered may or may not exist. No other changes may exist.
"""
import collections
import json
import pathlib
import random
import re
import threading
import time

import drivers
from figures import Figures, quantile
from patient import Patient
from peer import Gone, Refused
from varlink import Varlink
from workers import ready

CLIENTS = 6  # every second client uses the socket
APPLICATIONS = 4  # for each client; a user can have at most 64 outcomes
LONGEST = 0.8  # seconds: the maximum time until the daemon is killed
APPLICATION = {"schema": "gpuprobe.application/1", "description": "",
               "selection": {"backends": ["cuda", "opencl", "cpu"], "cpu": "last", "integrated": "always", "strict": False}}
KEPT = {"overrides", "outcomes", "quarantine", "daemon.lock", "probes"}


def application(client, place):
    return f"torture-{client}-{place}"


class BusInterface:
    def __init__(self, patient):
        self.peer = patient.connect()

    def set_override(self, name, number):
        self.peer.manager("SetOverride", "sa{sv}", [name, {"min-memory": ("t", number)}])

    def clear_override(self, name):
        self.peer.manager("ClearOverride", "s", [name])

    def report(self, name, number):
        outcome = {"application": name, "backend": "cuda", "outcome": "failed" if number else "ok"}
        if number:
            outcome["detail"] = str(number)
        self.peer.manager("ReportOutcome", "a{sv}", [{key: ("s", value) for key, value in outcome.items()}])

    def close(self):
        self.peer.close()


class SocketDoor:
    def __init__(self, patient):
        self.client = Varlink(patient.socket_path)

    def set_override(self, name, number):
        self.client.call("SetOverride", application=name, rule={"min-memory": number})

    def clear_override(self, name):
        self.client.call("ClearOverride", application=name)

    def report(self, name, number):
        detail = {"detail": str(number)} if number else {}
        self.client.call("ReportOutcome", application=name, backend="cuda", outcome="failed" if number else "ok", **detail)

    def close(self):
        self.client.close()


class Client(threading.Thread):
    """A client that changes the stored state of its own applications until the daemon has ended. `known`: (kind, application) -> number; 0 if nothing
    is stored."""

    def __init__(self, number, patient, known, rng):
        super().__init__(daemon=True)
        self.number, self.patient, self.known, self.random = number, patient, known, rng
        self.unanswered, self.count, self.problem = None, 0, None
        self.interface = (BusInterface, SocketDoor)[number % 2](patient)

    def change(self):
        name = application(self.number, self.random.randrange(APPLICATIONS))
        kind, value = self.random.choice(["override", "outcome"]), self.random.choice([0, self.random.getrandbits(40) + 1])
        self.unanswered = (kind, name), value
        if kind == "outcome":
            self.interface.report(name, value)
        elif value:
            self.interface.set_override(name, value)
        else:
            self.interface.clear_override(name)
        self.known[kind, name] = value
        self.unanswered = None
        self.count += 1

    def run(self):
        try:
            while True:
                self.change()
        except Gone:
            pass
        except (Refused, TimeoutError) as problem:
            # The errors that the bus reports if the daemon has ended.
            if "NoReply" not in repr(problem) and "ServiceUnknown" not in repr(problem) and "NameHasNoOwner" not in repr(problem):
                self.problem = repr(problem)
        finally:
            self.interface.close()


def write_applications(folder, names):
    """Writes the data file of an application for each name, and returns the folder of these files."""
    applications = pathlib.Path(folder, "applications")
    applications.mkdir()
    for name in names:
        (applications / f"{name}.json").write_text(json.dumps({**APPLICATION, "name": name}), encoding="utf-8")
    return applications


def files_below(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()}


def strangers(patient):
    """Returns (damaged files that the daemon has renamed, temporary files). Ignores the files that are expected in the folder, and their locks."""
    found = files_below(f"{patient.folder}/state") | files_below(f"{patient.folder}/cache")
    found -= KEPT | {f"{name}.lock" for name in KEPT}
    found = {name for name in found if not re.fullmatch(r"drivers/icd-\d+/driver\.icd", name)}
    broken = {name for name in found if name.endswith(".broken")}
    return broken, found - broken


def kept(patient, peer):
    """Returns (kind, application) -> number. Overrides come from the daemon's answer, and outcomes from the daemon's file."""
    overrides = peer.manager("ListOverrides")[0]
    found = {("override", name): entry["Rule"]["min-memory"] for name, entry in overrides.items()}
    path = pathlib.Path(patient.folder, "state/outcomes")
    if path.exists():
        for failure in json.loads(path.read_text(encoding="utf-8").split("\n", 1)[1])["failures"]:
            found["outcome", failure["application"]] = int(failure["detail"])
    return found


class Rounds:
    """A daemon that is repeatedly killed and started again."""

    def __init__(self, patient, figures, seed):
        self.patient, self.figures, self.random = patient, figures, random.Random(seed)
        self.known, self.starts, self.most_left = [{} for _ in range(CLIENTS)], [], 0

    def run(self):
        clients = [Client(number, self.patient, self.known[number], random.Random(self.random.getrandbits(64))) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(self.random.uniform(0, LONGEST))
        if not self.patient.is_alive():
            self.figures.deaths += 1
            self.figures.wrong.append(self.patient.last_words())
        self.patient.kill()
        for client in clients:
            client.join(60)
            self.figures.outcomes["acknowledged changes"] += client.count
            self.figures.outcomes["unanswered at the kill"] += client.unanswered is not None
            self.figures.wrong += [client.problem] if client.problem else []
        self.most_left = max(self.most_left, len(strangers(self.patient)[1]))
        start = time.monotonic()
        self.patient.start()
        self.starts.append(time.monotonic() - start)
        peer = self.patient.connect()
        self.compare(peer, clients)
        peer.close()
        self.figures.kills += 1
        self.figures.count += 1

    def compare(self, peer, clients):
        found, number = kept(self.patient, peer), self.figures.count
        expected = collections.ChainMap(*self.known)
        for client in clients:
            if client.unanswered:
                key, value = client.unanswered
                is_done = found.get(key, 0) == value
                self.figures.outcomes["unanswered and kept"] += is_done
                client.known[key] = value if is_done else client.known.get(key, 0)
        for key in set(found) | set(expected):
            if found.get(key, 0) != expected.get(key, 0):
                self.figures.wrong.append(f"round {number}: {key} is {found.get(key, 0)}, not {expected.get(key, 0)}")
        broken, _temporary = strangers(self.patient)
        self.figures.wrong += [f"round {number}: {name} was set aside" for name in broken]
        notes = {note["code"] for note in json.loads(peer.manager("Describe")[0])["notes"]}
        self.figures.wrong += [f"round {number}: {note}" for note in notes & {"state-ignored", "state-not-kept", "cache-ignored"}]

    def end_cleanly(self):
        """Starts the daemon again, makes one change of each kind, and ends the daemon with SIGTERM."""
        peer = self.patient.connect()
        ready(peer, self.patient)
        interface = BusInterface(self.patient)
        for number, known in enumerate(self.known):
            name = application(number, 0)
            interface.set_override(name, 1)
            interface.report(name, 1)
            known["override", name] = known["outcome", name] = 1
        interface.close()
        peer.manager("Probe", "aoasa{sv}", [[], [], {}], timeout=120)
        self.compare(peer, [])
        peer.close()
        if status := self.patient.terminate():
            self.figures.wrong.append(f"ended with {status} after SIGTERM")
        _broken, temporary = strangers(self.patient)
        self.figures.outcomes["temporary files at most after a kill"] = self.most_left
        self.figures.wrong += [f"{name} is left after a clean end" for name in temporary]


def run(options):
    """Kills the daemon the given number of times. Returns the results."""
    figures, folder = Figures("kills"), pathlib.Path(options.folder, "kills")
    folder.mkdir()
    machine = drivers.h200(folder / "drivers")
    applications = write_applications(folder, [application(client, place) for client in range(CLIENTS) for place in range(APPLICATIONS)])
    with Patient(options.daemon, "--worker", str(machine.program), "--applications", str(applications), socket=True, cache=True) as patient:
        start, rounds = time.monotonic(), Rounds(patient, figures, options.seed)
        try:
            while figures.count < options.kills:
                rounds.run()
                options.progress(figures.count, options.kills)
            rounds.end_cleanly()
        except (AssertionError, Gone, Refused, TimeoutError, OSError, ValueError) as problem:
            figures.wrong.append(f"{type(problem).__name__}: {problem}")
        figures.seconds, figures.starts = time.monotonic() - start, quantile(rounds.starts)
    return figures
