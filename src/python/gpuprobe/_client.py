# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The blocking client."""
from __future__ import annotations

import json
import socket
import time
from _thread import allocate_lock

from ._messages import (
    TYPE_CHECKING,
    Answer,
    Failure,
    Messages,
    Questions,
    Refused,
    TimedOut,
    Unavailable,
    answer_from,
    answer_of_program,
    call_text,
    is_fit,
    no_program,
    program_words,
    progress_in,
    socket_path,
)

if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Mapping, Optional, Tuple

    from typing_extensions import Unpack

    from .interface import ProbeAnswer, ProbeParameters, SubscribeAnswer

_ENDED = (ConnectionResetError, BrokenPipeError)


class Client(Questions):
    """A client with one connection, which is opened at the first call and again after a restart of the daemon. Several threads may share a client,
    whose calls then run one after the other. timeout is in seconds for each call; None: no limit."""

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 25.0,
                 daemon_only: bool = False) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        self._daemon_only = daemon_only
        self._connection: Optional[_Connection] = None
        self._lock = allocate_lock()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._drop()

    def call(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Answer:
        """Calls any method of org.gpuprobe, such as "Query". Raises a Failure, which is Refused, Unavailable or TimedOut."""
        with self._lock:
            try:
                return self._call_daemon(call_text(method, parameters))
            except Unavailable:
                if self._daemon_only:
                    raise
        return self._run(method, parameters, self._timeout)

    _ask = call

    def watch(self) -> Iterator[SubscribeAnswer]:
        """Yields {"generation", "state"} of the report: first the current values, then the new values after each
        change. Raises Unavailable when the daemon ends."""
        for change, _ in self._stream(self._connect(None), "Subscribe"):
            yield change

    def probe(self, *, on_progress: Optional[Callable[[float], object]] = None,
              **request: Unpack[ProbeParameters]) -> ProbeAnswer:
        """Probes the drivers again, and returns {"generation", "probes"}. Calls on_progress with the progress, from 0
        to 1, each time it changes; without a daemon, on_progress is not called. probe() has no time limit, because a probe may take minutes. Raises
        Refused, for example NotAuthorized."""
        try:
            connection = self._connect(None)
        except Unavailable:
            if self._daemon_only:
                raise
            return self._run("Probe", request, None)
        answer: Any = None
        for answer, continues in self._stream(connection, "Probe", request):
            if continues:
                progress = progress_in(answer)
                if on_progress:
                    on_progress(progress)
        return answer

    def _stream(self, connection: "_Connection", method: str,
                parameters: Optional[Mapping[str, Any]] = None) -> Iterator[Tuple[Any, bool]]:
        """Yields each answer to a call, and whether another answer follows."""
        with connection:
            try:
                connection.send(call_text(method, parameters, more=True))
                continues = True
                while continues:
                    answer, continues = answer_from(connection.receive(), takes_more=True)
                    yield answer, continues
            except _ENDED:
                raise Unavailable("the daemon has left") from None

    def _connect(self, deadline: Optional[float]) -> "_Connection":
        try:
            return _Connection(self._path, deadline)
        except TimedOut:  # TimedOut is also an OSError, but must not reach the next clause
            raise
        except OSError as problem:
            raise Unavailable(f"{self._path}: {problem.strerror or problem}") from problem

    def _drop(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def _call_daemon(self, text: bytes) -> Answer:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        if self._connection and not self._connection.is_fit():
            self._drop()
        was_connected = self._connection is not None
        try:
            return self._exchange(text, deadline)
        except _ENDED as problem:
            if not was_connected:
                raise Unavailable("the daemon ended the connection") from problem
        try:
            return self._exchange(text, deadline)  # the daemon was restarted: connect again, once
        except _ENDED as problem:
            raise Unavailable("the daemon ended the connection") from problem

    def _exchange(self, text: bytes, deadline: Optional[float]) -> Answer:
        connection = self._connection = self._connection or self._connect(deadline)
        try:
            try:
                connection.send(text, deadline)
            except BrokenPipeError:
                pass  # the daemon may refuse a call, with a reason, before it has read the whole call
            reply = connection.receive(deadline)
            if not connection.is_empty():
                raise Failure("the answer is not valid: something follows it")
            return answer_from(reply)[0]
        except Refused:
            raise
        except BaseException:  # a late reply would be mistaken for the next answer
            self._drop()
            raise

    def _run(self, method: str, parameters: Optional[Mapping[str, Any]], timeout: Optional[float]) -> Any:
        import subprocess  # only clients without a daemon need this module
        try:
            done = subprocess.run(program_words(method), input=json.dumps(dict(parameters or {})).encode(),
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=timeout, check=False)
        except OSError as problem:
            raise Unavailable(no_program(problem)) from problem
        except subprocess.TimeoutExpired:
            raise TimedOut("gpuprobectl took too long") from None
        return answer_of_program(done.stdout)


class _Connection:
    """A connection to the daemon. Deadlines are instants of time.monotonic(); None means no deadline. Raises _ENDED and TimedOut, and Unavailable for
    all other errors of the socket."""

    def __init__(self, path: str, deadline: Optional[float]) -> None:
        self._messages = Messages()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            while not self._is_connected(path, deadline):
                time.sleep(0.001)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def is_fit(self) -> bool:
        return is_fit(self._socket)

    def is_empty(self) -> bool:
        return self._messages.is_empty()

    def send(self, text: bytes, deadline: Optional[float] = None) -> None:
        self._set_timeout(deadline)
        with _AsFailures():
            self._socket.sendall(text)

    def receive(self, deadline: Optional[float] = None) -> bytes:
        message = self._messages.next()
        while message is None:
            self._set_timeout(deadline)
            with _AsFailures():
                block = self._socket.recv(1 << 18)
            if not block:
                raise ConnectionResetError
            self._messages.add(block)
            message = self._messages.next()
        return message

    def _is_connected(self, path: str, deadline: Optional[float]) -> bool:
        """Tries to connect. Returns False while the daemon's queue of connections is full."""
        self._set_timeout(deadline)
        try:
            self._socket.connect(path)
        except BlockingIOError:
            return False
        except socket.timeout:
            raise TimedOut("the daemon takes no connection in time") from None
        return True

    def _set_timeout(self, deadline: Optional[float]) -> None:
        """Limits the next operation on the socket to the remaining time, because the deadline applies to a whole answer and not to each block."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimedOut("no answer in time")
        self._socket.settimeout(left)


class _AsFailures:
    """A context manager that turns errors of the socket into a Failure, except the end of the connection."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, problem: Optional[BaseException], _trace: object) -> None:
        if isinstance(problem, _ENDED):
            return
        if isinstance(problem, socket.timeout):
            raise TimedOut("no answer in time") from None
        if isinstance(problem, OSError):
            raise Unavailable(f"the daemon's socket: {problem.strerror or problem}") from problem
