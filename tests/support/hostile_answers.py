# SPDX-License-Identifier: Apache-2.0
"""Answers that a server other than gpuprobe may send, and a server that sends these answers. The tests of all clients use the same table.

Each row is the answer to one call. A client must report an error of its own (FAILS), or return the answer in the row. RefusesOr and EITHER allow an
error as well as the answer.
"""
import contextlib
import json
import os
import selectors
import socket
import threading
import typing

FAILS = "fails"  # the client reports an error
REFUSED = "refused"  # the client reports that the daemon refused the call
EITHER = "either"  # an error or an answer, because the JSON standard allows both
ANSWERS = "answers"
LATE = "late"  # the client reports a timeout; its timeout is short for rows with "late" in their name, and long for all others

MAX_ANSWER = 64 << 20
DOCUMENT = {"word": "\u00e9\U0001f600\n", "list": [1, {"k": None}], "number": 9007199254740991}
RIGHT = json.dumps({"parameters": DOCUMENT}).encode()


class Row(typing.NamedTuple):
    name: str
    expected: str
    message: bytes = b""
    # What the server does after the message: "waits" for the next call, "closes" the connection, "pours" (repeats the message quickly),
    # "drips" (sends the message byte by byte), "dribbles" (repeats the message slowly, without an end).
    ending: str = "waits"
    at_once: bool = False  # sends the answer before the call


def parameters(text):
    return b'{"parameters":{"x":' + text + b"}}\0"


def string(text):
    return parameters(b'"' + text + b'"')


def refusal(error, document=b'{"message":"no"}'):
    return b'{"error":' + error + b',"parameters":' + document + b"}\0"


def rows():
    yield from (
        Row("right", ANSWERS, RIGHT + b"\0"),
        Row("right-with-blanks", ANSWERS, b" \n\t" + RIGHT + b"\r\n \0"),
        Row("right-with-more-members", ANSWERS, RIGHT[:-1] + b',"future":[{}],"continues":false}\0'),
        Row("right-and-closed", ANSWERS, RIGHT + b"\0", "closes"),
        Row("right-byte-by-byte", ANSWERS, RIGHT + b"\0", "drips"),
        Row("right-with-nulls", ANSWERS, RIGHT[:-1] + b',"error":null,"continues":null}\0'),
        Row("large", EITHER, string(b"x" * (8 << 20))),
    )
    # Errors in transport.
    yield from (
        Row("closed-at-once", FAILS, b"", "closes"),
        Row("no-end", FAILS, RIGHT, "closes"),
        Row("half", FAILS, RIGHT[:20], "closes"),
        Row("empty", FAILS, b"\0"),
        Row("empty-and-closed", FAILS, b"\0", "closes"),
        Row("blanks", FAILS, b"   \0"),
        Row("late-for-ever", LATE),
        Row("late-half", LATE, RIGHT[:20]),
        Row("late-byte-now-and-then", LATE, b" ", "dribbles"),
        Row("endless", FAILS, b"x" * (1 << 16), "pours"),
        Row("endless-string", FAILS, b'{"parameters":{"x":"' + b"x" * (1 << 16), "pours"),
        Row("endless-messages", EITHER, RIGHT + b"\0", "pours"),
        Row("two-messages", FAILS, RIGHT + b"\0" + RIGHT + b"\0"),
        Row("a-message-and-a-half", FAILS, RIGHT + b"\0" + RIGHT[:10]),
        Row("nul-inside", FAILS, string(b"a\0b")),
        Row("nul-in-front", FAILS, b"\0" + RIGHT + b"\0"),
        Row("to-nobody", EITHER, RIGHT + b"\0", at_once=True),
    )
    # Not JSON.
    for name, text in (("words", b"nonsense"), ("http", b"HTTP/1.1 200 OK\r\n\r\n{}"), ("brace", b"{"), ("quote", b'"'), ("bom", b"\xef\xbb\xbf" + RIGHT),
                       ("utf-16", RIGHT.decode().encode("utf-16")), ("behind", RIGHT + b"x"), ("two", RIGHT + RIGHT), ("comma", RIGHT[:-1] + b",}"),
                       ("single-quotes", RIGHT.replace(b'"', b"'")), ("comment", b"/**/" + RIGHT), ("binary", bytes(range(1, 256)))):
        yield Row(f"no-json-{name}", FAILS, text + b"\0")
    for name, text in (("nan", b"NaN"), ("infinity", b"Infinity"), ("minus-infinity", b"-Infinity"), ("plus", b"+1"), ("octal", b"01"),
                       ("point", b"1."), ("hexadecimal", b"0x10"), ("word", b"undefined"), ("capital", b"True")):
        yield Row(f"no-value-{name}", FAILS, parameters(text))
    for name, text in (("ff", b"\xff"), ("cut", b"\xc3"), ("overlong", b"\xc0\x80"), ("surrogate", b"\xed\xa0\x80"), ("beyond", b"\xf4\x90\x80\x80"),
                       ("control", b"\x01"), ("newline", b"\n"), ("cut-escape", b"\\u\\u"), ("short-escape", b"\\u12"), ("no-escape", b"\\x41"),
                       ("high", b"\\ud800"), ("low", b"\\udc00"), ("high-and-letter", b"\\ud800x"), ("twice-high", b"\\ud83d\\ud83d"),
                       ("wrong-way-round", b"\\ude00\\ud83d")):
        yield Row(f"no-text-{name}", FAILS, string(text))
        yield Row(f"no-key-{name}", FAILS, b'{"parameters":{"' + text + b'":1}}\0')
    yield Row("text-with-u0000", EITHER, string(b"a\\u0000b"))
    # JSON that exceeds a limit.
    yield from (
        Row("deep-arrays", FAILS, parameters(b"[" * 100000 + b"]" * 100000)),
        Row("deep-objects", FAILS, parameters(b'{"a":' * 100000 + b"1" + b"}" * 100000)),
        Row("deep-and-open", FAILS, b'{"parameters":' + b"[" * (1 << 20) + b"\0"),
        Row("deep-reply", FAILS, b"[" * 1000 + b"]" * 1000 + b"\0"),
        Row("65-levels", FAILS, parameters(b"[" * 63 + b"]" * 63)),
        Row("64-levels", EITHER, parameters(b"[" * 62 + b"]" * 62)),
        Row("many-values", FAILS, parameters(b"[" + b"0," * (3 << 20) + b"0]")),
        Row("many-arrays", FAILS, parameters(b"[" + b"[]," * (3 << 20) + b"0]")),
        Row("many-members", FAILS, b'{"parameters":{' + b",".join(b'"%x":0' % i for i in range(1200000)) + b"}}\0"),
        Row("many-candidates", EITHER, b'{"parameters":{"backend":"x","candidates":[' + b"{}," * 200000 + b"{}]," +
            b'"environment":{' + b",".join(b'"%x":"0"' % i for i in range(200000)) + b"}}}\0"),
        Row("huge-number", EITHER, parameters(b"1e999")),
        Row("tiny-number", EITHER, parameters(b"1e-999")),
        Row("long-number", EITHER, parameters(b"9" * 100000)),
        Row("long-fraction", EITHER, parameters(b"0." + b"9" * 100000)),
        Row("large-whole-number", EITHER, parameters(b"123456789012345678901234567890")),
        Row("long-exponent", EITHER, parameters(b"1e" + b"9" * 100000)),
    )
    # Members with wrong types.
    values = {"null": b"null", "false": b"false", "true": b"true", "zero": b"0", "number": b"7", "fraction": b"1.5", "empty": b'""', "text": b'"x"',
              "array": b"[]", "filled-array": b'[{"a":1}]', "object": b"{}", "filled-object": b'{"a":[1]}'}
    for name, value in values.items():
        yield Row(f"reply-{name}", FAILS, value + b"\0")
        if "object" not in name:
            yield Row(f"parameters-{name}", FAILS, b'{"parameters":' + value + b"}\0")
            if name != "null":
                yield Row(f"refusal-parameters-{name}", FAILS, refusal(b'"org.gpuprobe.NoSuchGpu"', value))
        if name not in ("text", "null"):
            yield Row(f"error-{name}", FAILS, refusal(value))
            yield Row(f"error-{name}-without-parameters", FAILS, b'{"error":' + value + b"}\0")
        if name not in ("true", "false", "null"):
            yield Row(f"continues-{name}", FAILS, RIGHT[:-1] + b',"continues":' + value + b"}\0")
        if name not in ("text", "empty"):
            yield Row(f"refusal-name-{name}", FAILS, refusal(b'"org.gpuprobe.NoSuchGpu"', b'{"name":' + value + b"}"))
        yield Row(f"refusal-message-{name}", REFUSED, refusal(b'"org.gpuprobe.NoSuchGpu"', b'{"message":' + value + b"}"))
    yield from (
        Row("continues", FAILS, RIGHT[:-1] + b',"continues":true}\0'),
        Row("continues-for-ever", FAILS, RIGHT[:-1] + b',"continues":true}\0', "pours"),
        Row("no-member", FAILS, b'{"answer":{}}\0'),
        Row("parameters-twice", EITHER, b'{"parameters":{"a":1},"parameters":{"a":2}}\0'),
        Row("a-key-twice", EITHER, b'{"parameters":{"a":1,"a":{}}}\0'),
        Row("refusal", REFUSED, refusal(b'"org.gpuprobe.NoSuchGpu"')),
        Row("refusal-without-parameters", REFUSED, b'{"error":"org.gpuprobe.NoSuchGpu"}\0'),
        Row("refusal-with-null", REFUSED, refusal(b'"org.gpuprobe.NoSuchGpu"', b"null")),
        Row("refusal-of-no-name", REFUSED, refusal(b'"constructor"')),
        Row("refusal-of-odd-name", REFUSED, refusal(b'"\\u001b[31m.__proto__"', b'{"message":"\\u001b]0;x\\u0007\\u202e"}')),
        Row("refusal-and-closed", REFUSED, refusal(b'"org.gpuprobe.NoSuchGpu"'), "closes"),
    )


def with_other_values(document):
    """Yields copies of a document, in each of which one member or item has another type. Only the first item of a list is changed."""
    for put, value in _places(document):
        for other in (None, True, -1, 1e300, "", "x", [], [{}], {}, {"a": [1]}):
            if type(other) is not type(value):
                put(other)
                yield json.loads(json.dumps(document))
        put(value)


def _places(value):
    """Yields (a function that sets the value, the value) for each value inside a document."""
    if isinstance(value, dict):
        keys = list(value)
    else:
        keys = range(min(len(value), 1)) if isinstance(value, list) else []
    for key in keys:
        yield lambda other, key=key: value.__setitem__(key, other), value[key]
        yield from _places(value[key])


# Answers each call with the name of its method, and then sends a second answer.
ECHO = Row("echo", EITHER, ending="echoes")
# Waits until the second answer of ECHO has been sent, and then answers.
GATE = Row("gate", EITHER, RIGHT + b"\0", ending="gates")
STALE = b'{"parameters":{"method":"stale"}}\0'


class Server:
    """A context manager for a server that answers each call to FOLDER/NAME as the row NAME describes."""

    def __init__(self, folder, served=None):
        self.folder, self.ended, self.threads = folder, threading.Event(), []
        self.has_sent_stale = threading.Event()
        self.rows = list(rows() if served is None else served)

    def path(self, row):
        return f"{self.folder}/{row.name}"

    def __enter__(self):
        self.selector = selectors.DefaultSelector()
        for row in self.rows:
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(self.path(row))
            listening.listen()
            self.selector.register(listening, selectors.EVENT_READ, row)
        self.start(self.accept)
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join(30)
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
            os.unlink(self.path(key.data))
        self.selector.close()

    def start(self, work, *words):
        thread = threading.Thread(target=work, args=words, daemon=True)
        thread.start()
        self.threads = [each for each in self.threads if each.is_alive()] + [thread]

    def accept(self):
        while not self.ended.is_set():
            for key, _ in self.selector.select(0.1):
                connection, _ = key.fileobj.accept()
                self.start(self.serve, connection, key.data)

    def serve(self, connection, row):
        with connection, contextlib.suppress(OSError):
            connection.settimeout(0.1)
            while not self.ended.is_set():
                asked = b"" if row.at_once else self.hear(connection)
                self.answer(connection, row, asked)
                if row.ending not in ("waits", "drips", "echoes", "gates"):
                    break
                if row.at_once:
                    self.hear(connection)

    def hear(self, connection):
        """Receives a call. Returns early if the test ends."""
        heard = b""
        while b"\0" not in heard and not self.ended.is_set():
            with contextlib.suppress(TimeoutError, socket.timeout):
                block = connection.recv(1 << 16)
                heard += block
                if not block:
                    raise ConnectionResetError
        return heard.partition(b"\0")[0]

    def answer(self, connection, row, asked):
        if row.ending == "dribbles":
            while not self.ended.wait(0.02):
                connection.sendall(row.message)
        elif row.ending == "drips":
            for byte in row.message:
                connection.sendall(bytes([byte]))
        elif row.ending == "echoes":
            method = json.loads(asked or b'{"method":""}')["method"]
            self.send(connection, json.dumps({"parameters": {"method": method}}).encode() + b"\0")
            self.send(connection, STALE)
            self.has_sent_stale.set()
        elif row.ending == "gates":
            while not self.has_sent_stale.wait(0.1) and not self.ended.is_set():
                pass
            self.has_sent_stale.clear()
            self.send(connection, row.message)
        elif row.ending == "pours":
            for _ in range(2 * MAX_ANSWER // len(row.message) + 1000):
                self.send(connection, row.message)
        else:
            self.send(connection, row.message)

    def send(self, connection, message):
        left = memoryview(message)
        while left and not self.ended.is_set():
            with contextlib.suppress(TimeoutError, socket.timeout):
                left = left[connection.send(left):]
