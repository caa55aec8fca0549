"""Every page with made-up contents: for tests of their look, and for eyes::

python -m tests.browser.gallery FOLDER     # screenshots: light, dark, narrow, Japanese
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from broker.identity.settings import IdentitySettings
from broker.vault.vault import NotAdopted
from broker.web.api_reference import FieldEntry, OperationEntry, OperationGroup
from broker.web.app import build_identity_app
from broker.web.connect_urls import ConnectQueue
from broker.web.i18n import PageError, render_contact
from broker.web.web_dependencies import WebDependencies, build_web_dependencies
from core.config.settings import Settings
from core.disk_errors import DiskFull
from core.errors import Invalid, LimitReached, Unavailable
from core.http_server.server import HttpServer, run_http_server
from tests.support.chromium import chromium

AT = datetime(2026, 11, 22, 1, 5, tzinfo=UTC)
CONSENT: Mapping[str, Any] = {
    "client": "Claude Code",
    "host": "",
    "destination": "127.0.0.1:33418",
    "loopback": True,
    "unknown": False,
    "email": "ada@acme.test",
    "tenant": "Acme",
    "scopes": ["mcp:read", "mcp:write"],
    "fields": {"request": "x" * 40},
}
ACCOUNT: Mapping[str, Any] = {
    "email": "ada@acme.test",
    "tenant": "Acme",
    "done": "grant_revoked",
    "providers": [("google", "Google"), ("github", "GitHub")],
    "identities": [
        {"id": "1", "provider": "Google", "email": "ada@acme.test", "last_sign_in_at": AT},
        {"id": "2", "provider": "GitHub", "email": "ada@home.test", "last_sign_in_at": AT},
    ],
    "grants": [
        {"id": "1", "client": "Claude Code", "scopes": ["mcp:read", "mcp:write"], "created_at": AT, "last_used_at": AT},
        {"id": "2", "client": "Cursor", "scopes": ["mcp:read"], "created_at": AT, "last_used_at": AT},
    ],
    "tokens": [
        {"id": "1", "name": "laptop", "scopes": ["mcp:read", "mcp:write"], "read_only": False, "created_at": AT,
         "last_used_at": AT, "expires_at": None},
        {"id": "2", "name": "nightly-report-of-the-finance-and-controlling-department",
         "scopes": ["admin:read", "mcp:read"], "read_only": True, "created_at": AT, "last_used_at": None,
         "expires_at": AT},
    ],
    "mandates": [
        {"id": "1", "title": "nightly-report-of-the-finance-and-controlling-department", "purpose": "schedule",
         "tools": "github.list_repositories, notion.search_pages", "client": "Claude Code", "created_at": AT,
         "waits": True, "last_used_at": None, "expires_at": AT},
        {"id": "2", "title": "Create project", "purpose": "job", "tools": "supabase.create_project", "client": "",
         "created_at": AT, "waits": False, "last_used_at": AT, "expires_at": AT},
    ],
    "sessions": [
        {"id": "1", "current": True, "browser": "Chrome, Windows", "address": "192.0.2.7", "method": "google",
         "created_at": AT, "last_seen_at": AT},
        {"id": "2", "current": False, "browser": "", "address": "2001:db8::1", "method": "link",
         "created_at": AT, "last_seen_at": AT},
    ],
}  # fmt: skip
OWN: Mapping[str, Any] = {
    "type": "B", "name": "ada@vendor.test", "state": "connected", "cause": "other", "role": "", "site": "Acme",
    "scopes": ("read",), "provider": "atlassian", "warning": "",
}  # fmt: skip
SHARED: Mapping[str, Any] = {**OWN, "name": "team@vendor.test", "role": "Support", "site": ""}
BROKEN: Mapping[str, Any] = {**OWN, "state": "broken", "cause": "lost_rotation", "site": ""}
SERVICES: Mapping[str, Any] = {
    "email": "ada@acme.test",
    "tenant": "Acme",
    "done": "connected",
    "done_title": "Jira",
    "open": 2,
    "services": [
        {"name": "jira", "title": "Jira", "own": OWN, "shared": None, "state": "connected", "connectable": True},
        {"name": "github", "title": "GitHub", "own": None, "shared": SHARED, "state": "connected", "connectable": True},
        {"name": "notion", "title": "Notion", "own": BROKEN, "shared": None, "state": "broken", "connectable": True},
        {
            "name": "google_calendar",
            "title": "Google Calendar",
            "own": None,
            "shared": None,
            "state": "none",
            "connectable": True,
        },
        {
            "name": "confluence",
            "title": "Confluence",
            "own": OWN,
            "shared": None,
            "state": "misconfigured",
            "connectable": True,
        },
        {"name": "fitbit", "title": "Fitbit", "own": None, "shared": None, "state": "none", "connectable": False},
    ],
    "by_roles": [
        {**BROKEN, "module": "jira", "title": "Jira", "role": "Finance and controlling", "role_id": "1"},
        {**SHARED, "module": "github", "title": "GitHub", "role": "Support", "role_id": "2"},
    ],
    "more": 3,
    "refused": [
        {
            "provider": "atlassian",
            "role": "Support",
            "cause": "secret_expired",
            "redirect_uri": "https://mcpist.acme.test/connect/callback/atlassian",
        },
    ],
}
OAUTH_WAY: Mapping[str, Any] = {
    "kind": "oauth", "provider": "atlassian", "title": "Atlassian", "help_url": "", "manage_url": "", "again": False,
    "reach_url": "", "installs": True, "scopes": ("read:jira-work", "read:jira-user", "https://www.googleapis.com/auth/calendar.events.readonly"),
    "more_scopes": ("write:jira-work",), "offers_writing": True, "writing": False,
    "fixed_scopes": False, "joined": ["Jira Service Management"],
    "also": [
        {"name": "confluence", "title": "Confluence", "taken": False,
         "adds": ("read:confluence-content.all", "read:confluence-space.summary")},
        {"name": "compass", "title": "Compass", "adds": (), "taken": True},
    ],
}  # fmt: skip
KEY_WAY: Mapping[str, Any] = {
    "kind": "key",
    "provider": "atlassian",
    "title": "Atlassian",
    "help_url": "https://vendor.test/me",
    "user_kind": "email",
}
SERVICE: Mapping[str, Any] = {
    "email": "ada@acme.test",
    "tenant": "Acme",
    "name": "jira",
    "title": "Jira",
    "done": "",
    "after": "",
    "refused": "",
    "other": None,
    "own": None,
    "shared": [],
    "lacking": (),
    "roles": [],
    "role_id": "",
    "role": "",
    "queue": ConnectQueue(("notion", "github"), 4),
    "queue_fields": {"then": "notion,github", "of": "4"},
    "skip": "/connect/notion?then=github&of=4",
    "standing": "none",
    "reading": ("search_issues", "get_issue"),
    "writing": ("create_issue",),
    "ways": [OAUTH_WAY],
    "unregistered": [],
    "administers": False,
}
CONNECTED_SERVICE: Mapping[str, Any] = {
    **SERVICE,
    "standing": "connected",
    "done": "connected",
    "own": OWN,
    "shared": [SHARED],
    "lacking": ("read:jira-user",),
    "roles": [("1", "Support"), ("2", "Sales")],
    "ways": [{**OAUTH_WAY, "again": True}],
    "queue": ConnectQueue(),
    "queue_fields": {},
    "skip": "",
}
KEY_SERVICE: Mapping[str, Any] = {
    **CONNECTED_SERVICE,
    "title": "Toggl",
    "done": "",
    "own": {**OWN, "type": "A"},
    "standing": "away",
    "lacking": (),
    "ways": [KEY_WAY],
    "refused": "key_not_accepted",
    "other": {"before": "ada@vendor.test", "now": "eve@vendor.test"},
    "role_id": "1",
    "role": "Support",
}
UNREGISTERED_SERVICE: Mapping[str, Any] = {
    **SERVICE,
    "ways": [],
    "unregistered": [
        {
            "title": "Atlassian",
            "id": "atlassian",
            "explained": "",
            "redirect_uri": "https://mcpist.acme.test/connect/callback/atlassian",
        },
        {
            "title": "GitHub",
            "id": "github",
            "explained": "github",
            "redirect_uri": "https://mcpist.acme.test/connect/callback/github",
        },
        {
            "title": "GitHub (OAuth App)",
            "id": "github_oauth_app",
            "explained": "github_oauth_app",
            "redirect_uri": "https://mcpist.acme.test/connect/callback/github_oauth_app",
        },
    ],
    "administers": True,
    "own": BROKEN,
}
QUESTION: Mapping[str, Any] = {
    "flow": "1",
    "services": "Jira, Confluence",
    "role": "",
    "email": "ada@acme.test",
    "untold": False,
    "account": "eve@vendor.test",
    "before": ("ada@vendor.test",),
    "sites": [
        {"id": "1", "name": "Acme", "url": "https://acme.atlassian.test", "missing": ""},
        {"id": "2", "name": "Umbrella", "url": "", "missing": "Confluence"},
    ],
}
REFERENCE: Mapping[str, Any] = {
    "groups": (
        OperationGroup(
            "tokens",
            (
                OperationEntry(
                    "post.tokens",
                    "POST",
                    "/api/v1/tokens/a-rather-long-path-that-has-to-break-somewhere/{token_id}",
                    "Create an API token",
                    "Its scopes cannot exceed the caller's.",
                    "user",
                    ("mcp:write", "admin:write"),
                    True,
                    (FieldEntry("Idempotency-Key", "string | null, header", "Key chosen by the caller.", False),),
                    (FieldEntry("name", "string", "Name that tells tokens apart.", True),),
                    (FieldEntry("token", "string", "The token, returned only once.", True),),
                    "201",
                    "curl -X POST https://mcpist.test/api/v1/tokens \\\n  -H 'Content-Type: application/json'",
                ),
            ),
        ),
    ),
    "query": "token",
    "count": 1,
    "is_narrow": True,
}
PROVIDERS = [("google", "Google"), ("github", "GitHub"), ("microsoft", "Microsoft"), ("sso", "Acme single sign-on")]
PAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sign-in": ("sign_in.html", {"providers": PROVIDERS, "next": "/account", "notice": "session_ended"}),
    "sign-in-none": ("sign_in.html", {"providers": [], "next": "", "notice": ""}),
    "link": ("link.html", {"code": "c" * 43, "email": "ada@acme.test", "tenant": "Acme", "next": "", "providers": []}),
    "link-providers": (
        "link.html",
        {"code": "c" * 43, "email": "ada@acme.test", "tenant": "Acme", "next": "", "providers": PROVIDERS},
    ),
    "tenant": (
        "tenant.html",
        {"email": "ada@acme.test", "choices": [("1", "Acme"), ("2", "Umbrella Corporation")], "fields": {}},
    ),
    "consent": ("consent.html", CONSENT),
    "consent-dynamic": ("consent.html", {**CONSENT, "unknown": True}),
    "consent-first": (
        "consent.html",
        {
            **CONSENT,
            "unknown": True,
            "loopback": False,
            "destination": "agent.example.com",
            "host": "agent.example.com",
        },
    ),
    "consent-app": (
        "consent.html",
        {**CONSENT, "client": "Cursor", "loopback": False, "destination": "cursor:", "scopes": ["mcp:read"]},
    ),
    "refused": (
        "refused.html",
        {"email": "eve@elsewhere.test", "provider": "Google", "contact": render_contact("it@acme.test")},
    ),
    "signed-out": ("signed_out.html", {}),
    "account": ("account.html", ACCOUNT),
    "account-no-tokens": (
        "account.html",
        {**ACCOUNT, "tokens": [], "grants": [], "mandates": [], "done": "token_revoked"},
    ),
    "api-reference": ("api_reference.html", REFERENCE),
    "connect-list": ("connect_list.html", SERVICES),
    "connect": ("connect.html", SERVICE),
    "connect-connected": ("connect.html", CONNECTED_SERVICE),
    "connect-key": ("connect.html", KEY_SERVICE),
    "connect-unregistered": ("connect.html", UNREGISTERED_SERVICE),
    "connect-question": ("connect_question.html", QUESTION),
    "connect-question-role": ("connect_question.html", {**QUESTION, "role": "Support", "sites": []}),
    "connect-question-untold": (
        "connect_question.html",
        {**QUESTION, "account": "", "before": ("",), "untold": True, "sites": []},
    ),
    "connect-question-site": ("connect_question.html", {**QUESTION, "before": ()}),
}
PROBLEMS: Mapping[str, Exception] = {
    "problem": PageError("other_browser"),
    "problem-provider": PageError("provider_away", 502, provider="Google"),
    "problem-invalid": Invalid("the parameter 'state' came twice; send it once"),
    "problem-many": LimitReached("x", 30.0),
    "problem-away": Unavailable(),
    "problem-connect": PageError("connect_setup", 403, title="Atlassian", module="jira"),
    "problem-refused": PageError("connect_refused", 403, title="Atlassian", module="jira"),
    "problem-question-over": PageError("connect_question_over", 404),
    "problem-copy": NotAdopted(),
    "problem-internal": RuntimeError("never shown"),
    "problem-disk-full": DiskFull(),
    "problem-document-off": PageError("client_document_off", host="agent.example.com"),
    "problem-document-away": PageError("client_document_away", 503, host="agent.example.com"),
    "problem-document-wrong": PageError("client_document_wrong", host="agent.example.com"),
    "problem-redirect-uri": PageError("redirect_uri", uri="https://agent.example.com/oauth/callback?" + "x" * 300),
    "problem-not-found": PageError("not_found", 404),
}


@contextlib.asynccontextmanager
async def gallery(**replaced: Mapping[str, Any]) -> AsyncGenerator[str]:
    """Serve every page under /gallery/<name>; its URL. `replaced` are other contents, by the name of the page."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        parts = build_web_dependencies(Settings(home=Path("/nowhere"), public_url=url), IdentitySettings(), lambda: AT)
        pages = {name: (template, replaced.get(name, context)) for name, (template, context) in PAGES.items()}
        async with run_http_server(HttpServer(build_identity_app(parts, _routes(parts, pages))), listener):
            yield url


def _routes(parts: WebDependencies, pages: Mapping[str, tuple[str, Mapping[str, Any]]]) -> list[Route]:
    async def page(request: Request) -> Response:
        name = request.path_params["name"]
        if name in PROBLEMS:
            raise PROBLEMS[name]
        template, context = pages[name]
        return parts.pages.render(request, template, **context)

    async def go_on(request: Request) -> Response:
        return parts.pages.render_forward_page(request, request.query_params["to"])

    async def frame(request: Request) -> Response:
        """A page of somebody who wants to have one of ours inside it."""
        html = f'<!doctype html><iframe src="{request.query_params["of"]}"></iframe>'
        return HTMLResponse(html, headers={"Content-Security-Policy": "frame-src *"})

    return [Route("/gallery/{name}", page), Route("/frame", frame), Route("/go-on", go_on, methods=["GET", "POST"])]


VIEWS: Mapping[str, Mapping[str, Any]] = {
    "light": {"viewport": {"width": 1000, "height": 900}},
    "dark": {"viewport": {"width": 1000, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 320, "height": 640}},
    "japanese": {"viewport": {"width": 700, "height": 900}, "locale": "ja-JP"},
    "narrow-japanese": {
        "viewport": {"width": 320, "height": 640},
        "locale": "ja-JP",
        "color_scheme": "dark",
        "java_script_enabled": False,
    },
}


async def main(folder: Path) -> None:
    """Take the screenshots."""
    folder.mkdir(parents=True, exist_ok=True)
    async with gallery() as url, chromium() as browser:
        for view, options in VIEWS.items():
            context = await browser.new_context(**options)
            page = await context.new_page()
            for name in (*PAGES, *PROBLEMS):
                await page.goto(f"{url}/gallery/{name}")
                await page.screenshot(path=folder / f"{name}.{view}.png", full_page=True)
            await context.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
