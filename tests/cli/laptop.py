"""A computer without a data folder: `mcpist` as a process of its own there, and a person with a browser beside it."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.cli.conftest import LONG, ROOT, Ended, heard
from tests.clients.browser_person import BrowserPerson
from tests.support.fork_server import create_forked_process

PROGRAM = (sys.executable, "-c", "from cli import main; main()")
Goes = Callable[[str], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Laptop:
    """`folder` is empty at first; `more` is what its environment has besides."""

    folder: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MCPIST_")}
        own = {"MCPIST_HOME": str(self.folder / "home"), "XDG_CONFIG_HOME": str(self.folder / "config")}
        return {**kept, **own, **self.more}

    @property
    def files(self) -> list[Path]:
        """The stored logins."""
        return sorted((self.folder / "config" / "mcpist" / "logins").glob("*.json"))

    async def run(self, *arguments: str, goes: Goes | None = None) -> Ended:
        """Run a command to its end; `goes` is what a person does with the link that it shows."""
        process = await create_forked_process(
            *(*PROGRAM, *arguments),
            cwd=ROOT,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        shown: list[bytes] = []
        async with asyncio.timeout(LONG):
            while line := await process.stderr.readline():
                shown.append(line)
                if goes is not None and line.startswith(b"http"):
                    await goes(line.decode().strip())
            out, _ = await process.communicate()
        code = process.returncode
        assert code is not None
        return heard(arguments, Ended(code, out.decode(), b"".join(shown).decode()))

    async def json(self, *arguments: str, goes: Goes | None = None) -> Any:
        """What a command that succeeds prints with --json."""
        return (await self.run(*arguments, "--json", goes=goes)).json()


@dataclass(slots=True)
class Person:
    """Somebody with a browser of their own. `links` are those that they were shown."""

    issuer: str
    browser: httpx2.AsyncClient
    links: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def sign_in(self, link: str) -> None:
        """Use up a one-time link."""
        await BrowserPerson(self.issuer, link, self.browser).sign_in()

    async def agree(self, link: str) -> None:
        """Follow a link of the command line, press Allow, and come back."""
        await self._decide(link, "allow")

    async def refuse(self, link: str) -> None:
        """The same with the other button."""
        await self._decide(link, "deny")

    def after(self, sign_in_link: str) -> Goes:
        """Sign in anew, then agree."""

        async def goes(link: str) -> None:
            await self.sign_in(sign_in_link)
            await self.agree(link)

        return goes

    async def back(self, url: str) -> httpx2.Response:
        """What the browser shows at the end: the command line's own page."""
        return await self.browser.get(url)

    async def way_back(self, link: str, decision: str = "allow") -> str:
        """Where the browser would go with the answer."""
        self.links.append(link)
        person = BrowserPerson(self.issuer, "", self.browser)
        found = await person.way_back(link, decision)
        self.asked += person.asked
        return found

    async def _decide(self, link: str, decision: str) -> None:
        page = await self.back(await self.way_back(link, decision))
        assert page.status_code == 200, page.text
