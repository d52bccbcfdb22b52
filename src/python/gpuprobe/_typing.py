# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Only for type checkers: Client and AsyncClient share the methods of Questions, but AsyncClient's methods must be awaited."""
from typing import Any, Awaitable, Callable, Generic, TypeVar, overload

from typing_extensions import Concatenate, ParamSpec

from ._asyncio import AsyncClient
from ._client import Client

_Taken = ParamSpec("_Taken")
_Answer = TypeVar("_Answer")


class question(Generic[_Taken, _Answer]):
    def __init__(self, ask: Callable[Concatenate[Any, _Taken], _Answer]) -> None: ...
    @overload
    def __get__(self, client: AsyncClient, kind: Any) -> Callable[_Taken, Awaitable[_Answer]]: ...
    @overload
    def __get__(self, client: Client, kind: Any) -> Callable[_Taken, _Answer]: ...
    def __get__(self, client: Any, kind: Any) -> Any: ...
