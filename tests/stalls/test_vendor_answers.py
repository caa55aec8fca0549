"""What a vendor answers keeps the event loop no more busy than what a client sends."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import orjson
import pytest

from broker.vault.credential_store import CredentialStore
from core.api import security
from core.secret import Secret
from gateway.catalogue import build_catalogue
from modules.github import MODULE
from tests.stalls.requests import post
from tests.stalls.surface import GENEROUS, Surface
from tests.stalls.test_stalls import GOAL_SECONDS, MOST_SECONDS, SHOWN
from tests.stalls.values import SHAPES, UNITS, shape
from tests.stalls.vendor import TOKEN, HostileGitHub, hostile_github
from tests.stalls.watch import collected_as_in_the_product
from tests.support.identity import identity_on
from tests.support.mcp_client import envelope
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, product_on

pytestmark = [pytest.mark.no_canary("the canary's own work would be measured"), pytest.mark.timeout(300)]

SIZE = 7_500_000
"""Bytes: a little less than an answer may have."""

REPO = {"owner": "mona", "repo": "app"}
CALLS: dict[str, dict[str, Any]] = {
    "get_me": {},
    "list_repositories": {},
    "list_commits": REPO,
    "get_commit": {**REPO, "ref": "main"},
    "list_branches": REPO,
    "get_file_contents": {**REPO, "path": "README.md"},
    "list_issues": REPO,
    "get_issue": {**REPO, "issue_number": 1, "comments": True},
    "list_pull_requests": REPO,
    "get_pull_request": {**REPO, "pull_number": 2, "include": ["files", "reviews"]},
    "search_issues": {"q": "is:issue x"},
    "search_code": {"q": "x"},
    "search_repositories": {"q": "app"},
    "list_user_events": {},
    "list_notifications": {},
    "list_workflow_runs": REPO,
    "get_latest_release": REPO,
    "create_issue": {**REPO, "title": "t"},
}

FILLED = {
    "get_me", "list_repositories", "list_commits", "get_commit", "list_branches", "get_file_contents", "list_issues",
    "get_issue", "search_repositories",
}  # fmt: skip
"""Those for which the vendor has something to inflate."""


@dataclass(frozen=True)
class VendorAnswersApp:
    surface: Surface
    github: HostileGitHub

    async def stall(self, tool: str) -> tuple[float, int]:
        """The longest turn of a call, the least of three where it is long; and the size of the answer."""
        arguments = {"module": "github", "tool_name": tool, "params": CALLS[tool]}
        body = orjson.dumps(envelope("2025-11-25", "tools/call", {"name": "call", "arguments": arguments}))
        found, size = float("inf"), 0
        for _ in range(3):
            answer = await self.surface.ask(post(self.surface, body))
            found, size = min(found, answer.stall), answer.size
            if found < GOAL_SECONDS / 2:
                break
        return found, size


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[VendorAnswersApp]:
    with hostile_github() as github, mock.patch.multiple(security, REQUESTS_PER_SECOND=1e6, REQUEST_BURST=1_000_000):
        world = github.double.world
        world.token(TOKEN, "mona")
        app = world.repository("mona", "app", description="The app")
        world.commit(app, {"README.md": b"# app\n"}, "First")
        world.issue(app, "An issue", "mona")
        assert MODULE.vendor is not None
        module = replace(MODULE, vendor=replace(MODULE.vendor, base_url=github.double.url))
        allowed: dict[str, Any] = {"allowed_private_hosts": (urlsplit(github.double.url).netloc,)}
        async with (
            product_on(database, tmp_path / "home", catalogue=build_catalogue([module])) as product,
            identity_on(product, providers=False, **GENEROUS, **allowed) as identity,
        ):
            tenant = await product.tenant("default")
            ada = await product.person(tenant, "ada@acme.test", allow=["*"])
            credentials = CredentialStore(identity.zone.database, identity.zone.vault, clock=product.clock)
            owner = await credentials.resolve_owner(tenant.id, email=ada.email, role="")
            await credentials.put(ACTOR, tenant.id, "github", owner, Secret(TOKEN), "mona")
            with collected_as_in_the_product():
                yield VendorAnswersApp(Surface(identity, ada, ada, "", {}), github)


async def test_inflated_answers(app: VendorAnswersApp) -> None:
    worst: dict[str, tuple[float, str]] = {}
    used: set[str] = set()
    for number, tool in enumerate(CALLS):
        for unit in (UNITS[number % len(UNITS)], "\u200b", "\u200ba", "\ufe0f\u200d"):
            app.github.unit, app.github.size = unit, SIZE
            stall, size = await app.stall(tool)
            used |= {tool} if size > 300 else set()
            worst[tool] = max(worst.get(tool, (0.0, "")), (stall, repr(unit)))
    report(worst)
    assert used >= FILLED, f"these answers were read: {used}"


async def test_answers_of_other_forms(app: VendorAnswersApp) -> None:
    worst: dict[str, tuple[float, str]] = {}
    documents = {each: shape(each, SIZE) for each in SHAPES}
    hidden = "\u200ba" * (SIZE // 4)
    file = {"type": "file", "encoding": "base64", "path": "x", "sha": "a" * 40, "size": 1}
    issue = {"number": 1, "title": "t", "state": "open", "created_at": "x", "html_url": "x", "updated_at": "x"}
    documents |= {
        "more objects": b"[" + b"{}," * (SIZE // 3) + b"{}]",
        "more numbers": b"[" + b"1," * (SIZE // 2) + b"1]",
        "a file of hidden characters": orjson.dumps(
            file | {"content": base64.b64encode(hidden[:350_000].encode()).decode()}
        ),
        "a file that is too large": orjson.dumps(file | {"content": "QUFB" * (SIZE // 4)}),
        "a file with a long name": orjson.dumps(file | {"path": hidden, "content": "QUFB"}),
        "a file in EUC-JP": orjson.dumps(
            file | {"content": base64.b64encode(("あ" * 350_000).encode("euc_jp")).decode()}
        ),
        "a file in nearly EUC-JP": orjson.dumps(
            file | {"content": base64.b64encode(("あ" * 350_000).encode("euc_jp") + b"\xff").decode()}
        ),
        "a long issue": orjson.dumps([issue | {"title": hidden, "body": hidden[: SIZE // 8]}]),
        "100 long issues": orjson.dumps([issue | {"title": "t", "body": hidden[: SIZE // 400]}] * 100),
        "many labels": orjson.dumps([issue | {"labels": [{"name": "a\u200b"}] * 90_000}]),
        "a page": b"<" * SIZE,
        "a message": b'{"message":"' + b"must include " * (SIZE // 13) + b'"}',
        "many errors": b'{"message":"x","errors":[' + b'{"field":"a","code":"b"},' * 60_000 + b"{}]}",
        "objects with a name": b"[" + b'{"name":"a"},' * 90_000 + b"{}]",
    }
    for what, raw in documents.items():
        for status in (200, 404, 422):
            app.github.raw, app.github.status = raw, status
            for tool in ("get_file_contents", "list_issues"):
                stall, _ = await app.stall(tool)
                worst[f"{status} {what}"] = max(worst.get(f"{status} {what}", (0.0, "")), (stall, tool))
    report(worst)


async def test_answers_with_long_headers(app: VendorAnswersApp) -> None:
    worst: dict[str, tuple[float, str]] = {}
    names = ("Link", "Retry-After", "Date", "X-RateLimit-Reset", "X-OAuth-Scopes", "Content-Type", "Cache-Control")
    values = {"<": "<" * 7_000, "links": '<a>;rel="next' * 500, "digits": "9" * 7_000, "scopes": "a, " * 2_000}
    for name in names:
        for what, value in values.items():
            for status in (200, 403):
                app.github.raw, app.github.status, app.github.headers = b"[]", status, {name: value}
                stall, _ = await app.stall("list_issues")
                worst[name] = max(worst.get(name, (0.0, "")), (stall, f"{what} {status}"))
    report(worst)


def report(worst: dict[str, tuple[float, str]]) -> None:
    print()
    for what, (stall, with_what) in sorted(worst.items(), key=lambda each: -each[1][0])[:SHOWN]:
        print(f"{stall * 1e3:8.1f} ms  {what:40} {with_what}")
    assert not {what: found for what, found in worst.items() if found[0] > MOST_SECONDS}
