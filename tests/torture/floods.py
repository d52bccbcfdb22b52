# SPDX-License-Identifier: Apache-2.0
"""Makes calls from 200 connections of one user as fast as possible, and measures how long clients of another user wait.

Two of these clients call the daemon: one over the bus, and one over the socket. The third client calls a program that answers immediately on the same
bus, so its waiting time shows the delay in the bus daemon.
"""
import multiprocessing
import os
import selectors
import socket
import struct
import time

import wire
from attacks import BusClient, Client, SocketClient, become, waits_by_attack
from figures import MIB, Figures, quantile
from patient import Patient
from peer import BUS, MANAGER, NAME, ROOT, Peer

CONNECTIONS = 200
IN_FLIGHT = 64  # pending calls of each connection; a system bus allows 128
NOBODY, SOMEBODY = (65534, 1) if os.geteuid() == 0 else (None, None)  # without root, both are the same user
RESTED = 12 * MIB  # maximum resident memory ten seconds after the flood
LIMITS = {"max_connections_per_user": 256, "max_replies_per_connection": 128}
MINE = (NAME, ROOT, MANAGER)
THE_BUS = (BUS, "/org/freedesktop/DBus", BUS)
SELECT = (*MINE, "SelectBackend", "sa{sv}", ["default", {}])
RULE = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'"
# The calls that each connection makes again and again, in this order.
BUS_CALLS = {
    "select": [SELECT],
    "recommend": [(*MINE, "RecommendVariant", "ssa{sv}", ["torch", "", {}])],
    "describe": [(*MINE, "Describe", "", [])],
    "a long name": [(*MINE, "SelectBackend", "sa{sv}", ["x" * 60000, {}])],
    "a property": [(*MINE[:2], BUS + ".Properties", "GetAll", "s", [MANAGER])],
    "never read": [SELECT],
    "no reply": [SELECT],
    "strangers": [SELECT],
    "names": [(*THE_BUS, "AddMatch", "s", [RULE]), (*THE_BUS, "RequestName", "su", ["org.gpuprobe.Flood{}", 4]),
              (*THE_BUS, "ReleaseName", "s", ["org.gpuprobe.Flood{}"]), (*THE_BUS, "RemoveMatch", "s", [RULE])],
}
SOCKET_CALLS = {
    "select": b'{"method":"org.gpuprobe.Select","parameters":{"application":"default"}}\0',
    "recommend": b'{"method":"org.gpuprobe.Recommend","parameters":{"application":"torch"}}\0',
    "describe": b'{"method":"org.gpuprobe.Describe"}\0',
    "no call": b"{]\0",
}


class Echo:
    """Runs a program that answers immediately, in a separate process."""

    NAME = "org.gpuprobe.Echo"

    def __init__(self, path):
        ready = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.answer, args=(path, ready), daemon=True)
        self.process.start()
        ready.wait(60)

    def answer(self, path, ready):
        peer = Peer(path)
        peer.call(*THE_BUS, "RequestName", "su", [self.NAME, 4])
        ready.set()
        while True:
            try:
                call = peer.receive(3600)
            except TimeoutError:
                continue
            if call.kind == wire.CALL:
                peer.send(wire.message(wire.REPLY, peer.next_serial(),
                                       {wire.REPLY_SERIAL: struct.unpack_from("<I", call.data, 8)[0], wire.DESTINATION: call.fields[wire.SENDER]}, b""))

    def end(self):
        self.process.kill()
        self.process.join()


class EchoClient(BusClient):
    def ask(self):
        self.peer.call(Echo.NAME, "/", BUS + ".Peer", "Ping")


def messages_in(data):
    """Removes complete messages from `data`, and returns the number of replies among these messages."""
    count = 0
    while len(data) >= 16:
        body, fields = struct.unpack_from("<I", data, 4)[0], struct.unpack_from("<I", data, 12)[0]
        size = 16 + ((fields + 7) & ~7) + body
        if len(data) < size:
            break
        count += data[1] in (wire.REPLY, wire.ERROR)
        del data[:size]
    return count


def answers_in(data):
    count = data.count(b"\0")
    del data[:data.rfind(b"\0") + 1]
    return count


class Flooder:
    """A connection that always has as many pending calls as are allowed."""

    def __init__(self, connection, call, count, total, received=b""):
        self.socket, self.call, self.count, self.total = connection, call, count, total
        self.waiting, self.answers = IN_FLIGHT, bytearray(received)
        self.unsent = memoryview(b"".join(self.call() for _ in range(IN_FLIGHT)))

    def wants(self):
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)

    def go_on(self, events):
        if events & selectors.EVENT_READ:
            if not (piece := self.socket.recv(262144)):
                raise ConnectionError
            self.answers += piece
            self.waiting -= (came := self.count(self.answers))
            self.total.value += came
            if self.waiting <= IN_FLIGHT // 2 and not self.unsent:
                self.unsent = memoryview(b"".join(self.call() for _ in range(IN_FLIGHT - self.waiting)))
                self.waiting = IN_FLIGHT
        elif self.unsent:
            self.unsent = self.unsent[self.socket.send(self.unsent[:65536]):]


class Deaf(Flooder):
    """A client that sends calls and never reads the answers."""

    def wants(self):
        return selectors.EVENT_WRITE

    def go_on(self, _events):
        if not self.unsent:
            self.unsent = memoryview(b"".join(self.call() for _ in range(IN_FLIGHT)))
        self.unsent = self.unsent[(sent := self.socket.send(self.unsent[:65536])):]
        self.total.value += sent // len(self.call())


class Stranger(Flooder):
    """A client with a new connection, which the daemon does not know yet, and which ends after the answer."""

    def go_on(self, events):
        before = self.total.value
        super().go_on(events)
        if self.total.value != before:
            raise ConnectionError


def calls_of(peer, kind, place):
    """Returns a function that returns the next call as bytes."""
    calls = BUS_CALLS[kind]
    calls = [(*call[:-1], [value.format(place) if isinstance(value, str) else value for value in call[-1]]) for call in calls]
    flags = wire.NO_REPLY if kind == "no reply" else 0
    ready_made = [bytearray(wire.call(1, *call, flags=flags)) for call in calls]

    def call():
        serial = peer.next_serial()
        one = ready_made[serial % len(calls)]
        struct.pack_into("<I", one, 8, serial)
        return bytes(one)
    return call


def flooders(interface, kind, path, total):
    for place in range(CONNECTIONS):
        if interface == "bus":
            peer = Peer(path)
            sort = {"never read": Deaf, "no reply": Deaf, "strangers": Stranger}.get(kind, Flooder)
            yield sort(peer.socket, calls_of(peer, kind, place), messages_in, total, peer.buffer)
        else:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            yield Flooder(connection, lambda: SOCKET_CALLS[kind], answers_in, total)


def flood(interface, kind, path, total, connected):
    """Sends calls until the process is killed, and connects again if the daemon or the bus closes the connection."""
    become(NOBODY)
    selector = selectors.DefaultSelector()
    while True:
        for one in flooders(interface, kind, path, total):
            one.socket.setblocking(False)
            selector.register(one.socket, one.wants(), one)
        connected.set()
        while len(selector.get_map()) > CONNECTIONS // 2:
            for key, events in selector.select():
                try:
                    key.data.go_on(events)
                    selector.modify(key.fileobj, key.data.wants(), key.data)
                except BlockingIOError:
                    pass
                except OSError:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()


def each_flood(options, patient, paths, figures):
    """Yields (name, start, end) of each flood, preceded by a period without a flood."""
    start = time.monotonic()
    time.sleep(options.flood)
    times = [("(nothing)", start, time.monotonic())]
    for interface, kinds in (("bus", BUS_CALLS), ("socket", SOCKET_CALLS)):
        for kind in kinds:
            if options.only and f"{kind}, {interface}" not in options.only:
                continue
            total = multiprocessing.Value("q", 0)
            connected = multiprocessing.Event()
            process = multiprocessing.Process(target=flood, args=(interface, kind, paths[interface], total, connected), daemon=True)
            process.start()
            connected.wait(60)
            start = time.monotonic()
            time.sleep(options.flood)
            times.append((f"{kind}, {interface}", start, time.monotonic()))
            highest = patient.resident()
            process.kill()
            process.join()
            figures.count += 1
            figures.outcomes[f"to {times[-1][0]}"] = total.value
            figures.resident_by_flood[times[-1][0]] = (highest, rested(patient))
    return times


def rested(patient, within=10):
    """Returns the resident bytes some time after the end of the flood."""
    late = time.monotonic() + within
    while patient.resident() >= RESTED and time.monotonic() < late:
        time.sleep(0.1)
    return patient.resident()


def judge(figures, patient):
    figures.deaths = 0 if patient.is_alive() else 1
    if patient.is_instrumented:
        return
    figures.grown += [f"{name}: {after} bytes resident ten seconds later"
                      for name, (_highest, after) in figures.resident_by_flood.items() if after >= RESTED]


def run(options):
    figures = Figures("floods")
    with Patient(options.daemon, "--replay", str(options.replay), limits=LIMITS, socket=True, bus=options.bus) as patient:
        os.chmod(patient.folder, 0o755)
        paths = {"bus": patient.bus.path, "socket": f"{patient.folder}/varlink", "echo": patient.bus.path}
        echo = Echo(patient.bus.path)
        clients = {interface: Client(kind, paths[interface], SOMEBODY)
                   for interface, kind in (("bus", BusClient), ("socket", SocketClient), ("echo", EchoClient))}
        start = time.monotonic()
        figures.before(patient)
        times = each_flood(options, patient, paths, figures)
        waited = {}
        for interface, client in clients.items():
            waited[interface], problem = client.end()
            figures.wrong += [f"the client on the {interface}: {problem}"] if problem else []
        echo.end()
        figures.after(patient)
        figures.seconds = time.monotonic() - start
        figures.latency = quantile([seconds for _when, seconds in waited["bus"]])
        figures.by_attack = waits_by_attack(times, waited)
        judge(figures, patient)
    return figures
