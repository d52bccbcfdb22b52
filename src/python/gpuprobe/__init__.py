# SPDX-License-Identifier: Apache-2.0
"""A client that asks gpuprobe which GPUs this machine has and which backend to use.

Answers are the documents that `gpuprobectl -j` prints. The client asks the daemon on its socket. If no daemon answers,
it runs `gpuprobectl --direct`, unless `daemon_only` is set.
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
