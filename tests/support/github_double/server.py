"""The double on a socket: who asks, whether the request is as described, how often, and only then what for."""

import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson
from aiohttp import web

from tests.support.github_contract import github_contract
from tests.support.github_double import (
    builds,
    code,
    git_data,
    graphql_api,
    issue_parts,
    line_talk,
    people,
    releases,
    talk,
)
from tests.support.github_double.call import Call, Refused, Reply
from tests.support.github_double.file_store import PATH as STORE_PATH
from tests.support.github_double.file_store import FileStore
from tests.support.github_double.world import Token, World
from tests.support.vendor_contract import Contract, Sent
from tests.support.vendor_double import cut_connection

Handler = Callable[[Call], Reply]
ROUTES: dict[tuple[str, str], Handler] = {
    **builds.ROUTES, **releases.ROUTES, **issue_parts.ROUTES, **line_talk.ROUTES, **code.ROUTES, **git_data.ROUTES,
    **talk.ROUTES, **people.ROUTES,
}  # fmt: skip
UPLOAD_ROUTES: dict[tuple[str, str], Handler] = dict(releases.UPLOAD_ROUTES)
# Where a GitHub Enterprise Server has what is at a host of its own elsewhere.
UPLOADS_PATH, GRAPHQL_PATH = "/api/uploads", "/api/graphql"
# GitHub takes slashes in these as they are; OpenAPI 3.0 has no way to say so.
MANY_SEGMENTS = {"path", "ref", "tree_sha", "tag"}
RESET = 1767232800  # 2026-01-01T02:00:00Z
NOW = "Thu, 01 Jan 2026 01:00:00 GMT"


@dataclass
class GitHubDouble:
    """A GitHub of its own. `wrong` lists what was not as the description says, in requests or in its own answers."""

    contract: Contract
    world: World = field(default_factory=World)
    base_path: str = ""
    url: str = ""
    wrong: list[str] = field(default_factory=list[str])
    seen: list[str] = field(default_factory=list[str])
    next_answers: list[Reply | None] = field(default_factory=list[Reply | None])
    """For the next requests that are as described, one each; None lets one through."""
    store: FileStore = field(default_factory=FileStore)
    secrets: list[str] = field(default_factory=list[str])
    replies: list[Reply] = field(default_factory=list[Reply])

    @property
    def origin(self) -> str:
        return self.url.removesuffix(self.base_path)

    @property
    def hosts(self) -> dict[str, str]:
        """Base URLs of GitHub's further hosts."""
        return {"uploads": f"{self.origin}{UPLOADS_PATH}", "graphql": f"{self.origin}{GRAPHQL_PATH.rpartition('/')[0]}"}

    def slow_down(self, status: int = 403, retry_after: int | None = 30) -> None:
        """Answer the next request with the secondary rate limit."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        self.next_answers.append(Refused(status, text, headers=headers).reply)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        if request.path.startswith(STORE_PATH):
            return await self.store.answer(request)
        self.seen.append(f"{request.method} {request.raw_path}")
        self.secrets.append(request.headers.get("Authorization", "").partition(" ")[2])
        headers: dict[str, str] = {"Date": NOW, "X-GitHub-Request-Id": "MADE:UP"}
        try:
            reply = await self._answer(request, headers)
        except Refused as refused:
            reply = refused.reply
        self.replies.append(reply)
        if reply.cut:
            return await cut_connection(request, None if reply.text is None else reply.text.encode())
        headers |= reply.headers
        if reply.text is not None:
            return web.Response(status=reply.status, text=reply.text, headers=headers)
        return web.Response(
            status=reply.status, body=orjson.dumps(reply.value), headers=headers, content_type="application/json"
        )

    async def _answer(self, request: web.Request, headers: dict[str, str]) -> Reply:
        if not request.headers.get("User-Agent"):
            return Reply(
                403,
                text="Request forbidden by administrative rules. Your request has no User-Agent header.",
            )
        token = self._token(request)
        raw_path = request.raw_path.partition("?")[0]
        if raw_path == GRAPHQL_PATH:
            return await self._answer_document(request, token, headers)
        is_upload = raw_path.startswith(f"{UPLOADS_PATH}/")
        base_path, routes = (UPLOADS_PATH, UPLOAD_ROUTES) if is_upload else (self.base_path, ROUTES)
        if not raw_path.startswith(f"{base_path}/"):
            raise Refused(404, "Not Found")
        route = _route(routes, request.method.lower(), self._name_repository(raw_path.removeprefix(base_path)))
        if route is None:
            self.wrong.append(f"no such operation: {request.method} {raw_path}")
            raise Refused(404, "Not Found")
        template, values = route
        body = await request.read()
        query = dict(parse_qsl(request.raw_path.partition("?")[2], keep_blank_values=True))
        headers_sent = dict(request.headers)
        if is_upload:
            headers_sent["Content-Type"] = "application/octet-stream"  # GitHub takes any; its description has one
        sent = Sent(request.method.lower(), template, values, query, headers_sent, body)
        if wrong := self.contract.wrong(sent):
            self.wrong.append(f"{request.method} {raw_path}: {wrong}")
            raise Refused(400, "Problems parsing JSON")
        self._count(token, headers)
        if self.next_answers and (queued := self.next_answers.pop(0)) is not None:
            return queued
        fields = orjson.loads(body) if body and not is_upload else {}
        call = Call(
            self.world, token, values, query, request.headers, fields, self.contract.fill, self.url,
            raw_path.removeprefix(base_path), sent.method == "get", body, self.store,
        )  # fmt: skip
        try:
            reply = routes[sent.method, template](call)
        except Refused as refused:
            if refused.reply.status >= 400:  # redirects are described for few operations
                self._check_own(sent, refused.reply)
            raise
        self._check_own(sent, reply)
        return reply

    async def _answer_document(self, request: web.Request, token: Token, headers: dict[str, str]) -> Reply:
        body = orjson.loads(await request.read())
        if wrong := graphql_api.find_wrong(body):
            self.wrong.append(f"GraphQL: {wrong}")
            return Reply(200, {"errors": [{"message": wrong}]})
        self._count(token, headers)
        headers["X-RateLimit-Resource"] = "graphql"
        if self.next_answers and (queued := self.next_answers.pop(0)) is not None:
            return queued
        reply, wrong = graphql_api.answer_document(self.world, token, body)
        if wrong:
            self.wrong.append(f"GraphQL: {wrong}")
        return reply

    def find_operation(self, request: str) -> tuple[str, str] | None:
        """The operation of a request as it stands in `seen`; None for GraphQL, which has one."""
        method, _, target = request.partition(" ")
        path = target.partition("?")[0]
        is_upload = path.startswith(f"{UPLOADS_PATH}/")
        base_path, routes = (UPLOADS_PATH, UPLOAD_ROUTES) if is_upload else (self.base_path, ROUTES)
        route = _route(routes, method.lower(), self._name_repository(path.removeprefix(base_path)))
        return (method.lower(), route[0]) if route else None

    def _name_repository(self, path: str) -> str:
        """The path by the name of a repository that stands there by its number, where redirects lead to
        (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects)."""
        found = re.match(r"/repositories/([0-9]+)(?=/|$)", path)
        if not found:
            return path
        names = [one.full_name for one in self.world.repositories.values() if one.id == int(found[1])]
        return f"/repos/{names[0]}{path[found.end() :]}" if names else path

    def _token(self, request: web.Request) -> Token:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not secret:
            raise Refused(401, "Requires authentication")
        token = self.world.tokens.get(secret) if scheme in ("Bearer", "token") else None
        if token is None:
            raise Refused(401, "Bad credentials")
        return token

    def _count(self, token: Token, headers: dict[str, str]) -> None:
        used_up = token.remaining <= 0
        token.remaining = max(token.remaining - 1, 0)
        headers |= {
            "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": str(token.remaining), "X-RateLimit-Reset": str(RESET),
            "X-RateLimit-Used": str(5000 - token.remaining), "X-RateLimit-Resource": "core",
        }  # fmt: skip
        if token.scopes is not None:
            headers["X-OAuth-Scopes"] = ", ".join(sorted(token.scopes))
        if used_up:
            raise Refused(403, f"API rate limit exceeded for user ID {token.login}.")

    def _check_own(self, sent: Sent, reply: Reply) -> None:
        if reply.text is None and (
            wrong := self.contract.wrong_answer(sent.method, sent.template, reply.status, reply.value)
        ):
            self.wrong.append(f"the double's own answer: {wrong}")


def _pattern(template: str) -> re.Pattern[str]:
    def group(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>.*)" if found[1] in MANY_SEGMENTS else f"(?P<{found[1]}>[^/]+)"

    return re.compile(re.sub(r"\{(\w+)\}", group, template))


_PATTERNS = {template: _pattern(template) for _, template in (*ROUTES, *UPLOAD_ROUTES)}


def _route(routes: Iterable[tuple[str, str]], method: str, raw_path: str) -> tuple[str, dict[str, str]] | None:
    """The template that a path fits, and its values decoded."""
    # What has more segments is looked at first: `commits/{ref}` would take `commits/main/status` too.
    for known, template in sorted(routes, key=lambda operation: -operation[1].count("/")):
        if known == method and (found := _PATTERNS[template].fullmatch(raw_path)):
            return template, {name: unquote(value) for name, value in found.groupdict().items()}
    return None


@contextlib.asynccontextmanager
async def github_double(base_path: str = "") -> AsyncIterator[GitHubDouble]:
    """A double that listens on a port of this machine only. `base_path` is that of a GitHub Enterprise Server.

    Raises:
        AssertionError: at the end, if a request or an answer was not as GitHub describes it.
    """
    double = GitHubDouble(github_contract(frozenset({*ROUTES, *UPLOAD_ROUTES})), base_path=base_path)
    app: Any = web.Application(client_max_size=8 * 2**20)
    app.router.add_route("*", "/{anything:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        double.url = f"http://127.0.0.1:{port}{base_path}"
        yield double
    finally:
        await runner.cleanup()
    if wrong := [*double.wrong, *double.store.wrong]:
        raise AssertionError("\n".join(wrong[:10]))
