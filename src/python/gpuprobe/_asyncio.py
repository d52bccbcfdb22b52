# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The client for asyncio."""
from __future__ import annotations

import asyncio
import json
import socket

from ._client import _ENDED, _AsFailures
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
    from typing import Any, AsyncIterator, Callable, Mapping, Optional, Tuple

    from typing_extensions import Unpack

    from .interface import ProbeAnswer, ProbeParameters, SubscribeAnswer


class AsyncClient(Questions):
    """A client with the same methods as Client, but as coroutines. Several tasks may share a client, whose calls then run one after the other."""

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 25.0,
                 daemon_only: bool = False) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        self._daemon_only = daemon_only
        self._connection: Optional[_Connection] = None
        self._lock: Optional[asyncio.Lock] = None  # created in the event loop that uses it

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    async def call(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Answer:
        """Calls any method of org.gpuprobe, such as "Query". Raises a Failure, which is Refused, Unavailable or TimedOut."""
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            try:
                return await self._in_time(self._call_daemon(call_text(method, parameters)))
            except Unavailable:
                if self._daemon_only:
                    raise
        return await self._in_time(self._run(method, parameters))

    _ask = call

    async def watch(self) -> AsyncIterator[SubscribeAnswer]:
        """Yields {"generation", "state"} of the report: first the current values, then the new values after each
        change. Raises Unavailable when the daemon ends."""
        async for change, _ in self._stream(await self._connect(), "Subscribe"):
            yield change

    async def probe(self, *, on_progress: Optional[Callable[[float], object]] = None,
                    **request: Unpack[ProbeParameters]) -> ProbeAnswer:
        """Probes the drivers again, as Client.probe() does. on_progress is an ordinary function, not a coroutine."""
        try:
            connection = await self._connect()
        except Unavailable:
            if self._daemon_only:
                raise
            return await self._run("Probe", request)
        answer: Any = None
        try:
            async for answer, continues in self._stream(connection, "Probe", request):
                if continues:
                    progress = progress_in(answer)
                    if on_progress:
                        on_progress(progress)
        finally:
            connection.close()
        return answer

    async def _stream(self, connection: "_Connection", method: str,
                      parameters: Optional[Mapping[str, Any]] = None) -> AsyncIterator[Tuple[Any, bool]]:
        """Yields each answer to a call, and whether another answer follows."""
        try:
            await connection.send(call_text(method, parameters, more=True))
            continues = True
            while continues:
                answer, continues = answer_from(await connection.receive(), takes_more=True)
                yield answer, continues
        except _ENDED:
            raise Unavailable("the daemon has left") from None
        finally:
            connection.close()

    async def _in_time(self, answer: Any) -> Answer:
        try:
            return await asyncio.wait_for(answer, self._timeout)
        except asyncio.TimeoutError:
            self.close()  # a late reply would be mistaken for the next answer
            raise TimedOut("no answer in time") from None

    async def _connect(self) -> "_Connection":
        try:
            return await _Connection.open(self._path)
        except OSError as problem:
            raise Unavailable(f"{self._path}: {problem.strerror or problem}") from problem

    async def _call_daemon(self, text: bytes) -> Answer:
        if self._connection and not self._connection.is_fit():
            self.close()
        was_connected = self._connection is not None
        try:
            return await self._exchange(text)
        except _ENDED as problem:
            if not was_connected:
                raise Unavailable("the daemon ended the connection") from problem
        try:
            return await self._exchange(text)  # the daemon was restarted: connect again, once
        except _ENDED as problem:
            raise Unavailable("the daemon ended the connection") from problem

    async def _exchange(self, text: bytes) -> Answer:
        connection = self._connection = self._connection or await self._connect()
        try:
            try:
                await connection.send(text)
            except BrokenPipeError:
                pass  # the daemon may refuse a call, with a reason, before it has read the whole call
            reply = await connection.receive()
            if not connection.is_empty():
                raise Failure("the answer is not valid: something follows it")
            return answer_from(reply)[0]
        except Refused:
            raise
        except BaseException:
            self.close()
            raise

    async def _run(self, method: str, parameters: Optional[Mapping[str, Any]]) -> Any:
        try:
            child = await asyncio.create_subprocess_exec(
                *program_words(method), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL)
        except OSError as problem:
            raise Unavailable(no_program(problem)) from problem
        try:
            output, _ = await child.communicate(json.dumps(dict(parameters or {})).encode())
        except BaseException:
            child.kill()
            await child.wait()
            raise
        return answer_of_program(output)


class _Connection:
    """A connection to the daemon, with the same methods as in the blocking client."""

    def __init__(self, opened: socket.socket) -> None:
        self._messages = Messages()
        self._socket = opened

    @classmethod
    async def open(cls, path: str) -> "_Connection":
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(opened, path)
        except BaseException:
            opened.close()
            raise
        return cls(opened)

    def close(self) -> None:
        self._socket.close()

    def is_fit(self) -> bool:
        return is_fit(self._socket)

    def is_empty(self) -> bool:
        return self._messages.is_empty()

    async def send(self, text: bytes) -> None:
        with _AsFailures():
            await asyncio.get_running_loop().sock_sendall(self._socket, text)

    async def receive(self) -> bytes:
        message = self._messages.next()
        while message is None:
            with _AsFailures():
                block = await asyncio.get_running_loop().sock_recv(self._socket, 1 << 18)
            if not block:
                raise ConnectionResetError
            self._messages.add(block)
            message = self._messages.next()
        return message
