# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A client for gpuprobe, which finds the GPUs of the machine and chooses the backend for a program.

Each answer is the same JSON document that `gpuprobectl -j` prints. The client calls the daemon through the daemon's socket. If no daemon answers, the
client runs `gpuprobectl --direct`, unless `daemon_only` is set. program() returns the path of the gpuprobectl that the client runs.

The functions select(), recommend(), plan(), doctor() and watch() are the methods of Client with the same name. Each
call uses a new client with the default options. A program that makes several calls should keep one Client for all of them.
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
    program,
)

__all__ = [
    "SOCKET", "Answer", "AsyncClient", "Client", "Failure", "InvalidRequest", "NoMatch", "NotAuthorized", "Refused",
    "TimedOut", "Unavailable", "UnknownName", "doctor", "plan", "program", "recommend", "select", "watch",
]

if TYPE_CHECKING:
    from ._asyncio import AsyncClient

    select, recommend, plan = Client().select, Client().recommend, Client().plan
    doctor, watch = Client().doctor, Client().watch
else:
    def __getattr__(name):
        """Imports AsyncClient when a program first uses this class, because importing asyncio takes longer than importing the rest of the package."""
        if name != "AsyncClient":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._asyncio import AsyncClient
        globals()[name] = AsyncClient
        return AsyncClient

    def _function(method):
        """Returns a function that calls `method` on a new client."""
        def function(*words, **more):
            with Client() as client:
                return method(client, *words, **more)
        function.__name__ = function.__qualname__ = method.__name__
        function.__doc__ = method.__doc__
        return function

    select, recommend, plan = map(_function, (Client.select, Client.recommend, Client.plan))
    doctor, watch = map(_function, (Client.doctor, Client.watch))
