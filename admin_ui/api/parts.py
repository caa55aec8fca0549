"""What the routes of the control plane work with."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from core.db import Database


@dataclass(frozen=True, slots=True)
class AdminParts:
    """`console` is the database in the control plane's role; `modules` are switched on in a new tenant."""

    console: Database
    modules: tuple[str, ...] = ()


async def _parts(request: Request) -> AdminParts:
    return request.app.state.admin


async def _console(request: Request) -> Database:
    return request.app.state.admin.console


Parts = Annotated[AdminParts, Depends(_parts)]
Console = Annotated[Database, Depends(_console)]
