# SPDX-License-Identifier: Apache-2.0
"""The client that waits."""
from __future__ import annotations

import json
import socket
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional

from ._messages import (
    MAX_ANSWER,
    Answer,
    Failure,
    Questions,
    Unavailable,
    answer_from,
    answer_of_program,
    call_text,
    program_words,
    socket_path,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .interface import ProbeAnswer, ProbeParameters, SubscribeAnswer

_ABSENT = (FileNotFoundError, ConnectionRefusedError, PermissionError, NotADirectoryError)
_ENDED = (ConnectionResetError, BrokenPipeError)


class Client(Questions):
    """One connection, made when it is first needed and again when the daemon was restarted. Threads may share it;
    their calls wait for one another. timeout: seconds that a call may take; None: for ever."""

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 25.0,
                 daemon_only: bool = False) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        self._daemon_only = daemon_only
        self._connection: Optional[_Connection] = None
        self._lock = threading.Lock()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def call(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Answer:
        """Any method of org.gpuprobe: "Query". Raises Refused, Unavailable; TimeoutError."""
        with self._lock:
            try:
                return self._call_daemon(call_text(method, parameters))
            except Unavailable:
                if self._daemon_only:
                    raise
        return self._run(method, parameters)

    _ask = call

    def changes(self) -> Iterator[SubscribeAnswer]:
        """{"generation", "state"}, now and after each change of the report, until the daemon leaves: Unavailable."""
        yield from self._stream(self._connect(None), "Subscribe")

    def probe(self, **request: Unpack[ProbeParameters]) -> Iterator[ProbeAnswer]:
        """Asks the drivers again: {"progress"} from 0 to 1, then {"generation", "probes"}. gpuprobectl tells the last
        one alone."""
        try:
            connection = self._connect(None)
        except Unavailable:
            if self._daemon_only:
                raise
            yield self._run("Probe", request)
            return
        yield from self._stream(connection, "Probe", request)

    def _stream(self, connection: "_Connection", method: str,
                parameters: Optional[Mapping[str, Any]] = None) -> Iterator[Any]:
        with connection:
            try:
                connection.send(call_text(method, parameters, more=True))
                continues = True
                while continues:
                    answer, continues = answer_from(connection.receive())
                    yield answer
            except _ENDED:
                raise Unavailable("the daemon has left") from None

    def _connect(self, timeout: Optional[float]) -> "_Connection":
        try:
            return _Connection(self._path, timeout)
        except _ABSENT as problem:
            raise Unavailable(f"{self._path}: {problem.strerror}") from problem

    def _drop(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def _call_daemon(self, text: bytes) -> Answer:
        was_connected = self._connection is not None
        try:
            return self._exchange(text)
        except _ENDED as problem:
            self._drop()
            if not was_connected:
                raise Unavailable("the daemon ended the connection") from problem
        return self._exchange(text)  # it was restarted

    def _exchange(self, text: bytes) -> Answer:
        self._connection = self._connection or self._connect(self._timeout)
        try:
            try:
                self._connection.send(text)
            except BrokenPipeError:
                pass  # a daemon that refuses says why before it has read all
            reply = self._connection.receive()
        except BaseException:  # what comes later would be taken for the next answer
            self._drop()
            raise
        return answer_from(reply)[0]

    def _run(self, method: str, parameters: Optional[Mapping[str, Any]]) -> Any:
        try:
            done = subprocess.run(program_words(method), input=json.dumps(dict(parameters or {})).encode(),
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=self._timeout, check=False)
        except OSError as problem:
            raise Unavailable(f"no daemon answers, and gpuprobectl is not there: {problem.strerror}") from problem
        except subprocess.TimeoutExpired:
            raise TimeoutError("gpuprobectl took too long") from None
        return answer_of_program(done.stdout)


class _Connection:
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._rest = b""
        try:
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def send(self, text: bytes) -> None:
        self._socket.sendall(text)

    def receive(self) -> bytes:
        blocks, size = [self._rest], len(self._rest)
        while b"\0" not in blocks[-1]:
            block = self._socket.recv(1 << 18)
            if not block:
                raise ConnectionResetError
            blocks.append(block)
            size += len(block)
            if size > MAX_ANSWER:
                raise Failure(f"an answer of more than {MAX_ANSWER} bytes")
        message, _, self._rest = b"".join(blocks).partition(b"\0")
        return message
