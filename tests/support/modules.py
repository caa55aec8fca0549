"""Call a module's tools as a person would, without the gateway: straight on a database."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from core.db import Database
from gateway.module_log import get_module_log
from modules.kit import Module, ModuleLog, ModuleSettings, Store, ToolError

Form = TypeVar("Form", bound=ModuleSettings)
Wrap = Callable[[Any], Store]


def as_it_is(work: Any) -> Store:
    """The store that a tool is given in the product."""
    return work


class NoCollections:
    """The collections of a database that cannot search by meaning."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        async def refuse(*_: Any, **__: Any) -> None:
            raise ToolError("nothing is searched by meaning here", code="unavailable")

        return refuse


@dataclass(frozen=True, slots=True)
class Person:
    """One user of one tenant who calls tools of one module; also the tools' context. `wrap` may change the store;
    `settings` are those of the service."""

    database: Database
    module: Module
    tenant_id: UUID
    user_id: UUID
    wrap: Wrap = as_it_is
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[Store]:
        async with self.database.personal(self.tenant_id, self.user_id) as work:
            yield self.wrap(work)

    def store(self) -> AbstractAsyncContextManager[Store]:
        return self._open()

    @property
    def collections(self) -> NoCollections:
        return NoCollections()

    @property
    def log(self) -> ModuleLog:
        return get_module_log(self.module.name)

    async def get_settings(self, form: type[Form]) -> Form:
        return form.model_validate(self.settings)

    def announce_resource_change(self, uri: str, *, shared: bool = False) -> None:
        """Nobody has subscribed."""

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        return None

    async def call(self, tool_name: str, **params: Any) -> dict[str, Any]:
        """Validate `params`, run the tool, and give its result as JSON would."""
        tool = next(tool for tool in self.module.tools if tool_name in (tool.name, *tool.aliases))
        arguments = tool.arguments.model_validate(params)
        given = {name: getattr(arguments, name) for name in tool.arguments.model_fields}
        result = await tool.run(self, **given)
        return tool.result.model_validate(result).model_dump(mode="json")
