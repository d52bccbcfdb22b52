# SPDX-License-Identifier: Apache-2.0
"""A connection to a bus that sends and receives raw bytes."""
import array
import os
import select
import socket
import time

import wire

NAME = "org.gpuprobe.GpuProbe1"
ROOT = "/org/gpuprobe/GpuProbe1"
MANAGER = NAME + ".Manager"
BUS = "org.freedesktop.DBus"
DEADLINE = 30


class Refused(Exception):
    """An error reply. Contains the name of the error."""


class Gone(Exception):
    """The bus has closed the connection."""


class Peer:
    """A connection to a bus. All methods raise Gone if the bus has closed the connection, or TimeoutError after DEADLINE seconds."""

    def __init__(self, path, with_fds=False):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.connect(path)
        self.buffer, self.serial, self.fds, self.signals = bytearray(), 0, [], []
        self._authenticate(with_fds)
        self.name = self.call(BUS, "/org/freedesktop/DBus", BUS, "Hello")[0]

    def _authenticate(self, with_fds):
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        self._line(b"OK")
        if with_fds:
            self.socket.sendall(b"NEGOTIATE_UNIX_FD\r\n")
            self._line(b"AGREE_UNIX_FD")
        self.socket.sendall(b"BEGIN\r\n")

    def _line(self, word):
        line = bytearray()
        while not line.endswith(b"\r\n"):
            byte = self.socket.recv(1)
            if not byte:
                raise Gone
            line += byte
        if not line.startswith(word):
            raise Gone(bytes(line))

    def next_serial(self):
        self.serial += 1
        return self.serial

    def send(self, data, fds=()):
        """Sends all data, and also reads incoming data while it sends, because both sides would block each other if neither side read."""
        late = time.monotonic() + DEADLINE
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        data = memoryview(data)
        while data:
            readable, writable, _ = select.select([self.socket], [self.socket], [], late - time.monotonic())
            try:
                if writable:
                    data = data[self.socket.sendmsg([data[:65536]], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL):]
                    rights = []
                elif readable:
                    self._fill()
                else:
                    raise TimeoutError
            except BlockingIOError:
                pass
            except (BrokenPipeError, ConnectionResetError) as problem:
                raise Gone from problem

    def _fill(self):
        try:
            data, rights, _flags, _from = self.socket.recvmsg(262144, 4096)
        except ConnectionResetError as problem:
            raise Gone from problem
        if not data:
            raise Gone
        for _level, _kind, content in rights:
            fds = array.array("i")
            fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
            self.fds.extend(fds)
        self.buffer += data

    def receive(self, timeout=DEADLINE):
        """Returns the next message."""
        late = time.monotonic() + timeout
        while len(self.buffer) < wire.FIXED_HEADER or len(self.buffer) < wire.whole_size(self.buffer):
            if not select.select([self.socket], [], [], max(0, late - time.monotonic()))[0]:
                raise TimeoutError
            self._fill()
        size = wire.whole_size(self.buffer)
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return wire.Message(data)

    def ask(self, destination, path, interface, member, signature="", values=(), fds=()):
        """Sends a call and returns the serial number of the message."""
        serial = self.next_serial()
        self.send(wire.call(serial, destination, path, interface, member, signature, values, fds=len(fds)), fds)
        return serial

    def reply_to(self, serial, timeout=DEADLINE):
        """Returns the reply to a call, and skips other messages."""
        while True:
            message = self.receive(timeout)
            if message.answers == serial:
                return message
            if message.kind == wire.SIGNAL:
                self.signals.append(message)

    def call(self, destination, path, interface, member, signature="", values=(), timeout=DEADLINE):
        """Makes a call and returns the answer. Additional error: Refused."""
        message = self.reply_to(self.ask(destination, path, interface, member, signature, values), timeout)
        if message.kind == wire.ERROR:
            raise Refused(message.error, *message.values())
        return message.values()

    def manager(self, member, signature="", values=(), timeout=DEADLINE):
        return self.call(NAME, ROOT, MANAGER, member, signature, values, timeout)

    def property(self, name):
        return self.call(NAME, ROOT, BUS + ".Properties", "Get", "ss", [MANAGER, name])[0]

    def ping(self):
        """Calls the daemon, and returns how many seconds the daemon takes to answer."""
        start = time.monotonic()
        self.call(NAME, ROOT, BUS + ".Peer", "Ping")
        return time.monotonic() - start

    def drop_fds(self):
        while self.fds:
            os.close(self.fds.pop())

    def close(self):
        self.drop_fds()
        self.socket.close()
