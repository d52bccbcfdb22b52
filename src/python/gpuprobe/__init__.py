# SPDX-License-Identifier: Apache-2.0
"""A client that asks gpuprobe which GPUs this machine has and which backend to use.

Answers are the documents that `gpuprobectl -j` prints. The client asks the daemon on its socket. If no daemon answers,
it runs `gpuprobectl --direct`, unless `daemon_only` is set.
"""
from __future__ import annotations

from ._client import Client
from ._messages import (
    SOCKET,
    TYPE_CHECKING,
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

if TYPE_CHECKING:
    from ._asyncio import AsyncClient
else:
    def __getattr__(name):
        """Imports AsyncClient at its first use, because asyncio takes longer than everything else here."""
        if name != "AsyncClient":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._asyncio import AsyncClient
        globals()[name] = AsyncClient
        return AsyncClient
