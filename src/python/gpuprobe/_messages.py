# SPDX-License-Identifier: Apache-2.0
"""What goes over the socket, and what comes back."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

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

Answer = Dict[str, Any]


class Failure(Exception):
    """There is no answer."""


class Unavailable(Failure):
    """Nobody answers: neither the daemon nor gpuprobectl."""


class Refused(Failure):
    """The question was understood and is not answered.

    name: as on D-Bus, "org.gpuprobe.GpuProbe1.Error.NoMatch"; details: all that was said, with the candidates of a
    selection."""

    def __init__(self, name: str, details: Answer) -> None:
        super().__init__(details.get("message") or f"{name}: {json.dumps(details)}")
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


def answer_from(text: bytes) -> Tuple[Answer, bool]:
    """The document, and whether another one follows. Raises Refused, and Failure for what is no answer."""
    try:
        reply = json.loads(text)
        parameters = reply.get("parameters") or {}
        error = reply.get("error")
    except (ValueError, AttributeError) as problem:
        raise Failure(f"no answer: {problem}") from problem
    if error:
        raise refused(parameters.get("name", error), parameters)
    return parameters, bool(reply.get("continues"))


def program_words(method: str) -> List[str]:
    return [PROGRAM, "--direct", "-j", "-q", "call", full_name(method), "-"]


def answer_of_program(text: bytes) -> Answer:
    try:
        answer = json.loads(text)
    except ValueError as problem:
        raise Unavailable("no daemon answers, and gpuprobectl neither") from problem
    if isinstance(answer.get("error"), dict):
        raise refused(answer["error"].get("name", ""), answer["error"])
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
