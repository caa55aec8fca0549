"""The one place that chooses where a command acts: on this machine's data folder, or at a server.

A server that is named (``--server``, MCPIST_SERVER) always counts. Otherwise whoever has a data folder or a database
here is its operator; on a machine without either, the only stored login counts.
"""

import contextlib
import os
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import Invalid
from core.settings import Settings

if TYPE_CHECKING:
    from gateway.cli.remote.api import Api
    from gateway.cli.remote.http import Http
    from gateway.cli.remote.logins import Logins

OPTION = "--server"
VARIABLE = "MCPIST_SERVER"
NOT_HERE = (
    "this command works on the machine where MCPist keeps its data, and not at a server; run it there, without "
    f"{OPTION} and with {VARIABLE} unset"
)

_named: ContextVar[str | None] = ContextVar("named server", default=None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A server; `named` is False for the only stored login, which nobody has named."""

    server: str
    named: bool


def first(arguments: Sequence[str]) -> list[str]:
    """The arguments with ``--server URL`` at their beginning, wherever it stood: it is for every command."""
    before, after = list(arguments), []
    if "--" in before:
        place = before.index("--")
        before, after = before[:place], before[place:]
    hoisted, rest = list[str](), list[str]()
    words = iter(before)
    for word in words:
        if word == OPTION:
            hoisted += [word, *([value] if (value := next(words, None)) is not None else [])]
        elif word.startswith(OPTION + "="):
            hoisted.append(word)
        else:
            rest.append(word)
    return [*hoisted, *rest, *after]


def name(server: str | None) -> None:
    """Remember what this command line names, for :func:`chosen`."""
    _named.set(server or None)


def named() -> str | None:
    """The URL of the server that was named.

    Raises:
        Invalid: it is none.
    """
    from gateway.cli.remote.discovery import server_url

    given = _named.get()
    return None if given is None else server_url(given)


def refuse_named() -> None:
    """For what has no counterpart at a server.

    Raises:
        Invalid: one was named.
    """
    if _named.get() is not None:
        raise Invalid(NOT_HERE)


def chosen(settings: Settings) -> Chosen | None:
    """Where a command acts that could do both; None is here.

    Raises:
        Invalid: nothing is here, and somebody is signed in at several servers.
    """
    if (server := named()) is not None:
        return Chosen(server, named=True)
    if _operates(settings):
        return None
    servers = stored().servers()
    if len(servers) > 1:
        raise Invalid(f"you are signed in at {', '.join(servers[:10])}: say which one with {OPTION} URL")
    return Chosen(servers[0], named=False) if servers else None


def stored() -> "Logins":
    """This user's logins."""
    from gateway.cli.remote.logins import Logins, config_folder

    return Logins(config_folder(os.environ))


@contextlib.contextmanager
def connected(settings: Settings, server: Chosen) -> Generator["Api"]:
    """A server's admin API. An API token of the environment comes before a stored login, at a server that was named."""
    from gateway.cli.remote.access import Given, SignedIn
    from gateway.cli.remote.api import Api

    with http_to(server.server) as http:
        given = settings.token if server.named else None
        access = SignedIn(http, stored(), server.server) if given is None else Given(given)
        yield Api(http, server.server, access)


def http_to(server: str) -> "Http":
    """A client for one server."""
    from gateway.cli.remote.http import Http

    return Http(server)


def _operates(settings: Settings) -> bool:
    return settings.database_url is not None or settings.home.exists()
