"""Pages: templates of ours, in the reader's language, with headers that allow a browser nothing else.

The templates and what each has to be given besides `request` (times are aware, names are anybody's text)::

    sign_in.html     providers [(id, label)], next, notice (a key under ``sign_in.notice.`` or "")
    link.html        code, email, tenant (names, or ""), next, providers [(id, label)]
    tenant.html      email, choices [(tenant_id, name)], fields {hidden}
    consent.html     client, host (verified, or ""), destination, loopback, unknown, email, tenant, scopes, fields
    refused.html     email, provider, contact (or "")
    signed_out.html  -
    account.html     see broker/web/templates/account.html
    connect*.html    see broker/web/connect_pages.py and broker/web/connect_views.py

Forms carry hidden fields and are posted to our own paths; that they come from our own pages is checked for all
requests together (broker/web/security_headers.py). A page needs no script, and there is none.
"""

import functools
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from broker.vault.vault import NotAdopted
from broker.web.i18n import Language, PageError, Translations, describe_destination, isolate_name, negotiate_language
from broker.web.security_headers import build_page_headers
from core.disk_errors import DiskFull
from core.errors import Conflict, Forbidden, LimitReached, MCPistError, NotFound, Unavailable

TEMPLATES = Path(__file__).with_name("templates")
_NEVER_FOLLOWED = frozenset(
    {"", "about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"}
)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


class Pages:
    """Makes pages of templates."""

    def __init__(self) -> None:
        self._templates = _load_templates()
        self._style = Markup((TEMPLATES / "pages.css").read_text())  # noqa: S704 a file of ours

    def render(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        alone: bool = False,
        **context: object,
    ) -> HTMLResponse:
        """A page; `alone` cuts it off from the window that opened it (never on the way of an authorization)."""
        texts = Translations(negotiate_language(request.headers.get("accept-language", "")))
        nonce = secrets.token_urlsafe(16)
        html = self._templates.get_template(template).render(
            t=texts,
            lang=texts.language,
            when=partial(_format_time, texts.language),
            nonce=nonce,
            style=self._style,
            **context,
        )
        return HTMLResponse(html, status, {**build_page_headers(nonce, alone=alone), **(headers or {})})

    def render_forward_page(self, request: Request, url: str) -> Response:
        """Send the browser on to another site after a form was posted.

        A page and not a redirect: Chromium holds the redirects that follow a posted form, all of them, against the
        page's `form-action`, and nobody knows over how many hosts a company signs its people in.

        Raises:
            ValueError: the URL is none that a browser could safely be sent to.
        """
        scheme = urlsplit(url).scheme.lower()
        if scheme in _NEVER_FOLLOWED or any(ord(letter) <= 32 for letter in url):
            raise ValueError("this URL is not for a browser")
        is_app = scheme not in ("http", "https")
        return self.render(request, "go_on.html", url=url, destination=describe_destination(url), is_app=is_app)

    def render_error(self, request: Request, error: MCPistError) -> Response:
        """The page of an expected failure: what happened, and what to do."""
        path: str = request.scope["path"]
        (key, status, words), home = _describe_error(error, path), _get_home_path(path)
        retry_after = getattr(error, "retry_after", None)
        headers = {"Retry-After": str(max(1, int(retry_after)))} if retry_after is not None else {}
        return self.render(request, "problem.html", status=status, headers=headers, key=key, words=words, home=home)


_KEYS: Mapping[type[MCPistError], str] = {
    NotFound: "not_found",
    Conflict: "conflict",
    Forbidden: "forbidden",
    LimitReached: "too_many",
    Unavailable: "unavailable",
}


@functools.cache
def _load_templates() -> jinja2.Environment:
    """Create the environment of the templates, which are compiled at first use (some 15 ms each) for the whole
    process."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Any] = cast("Any", templates).filters  # jinja2 does not say what is in it
    filters["shown"] = isolate_name
    return templates


def _get_home_path(path: str) -> str:
    """Return the path that an error page links to: the section that it belongs to."""
    return next((prefix for prefix in ("/connect", "/sign-in") if path.startswith(prefix)), "/account")


def _describe_error(error: MCPistError, path: str) -> tuple[str, int, Mapping[str, Any]]:
    """Errors without words of their own on pages are told by their kind: their texts are for developers."""
    if isinstance(error, PageError):
        return error.key, error.http_status, error.words
    if isinstance(error, NotAdopted):
        return "copy", error.status, {}
    if isinstance(error, DiskFull):
        return "disk_full", error.status, {}
    if isinstance(error, NotFound) and path.startswith("/connect"):
        return "connect_nothing", error.status, {}
    if error.status >= 500:
        return ("unavailable" if isinstance(error, Unavailable) else "internal"), error.status, {}
    return _KEYS.get(type(error), "invalid"), error.status, {"detail": str(error)}


def _format_time(language: Language, moment: datetime) -> Markup:
    """A moment in UTC, readable by people and by programs."""
    at = moment.astimezone(UTC)
    return Markup('<time datetime="%s">%s</time>') % (at.strftime("%Y-%m-%dT%H:%M:%SZ"), _READABLE[language](at))


def _format_english(at: datetime) -> str:
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def _format_japanese(at: datetime) -> str:
    return f"{at.year}年{at.month}月{at.day}日 {at:%H:%M} UTC"


_READABLE: Mapping[Language, Callable[[datetime], str]] = {"en": _format_english, "ja": _format_japanese}
