# SPDX-License-Identifier: Apache-2.0
"""Encodes and decodes D-Bus messages. This module does not check values, because tests also send messages that no library would send.

Source: D-Bus specification, "Marshaling (Wire Format)" and "Message Protocol". A variant is a pair (signature,
value). An array of dictionary entries is a dict or a list of pairs. A file descriptor is represented by its index in the message's list of
descriptors.
"""
import struct

CALL, REPLY, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY, NO_START, INTERACTIVE = 1, 2, 4
FIXED = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}
ALIGNMENT = {**{code: struct.calcsize(form) for code, form in FIXED.items()},
             "s": 4, "o": 4, "g": 1, "v": 1, "a": 4, "(": 8, "{": 8}
# The numbers of the header fields, and the types of their values.
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE, FDS = range(1, 10)
FIELD_TYPES = dict(zip(range(1, 10), "osssussgu"))
FIXED_HEADER = 16


def single(signature, start=0):
    """Returns the end of the complete type that begins at this position."""
    code = signature[start]
    if code == "a":
        return single(signature, start + 1)
    if code not in "({":
        return start + 1
    end = start + 1
    while signature[end] not in ")}":
        end = single(signature, end)
    return end + 1


def types_of(signature):
    start = 0
    while start < len(signature):
        end = single(signature, start)
        yield signature[start:end]
        start = end


class Writer:
    def __init__(self):
        self.bytes = bytearray()

    def pad(self, size):
        self.bytes += b"\0" * (-len(self.bytes) % size)

    def text(self, value):
        return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")

    def put(self, signature, value):
        code = signature[0]
        self.pad(ALIGNMENT[code])
        if code in FIXED:
            self.bytes += struct.pack("<" + FIXED[code], value)
        elif code in "so":
            text = self.text(value)
            self.bytes += struct.pack("<I", len(text)) + text + b"\0"
        elif code == "g":
            text = self.text(value)
            self.bytes += bytes([len(text) & 255]) + text + b"\0"
        elif code == "v":
            self.put("g", value[0])
            self.put(value[0], value[1])
        elif code == "a":
            self.array(signature[1:], value)
        else:
            for kind, item in zip(types_of(signature[1:-1]), value):
                self.put(kind, item)

    def array(self, kind, items):
        length = len(self.bytes)
        self.bytes += b"\0\0\0\0"
        self.pad(ALIGNMENT[kind[0]])
        start = len(self.bytes)
        if kind == "y":
            self.bytes += bytes(items)
        else:
            for item in items.items() if isinstance(items, dict) else items:
                self.put(kind, item)
        struct.pack_into("<I", self.bytes, length, len(self.bytes) - start)


class Reader:
    def __init__(self, data, start=0):
        self.data, self.at = data, start

    def pad(self, size):
        self.at += -self.at % size

    def take(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def get(self, signature):
        code = signature[0]
        self.pad(ALIGNMENT[code])
        if code in FIXED:
            (value,) = struct.unpack("<" + FIXED[code], self.take(ALIGNMENT[code]))
            return bool(value) if code == "b" else value
        if code in "so":
            size = self.get("u")
            return bytes(self.take(size + 1)[:-1]).decode()
        if code == "g":
            size = self.take(1)[0]
            return bytes(self.take(size + 1)[:-1]).decode()
        if code == "v":
            return self.get(self.get("g"))
        if code == "a":
            return self.array(signature[1:])
        return tuple(self.get(kind) for kind in types_of(signature[1:-1]))

    def array(self, kind):
        size = self.get("u")
        self.pad(ALIGNMENT[kind[0]])
        end, items = self.at + size, []
        while self.at < end:
            items.append(self.get(kind))
        return dict(items) if kind[0] == "{" else items


def body_of(signature, values):
    writer = Writer()
    for kind, value in zip(types_of(signature), values):
        writer.put(kind, value)
    return bytes(writer.bytes)


def message(kind, serial, fields, body=b"", flags=0):
    """Encodes a message. `fields`: number -> value. Fields that the specification does not define must be strings."""
    writer = Writer()
    for value in (ord("l"), kind, flags, 1):
        writer.put("y", value)
    writer.put("u", len(body))
    writer.put("u", serial)
    writer.put("a(yv)", [(number, (FIELD_TYPES.get(number, "s"), value)) for number, value in fields.items()])
    writer.pad(8)
    return bytes(writer.bytes) + body


def call(serial, destination, path, interface, member, signature="", values=(), flags=0, fds=0):
    fields = {PATH: path, DESTINATION: destination, MEMBER: member}
    if interface:
        fields[INTERFACE] = interface
    if signature:
        fields[SIGNATURE] = signature
    if fds:
        fields[FDS] = fds
    return message(CALL, serial, fields, body_of(signature, values), flags)


class Message:
    """A received message."""

    def __init__(self, data):
        self.kind, self.flags, self.size = data[1], data[2], len(data)
        reader = Reader(data, 12)
        self.fields = dict(reader.get("a(yv)"))
        reader.pad(8)
        self.signature = self.fields.get(SIGNATURE, "")
        self.data, self.start = data, reader.at

    @property
    def answers(self):
        return self.fields.get(REPLY_SERIAL)

    @property
    def error(self):
        return self.fields.get(ERROR_NAME)

    def values(self):
        reader = Reader(self.data[self.start :])
        return [reader.get(kind) for kind in types_of(self.signature)]


def whole_size(head):
    """Returns the total size of a message, from its first 16 bytes."""
    body, fields = struct.unpack_from("<I", head, 4)[0], struct.unpack_from("<I", head, 12)[0]
    return FIXED_HEADER + fields + (-fields % 8) + body
