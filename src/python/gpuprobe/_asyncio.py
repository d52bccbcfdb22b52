# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio."""
from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, AsyncIterator, Mapping, Optional, Tuple

from ._client import _ABSENT, _ENDED
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

_Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient(Questions):
    """As Client, with methods to be awaited. Tasks may share it; their calls wait for one another."""

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 25.0,
                 daemon_only: bool = False) -> None:
        self._path = socket_path(socket)
        self._timeout = timeout
        self._daemon_only = daemon_only
        self._streams: Optional[_Streams] = None
        self._lock: Optional[asyncio.Lock] = None  # made in the loop that uses it

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None

    async def call(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Answer:
        """Any method of org.gpuprobe: "Query". Raises Refused, Unavailable; TimeoutError."""
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            try:
                return await self._in_time(self._call_daemon(call_text(method, parameters)))
            except Unavailable:
                if self._daemon_only:
                    raise
        return await self._in_time(self._run(method, parameters))

    _ask = call

    async def changes(self) -> AsyncIterator[SubscribeAnswer]:
        """{"generation", "state"}, now and after each change of the report, until the daemon leaves: Unavailable."""
        async for change in self._stream(await self._connect(), "Subscribe"):
            yield change

    async def probe(self, **request: Unpack[ProbeParameters]) -> AsyncIterator[ProbeAnswer]:
        """Asks the drivers again: {"progress"} from 0 to 1, then {"generation", "probes"}. gpuprobectl tells the last
        one alone."""
        try:
            streams = await self._connect()
        except Unavailable:
            if self._daemon_only:
                raise
            yield await self._run("Probe", request)
            return
        async for step in self._stream(streams, "Probe", request):
            yield step

    async def _stream(self, streams: _Streams, method: str,
                      parameters: Optional[Mapping[str, Any]] = None) -> AsyncIterator[Any]:
        reader, writer = streams
        try:
            writer.write(call_text(method, parameters, more=True))
            continues = True
            while continues:
                answer, continues = answer_from(await self._receive(reader))
                yield answer
        except _ENDED:
            raise Unavailable("the daemon has left") from None
        finally:
            writer.close()

    async def _in_time(self, answer: Any) -> Answer:
        try:
            return await asyncio.wait_for(answer, self._timeout)
        except asyncio.TimeoutError:
            self.close()  # what comes later would be taken for the next answer
            raise TimeoutError("no answer in time") from None

    async def _connect(self) -> _Streams:
        try:
            return await asyncio.open_unix_connection(self._path, limit=MAX_ANSWER)
        except _ABSENT as problem:
            raise Unavailable(f"{self._path}: {problem.strerror}") from problem

    async def _receive(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return (await reader.readuntil(b"\0"))[:-1]
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        except asyncio.LimitOverrunError:
            raise Failure(f"an answer of more than {MAX_ANSWER} bytes") from None

    async def _call_daemon(self, text: bytes) -> Answer:
        was_connected = self._streams is not None
        try:
            return await self._exchange(text)
        except _ENDED as problem:
            if not was_connected:
                raise Unavailable("the daemon ended the connection") from problem
        return await self._exchange(text)  # it was restarted

    async def _exchange(self, text: bytes) -> Answer:
        self._streams = self._streams or await self._connect()
        reader, writer = self._streams
        try:
            writer.write(text)
            reply = await self._receive(reader)
        except BaseException:
            self.close()
            raise
        return answer_from(reply)[0]

    async def _run(self, method: str, parameters: Optional[Mapping[str, Any]]) -> Any:
        try:
            child = await asyncio.create_subprocess_exec(
                *program_words(method), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL)
        except OSError as problem:
            raise Unavailable(f"no daemon answers, and gpuprobectl is not there: {problem.strerror}") from problem
        try:
            output, _ = await child.communicate(json.dumps(dict(parameters or {})).encode())
        except BaseException:
            child.kill()
            await child.wait()
            raise
        return answer_of_program(output)
