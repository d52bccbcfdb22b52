# SPDX-License-Identifier: Apache-2.0
"""A fake bus, which sends messages that a real bus would reject."""
import array
import os
import select
import socket
import time

import wire
from peer import BUS, NAME, Gone

GUID = b"0123456789abcdef0123456789abcdef"
STRANGER = ":1.7"
DEADLINE = 15


def reply_to(line):
    """Returns the reply of a server that accepts every client. If a client sends no user, the server asks for the user, and accepts DATA without a
    user."""
    if b"AUTH EXTERNAL " in line or line.startswith(b"DATA"):
        return b"OK " + GUID + b"\r\n"
    if b"AUTH EXTERNAL" in line:
        return b"DATA\r\n"
    return b"AGREE_UNIX_FD\r\n" if line == b"NEGOTIATE_UNIX_FD" else b""


class FalseBus:
    """Listens at `path` for one daemon at a time. Its methods raise Gone if the daemon has closed the connection."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.listener.bind(path)
        self.listener.listen(8)
        self.socket, self.buffer, self.serial, self.has_name = None, bytearray(), 0, False

    def accept(self, within=DEADLINE):
        """Accepts the connection of the next daemon, and answers its calls until the daemon has acquired its name. Raises TimeoutError."""
        self.hang_up()
        if not select.select([self.listener], [], [], within)[0]:
            raise TimeoutError("nobody connects")
        self.socket, _ = self.listener.accept()
        self.buffer, self.has_name = bytearray(), False
        self._authenticate()
        late = time.monotonic() + within
        while not self.has_name:
            if time.monotonic() > late:
                raise TimeoutError("nobody asks for the name")
            self.serve(0.2)

    def hang_up(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def _authenticate(self):
        # Some clients send all lines of the authentication at once, and others wait for each answer.
        text, answered = b"", 0
        while b"BEGIN\r\n" not in text:
            data = self.socket.recv(4096)
            if not data:
                raise Gone
            text += data
            lines = text.split(b"\r\n")[:-1]
            for line in lines[answered:]:
                self.socket.sendall(reply_to(line))
            answered = len(lines)
        self.buffer += text.split(b"BEGIN\r\n", 1)[1]

    def next_serial(self):
        self.serial += 1
        return self.serial

    def send(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        late = time.monotonic() + DEADLINE
        while data:
            if not select.select([], [self.socket], [], max(0, late - time.monotonic()))[1]:
                raise TimeoutError("the daemon takes nothing")
            try:
                data = data[self.socket.sendmsg([data], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL):]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError) as problem:
                raise Gone from problem
            rights = []

    def serve(self, within):
        """Reads the daemon's messages for `within` seconds, and answers the daemon's calls to the bus. Returns all other messages."""
        others, late = [], time.monotonic() + within
        while select.select([self.socket], [], [], max(0, late - time.monotonic()))[0]:
            try:
                data, rights, _flags, _from = self.socket.recvmsg(262144, 4096)
            except ConnectionResetError as problem:
                raise Gone from problem
            for _level, _kind, content in rights:
                fds = array.array("i")
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                for fd in fds:
                    os.close(fd)
            if not data:
                raise Gone
            self.buffer += data
            for message in self._whole():
                if message.kind == wire.CALL and message.fields.get(wire.DESTINATION) == BUS:
                    self._answer(message)
                else:
                    others.append(message)
                    late = time.monotonic()
        return others

    def _whole(self):
        while len(self.buffer) >= wire.FIXED_HEADER and len(self.buffer) >= wire.whole_size(self.buffer):
            size = wire.whole_size(self.buffer)
            data = bytes(self.buffer[:size])
            del self.buffer[:size]
            yield wire.Message(data)

    def _answer(self, call):
        member = call.fields[wire.MEMBER]
        signature, values = {
            "Hello": ("s", [":1.1"]),
            "RequestName": ("u", [1]),
            "GetNameOwner": ("s", [":1.1"]),
            "GetConnectionUnixUser": ("u", [os.geteuid()]),
            "GetConnectionCredentials": ("a{sv}", [{"UnixUserID": ("u", os.geteuid())}]),
        }.get(member, ("", []))
        fields = {wire.REPLY_SERIAL: int.from_bytes(call.data[8:12], "little"), wire.SENDER: BUS,
                  wire.DESTINATION: ":1.1"}
        if signature:
            fields[wire.SIGNATURE] = signature
        self.send(wire.message(wire.REPLY, self.next_serial(), fields, wire.body_of(signature, values)))
        self.has_name = self.has_name or member == "RequestName"

    def call(self, path, interface, member, signature="", values=()):
        """Returns the bytes of a call by another client, and the serial of the call."""
        serial = self.next_serial()
        fields = {wire.PATH: path, wire.DESTINATION: NAME, wire.MEMBER: member, wire.SENDER: STRANGER}
        if interface:
            fields[wire.INTERFACE] = interface
        if signature:
            fields[wire.SIGNATURE] = signature
        return wire.message(wire.CALL, serial, fields, wire.body_of(signature, values)), serial

    def close(self):
        self.hang_up()
        self.listener.close()
