"""Browser contexts that one test after another has, so that the browser need not start a process and parse the console
each time (1 s of CPU, of which 0.6 s are saved).

A context that is given back is wiped: its cookies, storage, routes and further pages. Contexts of another language,
theme or screen are others.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import Browser, Error, Page

from tests.support.chromium import Watched, close_contexts, keep_context, watch

REPORTS = """document.addEventListener('securitypolicyviolation',
  (event) => console.error('CSP', event.violatedDirective, event.blockedURI, event.sourceFile, event.lineNumber))"""
QUIET_PATH = "/console/icon.svg"
"""A page without script: it ends those of the page before and keeps its process."""


@dataclass(slots=True)
class PooledPage:
    """A page in a context of its own, and what is heard of them."""

    kind: str
    watched: Watched
    page: Page


@dataclass(slots=True)
class ContextPool:
    """Contexts of one browser that nobody uses now, by their options."""

    browser: Browser
    idle: dict[str, list[PooledPage]] = field(default_factory=dict[str, list[PooledPage]])
    port: int = 0
    """Of the product that was looked at last: scripts of this address are parsed already."""

    async def take(self, options: Mapping[str, Any]) -> PooledPage:
        """An empty page in a context with these options."""
        kind = repr(sorted(options.items()))
        if waiting := self.idle.get(kind):
            return waiting.pop()
        context = await self.browser.new_context(**options)
        await context.add_init_script(REPORTS)
        keep_context(context)
        watched = watch(context)
        return PooledPage(kind, watched, await watched.page())

    async def give_back(self, used: PooledPage, url: str) -> None:
        """Wipe a context, which has pages of `url`, for the next test; close it where that fails."""
        try:
            await _wipe(used, url)
        except (Error, AssertionError):
            with contextlib.suppress(Error):
                await close_contexts([used.watched.context])
        else:
            self.idle.setdefault(used.kind, []).append(used)


async def _wipe(used: PooledPage, url: str) -> None:
    page, context = used.page, used.watched.context
    assert not page.is_closed()
    for other in context.pages:
        if other is not page:
            await other.close()
    await page.unroute_all()
    await context.unroute_all()
    await context.set_offline(False)
    await page.goto(url + QUIET_PATH)
    await page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
    await context.clear_cookies()


_POOLS: WeakKeyDictionary[Browser, ContextPool] = WeakKeyDictionary()


def get_pool(browser: Browser) -> ContextPool:
    """The pool of a browser, made at the first call."""
    return _POOLS.setdefault(browser, ContextPool(browser))
