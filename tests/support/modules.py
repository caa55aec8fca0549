"""Call a module's tools as a person would, without the gateway: straight on a database."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from core.db import Database
from modules.kit import Module, Store

Wrap = Callable[[Any], Store]


def as_it_is(work: Any) -> Store:
    """The store that a tool is given in the product."""
    return work


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one tenant who calls tools of one module; also the tools' context. `wrap` may change the store."""

    database: Database
    module: Module
    tenant_id: UUID
    user_id: UUID
    wrap: Wrap = as_it_is

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[Store]:
        async with self.database.personal(self.tenant_id, self.user_id) as work:
            yield self.wrap(work)

    def store(self) -> AbstractAsyncContextManager[Store]:
        return self._open()

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        return None

    async def call(self, tool_name: str, **params: Any) -> dict[str, Any]:
        """Validate `params`, run the tool, and give its result as JSON would."""
        tool = next(tool for tool in self.module.tools if tool_name in (tool.name, *tool.aliases))
        arguments = tool.arguments.model_validate(params)
        given = {name: getattr(arguments, name) for name in tool.arguments.model_fields}
        result = await tool.run(self, **given)
        return tool.result.model_validate(result).model_dump(mode="json")
