"""What the routes of the control plane work with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from admin_ui.api.checks import Checks, NoChecks
from admin_ui.api.installed import InstalledModule
from core.db import Database
from core.directory.farewell import Farewell, unsaid


def _none() -> Mapping[str, InstalledModule]:
    return {}


@dataclass(frozen=True, slots=True)
class AdminParts:
    """`console` is the database in the control plane's role; `modules` are switched on in a new tenant; `checks` looks
    at keys and everything else that can be wrong; `farewell` is said to the vendors of whoever is removed.
    """

    console: Database
    modules: tuple[str, ...] = ()
    installed: Mapping[str, InstalledModule] = field(default_factory=_none)
    checks: Checks = field(default_factory=NoChecks)
    farewell: Farewell = unsaid


async def _parts(request: Request) -> AdminParts:
    return request.app.state.admin


async def _console(request: Request) -> Database:
    return request.app.state.admin.console


Parts = Annotated[AdminParts, Depends(_parts)]
Console = Annotated[Database, Depends(_console)]
