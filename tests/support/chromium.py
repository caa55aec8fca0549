"""The system's Chromium without a window, driven by playwright.

Tests that need it are marked `browser` and skip, saying so, where the machine has none.
"""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from weakref import WeakSet

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, async_playwright

_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def program() -> str | None:
    """The browser's file, or None; the one without any window, where it is, takes two thirds of the CPU."""
    return next((found for name in _PROGRAMS if (found := shutil.which(name))), None)


@contextlib.asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """A browser that calls nobody by itself; skips the test where there is none. On the loop of :func:`keep_browser`
    it is the same for all."""
    kept = _KEPT.get(asyncio.get_running_loop())
    if kept is None:
        async with _launch() as browser:
            yield browser
        return
    if not kept.browsers:
        kept.browsers.append(await kept.stack.enter_async_context(_launch()))
    browser = kept.browsers[0]
    before = set(browser.contexts)
    try:
        yield browser
    finally:
        await close_contexts(one for one in browser.contexts if one not in before and one not in _KEPT_CONTEXTS)


def keep_context(context: BrowserContext) -> None:
    """Let a context outlive the block of :func:`chromium` in which it was made; who asks for that wipes it."""
    _KEPT_CONTEXTS.add(context)


async def close_contexts(contexts: Iterable[BrowserContext]) -> None:
    """Close contexts with their pages, which would go on working otherwise."""
    await asyncio.gather(*(context.close() for context in contexts))


@contextlib.asynccontextmanager
async def _launch() -> AsyncGenerator[Browser]:
    found = program()
    if found is None:
        pytest.skip("CHROMIUM IS MISSING, no page was tried in a browser; install it (apt-get install chromium)")
    quiet = ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=[*quiet, *sandbox])
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(frozen=True, slots=True)
class _KeptBrowser:
    """The browser of a loop, once somebody has asked for it."""

    stack: contextlib.AsyncExitStack
    browsers: list[Browser] = field(default_factory=list[Browser])


_KEPT_CONTEXTS: WeakSet[BrowserContext] = WeakSet()
_KEPT: dict[asyncio.AbstractEventLoop, _KeptBrowser] = {}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def keep_browser() -> AsyncGenerator[None]:
    """Let all tests on the session's loop share one browser; to start one takes two seconds."""
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as stack:
        _KEPT[loop] = _KeptBrowser(stack)
        yield
        del _KEPT[loop]


@dataclass(slots=True)
class Watched:
    """One browser context and everything in it that should not happen."""

    context: BrowserContext
    complaints: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)
    """Of every request that was sent."""

    async def page(self) -> Page:
        """A new page; what it opens is watched too."""
        return await self.context.new_page()

    def check(self, *origins: str) -> None:
        """Fails if there was a console error, a CSP report, a dialog, or a request to another origin than these."""
        assert not self.complaints, "\n".join(self.complaints)
        assert self.origins <= set(origins), f"requests went to {self.origins - set(origins)}"


def watch(context: BrowserContext) -> Watched:
    """Listen to a context from now on."""
    watched = Watched(context)

    def heard(message: ConsoleMessage) -> None:
        # The browser writes a line for every page with an error status, and those are meant to be seen.
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            watched.complaints.append(f"{message.type}: {message.text}")

    async def asked(dialog: Dialog) -> None:
        watched.complaints.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    def sent(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https"):
            watched.origins.add(f"{parts.scheme}://{parts.netloc}")

    context.on("console", heard)
    context.on("dialog", asked)
    context.on("request", sent)
    context.on("weberror", lambda error: watched.complaints.append(f"script error: {error.error}"))
    return watched
