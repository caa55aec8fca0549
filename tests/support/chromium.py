"""The system's Chromium without a window, driven by playwright.

Tests that need it are marked `browser` and skip, saying so, where the machine has none.
"""

import contextlib
import os
import shutil
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, async_playwright

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program() -> str | None:
    """The browser's file, or None."""
    return next((found for name in _PROGRAMS if (found := shutil.which(name))), None)


@contextlib.asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    """A browser that calls nobody by itself; skips the test where there is none."""
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
