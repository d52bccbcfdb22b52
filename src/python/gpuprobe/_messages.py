# SPDX-License-Identifier: Apache-2.0
"""What goes over the socket, and what comes back."""
from __future__ import annotations

import json
import math
import os
import re
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Mapping, NoReturn, Optional, Tuple

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._typing import question
    from .interface import (
        DescribeAnswer,
        DiagnoseAnswer,
        GetMemoryAnswer,
        ListGpusAnswer,
        PlanAnswer,
        PlanRequest,
        QueryAnswer,
        RecommendAnswer,
        RecommendRequest,
        ReportOutcomeAnswer,
        SelectAnswer,
        SelectRequest,
    )
else:
    def question(ask):
        return ask

SOCKET = "/run/gpuprobe/org.gpuprobe"
PROGRAM = "gpuprobectl"
MAX_ANSWER = 64 << 20  # bytes; a report has some hundred thousand
MAX_VALUES = 1 << 20  # in an answer
MAX_LEVELS = 64
MAX_DIGITS = 32  # of a whole number

Answer = Dict[str, Any]


class Failure(Exception):
    """There is no answer."""


class Unavailable(Failure):
    """Nobody answers: neither the daemon nor gpuprobectl."""


class TimedOut(Failure, TimeoutError):
    """No answer in time."""


class Refused(Failure):
    """The question was understood and is not answered.

    name: as on D-Bus, "org.gpuprobe.GpuProbe1.Error.NoMatch"; details: all that was said, with the candidates of a
    selection."""

    def __init__(self, name: str, details: Answer) -> None:
        message = details.get("message")
        super().__init__(message if message and isinstance(message, str) else f"{name}: {json.dumps(details)}")
        self.name = name
        self.details = details


class NoMatch(Refused):
    """Nothing on this machine satisfies the request."""


class UnknownName(Refused):
    """No consumer, product or GPU of that name."""


class InvalidRequest(Refused):
    """A key or a word of the request is wrong."""


class NotAuthorized(Refused):
    """Only administrators may do that."""


_KINDS = {
    "NoMatch": NoMatch,
    "UnknownConsumer": UnknownName,
    "NotFound": UnknownName,
    "NoSuchGpu": UnknownName,
    "InvalidRequest": InvalidRequest,
    "InvalidParameter": InvalidRequest,
    "NotAuthorized": NotAuthorized,
}


def refused(name: str, details: Answer) -> Refused:
    return _KINDS.get(name.rpartition(".")[2], Refused)(name, details)


def socket_path(given: Optional[str]) -> str:
    return given or os.environ.get("GPUPROBE_SOCKET") or SOCKET


def full_name(method: str) -> str:
    return method if "." in method else f"org.gpuprobe.{method}"


def call_text(method: str, parameters: Optional[Mapping[str, Any]], more: bool = False) -> bytes:
    call: Answer = {"method": full_name(method), "parameters": dict(parameters or {})}
    if more:
        call["more"] = True
    return json.dumps(call).encode() + b"\0"


class Messages:
    """Texts that end with a NUL, out of blocks of bytes."""

    def __init__(self) -> None:
        self._blocks: List[bytes] = []  # of the message that has no end yet
        self._size = 0
        self._whole: Deque[bytes] = deque()

    def add(self, block: bytes) -> None:
        """Raises Failure for a message that is too large."""
        *ends, rest = block.split(b"\0")
        for end in ends:
            self._keep(end)
            self._whole.append(b"".join(self._blocks))
            self._blocks, self._size = [], 0
        self._keep(rest)

    def next(self) -> Optional[bytes]:
        return self._whole.popleft() if self._whole else None

    def is_empty(self) -> bool:
        return not self._whole and self._size == 0

    def _keep(self, block: bytes) -> None:
        self._size += len(block)
        if self._size > MAX_ANSWER:
            raise Failure(f"the answer is larger than {MAX_ANSWER >> 20} MiB")
        if block:
            self._blocks.append(block)


def is_fit(connection: socket.socket) -> bool:
    """Whether the connection has neither ended nor brought something that nobody asked for."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _object(members: List[Tuple[str, Any]]) -> Answer:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a key appears twice")
    return found


def _whole_number(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS} digits")
    return int(text)


def _fraction(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_READER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole_number, parse_float=_fraction,
                           parse_constant=_refuse)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def _check_levels(document: Answer) -> None:
    level: List[Any] = [document]  # the objects and lists on it
    for _ in range(MAX_LEVELS):
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
                 if isinstance(inner, (dict, list))]
    if level:
        raise ValueError(f"more than {MAX_LEVELS} levels")


def document_from(text: bytes) -> Answer:
    """One JSON object. Raises Failure for any other bytes, and for what is too much: every answer is read here."""
    if sum(text.count(sign) for sign in (b",", b"[", b"{")) > MAX_VALUES:
        raise Failure(f"the answer has more than {MAX_VALUES} values")
    try:
        document = _READER.decode(text.decode())
        if not isinstance(document, dict):
            raise ValueError("it is not an object")
        _check_levels(document)
        if _SURROGATE.search(text.decode()):
            json.dumps(document, ensure_ascii=False).encode()  # raises for half of a pair
    except (ValueError, RecursionError) as problem:
        reason = "it is nested too deeply" if isinstance(problem, RecursionError) else problem
        raise Failure(f"the answer is not valid: {reason}") from None
    return document


def answer_from(text: bytes, takes_more: bool = False) -> Tuple[Answer, bool]:
    """The document, and whether another one follows. Raises Refused, and Failure for what is not an answer."""
    reply = document_from(text)
    error, parameters, continues = (reply.get(name) for name in ("error", "parameters", "continues"))
    if error is not None and parameters is None:
        parameters = {}
    name = parameters.get("name", error) if isinstance(parameters, dict) else None
    if not isinstance(parameters, dict) or not isinstance(continues, (bool, type(None))):
        raise Failure("the answer is not valid: a member has the wrong type")
    if error is not None:
        if not (error and isinstance(error, str) and isinstance(name, str)):
            raise Failure("the answer is not valid: its error has no name")
        raise refused(name, parameters)
    if continues and not takes_more:
        raise Failure("the answer is not valid: it announces another one")
    return parameters, bool(continues)


def program_words(method: str) -> List[str]:
    return [PROGRAM, "--direct", "-j", "-q", "call", full_name(method), "-"]


def answer_of_program(text: bytes) -> Answer:
    try:
        answer = document_from(text)
    except Failure as problem:
        raise Unavailable(f"no daemon answers, and neither does gpuprobectl: {problem}") from problem
    error = answer.get("error")
    if isinstance(error, dict):
        name = error.get("name")
        raise refused(name if isinstance(name, str) else "", error)
    return answer


class Questions:
    """The parameters of each method; a client says how they are sent."""

    def _ask(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Any:
        raise NotImplementedError

    @question
    def describe(self) -> DescribeAnswer:
        """The report on the machine."""
        return self._ask("Describe")

    @question
    def gpus(self) -> ListGpusAnswer:
        """{"generation", "gpus"}: every GPU, the default one first."""
        return self._ask("ListGpus")

    @question
    def select(self, consumer: str = "default", **request: Unpack[SelectRequest]) -> SelectAnswer:
        """The backend that the consumer should use here. Keys of the request are written with underscores:
        min_memory. Raises NoMatch."""
        return self._ask("Select", {"consumer": consumer, "request": request})

    @question
    def recommend(self, product: str, manifest: Optional[str] = None,
                  **request: Unpack[RecommendRequest]) -> RecommendAnswer:
        """Which of a product's variants to install here; its status says why there is none."""
        return self._ask("Recommend", {"product": product, "manifest": manifest, "request": request})

    @question
    def plan(self, need: Optional[int] = None, *, margin: Optional[int] = None, gpus: Optional[List[str]] = None,
             request: Optional[PlanRequest] = None, model: Optional[str] = None) -> PlanAnswer:
        """Whether so many bytes, or a model (the text of a gpuprobe.model/1), fit on each GPU, and on several together."""
        return self._ask("Plan", {"need": need, "margin": margin, "gpus": gpus, "request": request, "model": model})

    @question
    def diagnose(self, environment: Optional[Mapping[str, str]] = None) -> DiagnoseAnswer:
        """Why a GPU is not used, and what helps. Without an environment: that of this process."""
        return self._ask("Diagnose", {"environment": dict(os.environ if environment is None else environment)})

    @question
    def query(self, *terms: str, gpus: Optional[List[str]] = None) -> QueryAnswer:
        """Whether terms hold, on each GPU: "driver>=550"."""
        return self._ask("Query", {"terms": list(terms), "gpus": gpus})

    @question
    def memory(self, gpu: str) -> GetMemoryAnswer:
        """The memory of the GPU with that id, read now."""
        return self._ask("GetMemory", {"gpu": gpu})

    @question
    def report_outcome(self, consumer: str, outcome: str, *, backend: Optional[str] = None,
                       variant: Optional[str] = None, family: Optional[str] = None, gpu: Optional[str] = None,
                       detail: Optional[str] = None) -> ReportOutcomeAnswer:
        """How a choice went: "ok" or "failed"."""
        return self._ask("ReportOutcome", {"consumer": consumer, "outcome": outcome, "backend": backend,
                                           "variant": variant, "family": family, "gpu": gpu, "detail": detail})
