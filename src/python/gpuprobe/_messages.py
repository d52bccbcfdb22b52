# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The messages on the daemon's socket: calls, answers and errors."""
from __future__ import annotations

import json
import math
import os
import socket
from collections import deque

# Type checkers treat TYPE_CHECKING as true. Importing the module typing would double the import time of the package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, Dict, List, Mapping, NoReturn, Optional, Tuple

    from typing_extensions import Unpack

    from ._typing import question
    from .interface import (
        Candidate,
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

    Answer = Dict[str, Any]
else:
    Answer = dict

    def question(ask):
        return ask

SOCKET = "/run/gpuprobe/org.gpuprobe"
PROGRAM = "gpuprobectl"
MAX_ANSWER = 64 << 20  # bytes; a usual report has several hundred thousand bytes
MAX_VALUES = 1 << 20  # values in an answer
MAX_LEVELS = 64
MAX_DIGITS = 32  # digits of a whole number


class Failure(Exception):
    """The base class of all errors in the package gpuprobe."""


class Unavailable(Failure):
    """Neither the daemon nor gpuprobectl answers."""


class TimedOut(Failure, TimeoutError):
    """There was no answer within the timeout."""


class Refused(Failure):
    """The daemon answered the call with an error.

    name: the D-Bus name, such as "org.gpuprobe.GpuProbe1.Error.NoMatch"; details: the whole error, including the
    candidates of a selection."""

    def __init__(self, name: str, details: Answer) -> None:
        message = details.get("message")
        super().__init__(message if message and isinstance(message, str) else f"{name}: {json.dumps(details)}")
        self.name = name
        self.details = details


class NoMatch(Refused):
    """Nothing on this machine satisfies the request. The message names the candidate that comes closest to satisfying the request.

    candidates: all candidates, with the reasons against each candidate. Every reason has "text", and "fix" if a fix is known."""

    def __init__(self, name: str, details: Answer) -> None:
        super().__init__(name, details)
        self.candidates: List[Candidate] = details.get("candidates", [])
        if not (isinstance(self.candidates, list) and all(isinstance(each, dict) for each in self.candidates)):
            raise Failure("the answer is not valid: its candidates have the wrong type")


class UnknownName(Refused):
    """There is no application or GPU with the given name."""


class InvalidRequest(Refused):
    """A key or value of the request is invalid."""


class NotAuthorized(Refused):
    """The call needs the permission of an administrator."""


_KINDS = {
    "NoMatch": NoMatch,
    "UnknownApplication": UnknownName,
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
    """Splits a stream of blocks into messages, each of which ends with a NUL byte."""

    def __init__(self) -> None:
        self._blocks: List[bytes] = []  # the blocks of the message that is still incomplete
        self._size = 0
        self._whole: Deque[bytes] = deque()

    def add(self, block: bytes) -> None:
        """Adds a block. Raises Failure if a message is too large."""
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
    """Returns whether the connection can be used again, because it is open and no unexpected data has arrived."""
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
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def _check_levels(text: bytes, document: Answer) -> None:
    """Raises ValueError for too many levels of objects and lists."""
    brackets = text.translate(None, _NO_BRACKETS)
    for _ in range(MAX_LEVELS):  # each iteration removes one level, the innermost level first
        if not brackets:
            return
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
    level: List[Any] = [document]  # strings in the document may also contain brackets
    for _ in range(MAX_LEVELS):
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)
                 if isinstance(inner, (dict, list))]
    if level:
        raise ValueError(f"more than {MAX_LEVELS} levels")


def document_from(text: bytes) -> Answer:
    """Parses one JSON object. The client uses this function to parse every answer. Raises Failure if the data is not a JSON object or is too
    large."""
    # Each value needs at least one byte, so a short answer need not be counted.
    if len(text) > MAX_VALUES and text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_VALUES:
        raise Failure(f"the answer has more than {MAX_VALUES} values")
    try:
        document = _READER.decode(text.decode())
        if not isinstance(document, dict):
            raise ValueError("it is not an object")
        _check_levels(text, document)
        if b"\\" in text and (b"\\ud" in text or b"\\uD" in text):
            json.dumps(document, ensure_ascii=False).encode()  # raises for an unpaired surrogate
    except (ValueError, RecursionError) as problem:
        reason = "it is nested too deeply" if isinstance(problem, RecursionError) else problem
        raise Failure(f"the answer is not valid: {reason}") from None
    return document


def answer_from(text: bytes, takes_more: bool = False) -> Tuple[Answer, bool]:
    """Returns the document, and whether another document follows. Raises Refused for an error, Failure for an invalid
    answer."""
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


def progress_in(answer: Answer) -> float:
    """Returns the progress of a probe. Raises Failure for an invalid answer."""
    progress = answer.get("progress")
    if isinstance(progress, bool) or not isinstance(progress, (int, float)) or not 0 <= progress <= 1:
        raise Failure("the answer is not valid: its progress is not a number from 0 to 1")
    return progress


def program() -> str:
    """Returns the gpuprobectl that clients run if no daemon answers: the value of the environment variable
    GPUPROBE_PROGRAM, else the path of the copy in this package, or the name "gpuprobectl" if the package contains no
    copy."""
    named = os.environ.get("GPUPROBE_PROGRAM")
    if named:
        return named
    carried = os.path.join(os.path.dirname(__file__), PROGRAM)
    return carried if os.access(carried, os.X_OK) else PROGRAM


def no_program(problem: OSError) -> str:
    return (f"no daemon answers, and {program()} cannot be run: {problem.strerror}; install gpuprobe, "
            "or set GPUPROBE_PROGRAM to the path of gpuprobectl")


def program_words(method: str) -> List[str]:
    return [program(), "--direct", "-j", "-q", "call", full_name(method), "-"]


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
    """The methods of org.gpuprobe with their parameters. Clients implement _ask()."""

    def _ask(self, method: str, parameters: Optional[Mapping[str, Any]] = None) -> Any:
        raise NotImplementedError

    @question
    def describe(self) -> DescribeAnswer:
        """Returns the report about the machine."""
        return self._ask("Describe")

    @question
    def gpus(self) -> ListGpusAnswer:
        """Returns {"generation", "gpus"}: every GPU, the default GPU first."""
        return self._ask("ListGpus")

    @question
    def select(self, application: str = "default", **request: Unpack[SelectRequest]) -> SelectAnswer:
        """Selects the backend that the application should use on this machine. Write the keys of the request with underscores instead of dashes;
        min_memory is in bytes. Raises NoMatch, UnknownName or InvalidRequest."""
        return self._ask("Select", {"application": application, "request": request})

    @question
    def recommend(self, application: str, manifest: Optional[str] = None,
                  **request: Unpack[RecommendRequest]) -> RecommendAnswer:
        """Recommends the variant of an application to install on this machine. manifest: the text of a manifest to use
        instead of the installed manifest. need_mib is in MiB. If no variant fits, the status and the candidates of the
        answer contain the reasons. Raises UnknownName or InvalidRequest."""
        return self._ask("Recommend", {"application": application, "manifest": manifest, "request": request})

    @question
    def plan(self, need: Optional[int] = None, *, margin: Optional[int] = None, gpus: Optional[List[str]] = None,
             request: Optional[PlanRequest] = None, model: Optional[str] = None) -> PlanAnswer:
        """Estimates whether a number of bytes (need), or a model (the text of a gpuprobe.model/1 document), fits on
        each GPU and on several GPUs together. margin: the number of bytes to leave free on each GPU. Raises UnknownName or InvalidRequest."""
        return self._ask("Plan", {"need": need, "margin": margin, "gpus": gpus, "request": request, "model": model})

    @question
    def doctor(self, environment: Optional[Mapping[str, str]] = None) -> DiagnoseAnswer:
        """Finds out why GPUs are not used, and how to fix the problems. environment: the variables of the program that
        does not use a GPU; by default, the variables of this process."""
        return self._ask("Diagnose", {"environment": dict(os.environ if environment is None else environment)})

    @question
    def query(self, *terms: str, gpus: Optional[List[str]] = None) -> QueryAnswer:
        """Returns for each term, such as "driver>=550", whether the term is true for each GPU. gpus: the ids of the
        GPUs to consider; by default, all GPUs. Raises UnknownName or InvalidRequest."""
        return self._ask("Query", {"terms": list(terms), "gpus": gpus})

    @question
    def memory(self, gpu: str) -> GetMemoryAnswer:
        """Returns the memory of a GPU in bytes, read at the time of the call. Raises UnknownName."""
        return self._ask("GetMemory", {"gpu": gpu})

    @question
    def report_outcome(self, application: str, outcome: str, *, backend: Optional[str] = None,
                       variant: Optional[str] = None, family: Optional[str] = None, gpu: Optional[str] = None,
                       detail: Optional[str] = None) -> ReportOutcomeAnswer:
        """Reports whether an application worked with a choice, so that later answers consider the outcome. outcome:
        "ok" or "failed". Exactly one of backend, variant and family must be given. Raises InvalidRequest."""
        return self._ask("ReportOutcome", {"application": application, "outcome": outcome, "backend": backend,
                                           "variant": variant, "family": family, "gpu": gpu, "detail": detail})
