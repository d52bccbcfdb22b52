# SPDX-License-Identifier: Apache-2.0
"""Asks gpuprobe which GPUs this machine has, and which backend to use.

Answers are the documents that `gpuprobectl -j` prints. The daemon is asked on its socket; where none answers,
`gpuprobectl --direct` asks the machine, unless `daemon_only` was given.
"""
from ._asyncio import AsyncClient
from ._client import Client
from ._messages import (
    SOCKET,
    Answer,
    Failure,
    InvalidRequest,
    NoMatch,
    NotAuthorized,
    Refused,
    TimedOut,
    Unavailable,
    UnknownName,
)

__all__ = [
    "SOCKET", "Answer", "AsyncClient", "Client", "Failure", "InvalidRequest", "NoMatch", "NotAuthorized", "Refused",
    "TimedOut", "Unavailable", "UnknownName",
]
