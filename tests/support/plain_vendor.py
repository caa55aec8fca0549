"""A vendor session without the gateway: straight over aiohttp to a double, as the product's session answers."""

import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import aiohttp
import orjson
from pydantic import BaseModel
from yarl import URL

from core.http.credential_headers import BEARER, CredentialScheme, build_credential_header
from core.secret import Secret
from gateway.vendor_session.retry_policy import find_rate_limit
from modules.kit import (
    Context,
    Download,
    Module,
    MultipartBody,
    RateLimit,
    RawBody,
    Vendor,
    VendorAnswer,
    VendorApi,
    VendorProblem,
)
from modules.kit.bodies import encode_body
from modules.kit.vendor import VendorProblemKind

NOBODY = UUID(int=0)
KINDS: dict[int, VendorProblemKind] = {
    301: "refused",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "conflict",
    409: "conflict",
    410: "not_found",
    429: "rate_limited",
}


class PlainVendor:
    """Implements :class:`modules.kit.Vendor` for one secret."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        api: VendorApi,
        secret: str,
        hosts: Mapping[str, str],
        scheme: CredentialScheme = BEARER,
    ) -> None:
        self._session = session
        self._api = api
        self._base_url = base_url
        self._hosts = hosts
        self._headers = {**api.headers, **dict([build_credential_header(scheme, Secret(secret))])}

    async def get_connection(self) -> Mapping[str, str]:
        return {}

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        body: RawBody | MultipartBody | None = None,
        host: str = "",
    ) -> VendorAnswer:
        """One request, never repeated and never redirected."""
        url = self._build_url(path, query, host)
        sent = {**self._headers, **(headers or {})}
        content = None if json is None else orjson.dumps(json)
        if content is not None:
            sent["Content-Type"] = "application/json"
        if body is not None:
            encoded = encode_body(body)
            content, sent["Content-Type"] = encoded.content, encoded.media_type
        async with self._session.request(method, url, data=content, headers=sent, allow_redirects=False) as response:
            names = {name.lower(): value for name, value in response.headers.items()}
            answer = VendorAnswer(response.status, names, await response.read(), write=_writes(method, repeatable))
        if answer.status >= 300:
            raise _problem(answer, find_rate_limit(answer, time.time, self._api.rate_limit))
        return answer

    async def download(
        self,
        path: str,
        *,
        limit: int,
        offset: int = 0,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "",
    ) -> Download:
        """A part of a file, or of where one link leads."""
        url, sent = self._build_url(path, query, host), {**self._headers, **(headers or {})}
        async with self._session.get(url, headers=sent, allow_redirects=False) as response:
            answer = VendorAnswer(response.status, dict(response.headers), await response.read(), write=False)
        if answer.status in (301, 302, 303, 307, 308):
            async with self._session.get(URL(answer.headers["Location"], encoded=True)) as response:
                answer = VendorAnswer(response.status, dict(response.headers), await response.read(), write=False)
        if answer.status >= 300:
            raise _problem(answer, None)
        end = offset + limit
        left = end if end < len(answer.body) else None
        return Download(answer.body[offset:end], answer.headers.get("Content-Type", ""), len(answer.body), left)

    def _build_url(self, path: str, query: Mapping[str, Any] | None, host: str) -> URL:
        base_url = self._hosts[host] if host else self._base_url
        return URL(base_url + path, encoded=True).update_query(_written(query or {}))


def _writes(method: str, repeatable: bool | None) -> bool:
    return method not in ("GET", "HEAD") if repeatable is None else not repeatable


def _written(query: Mapping[str, Any]) -> dict[str, list[str]]:
    """Write a query as the product's session does: a parameter with several values stands there several times."""
    given = {name: value for name, value in query.items() if value is not None}
    lists = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in given.items()}
    return {
        name: [str(one).lower() if isinstance(one, bool) else str(one) for one in cast("list[Any]", values)]
        for name, values in lists.items()
    }


def _problem(answer: VendorAnswer, limit: RateLimit | None) -> VendorProblem:
    kind = "rate_limited" if limit else KINDS.get(answer.status, "invalid" if answer.status < 500 else "unavailable")
    wait = limit.seconds if limit else None
    text = f"the vendor refused the request ({answer.status})"
    unknown = answer.write and answer.status >= 500
    return VendorProblem(kind, text, retry_after=wait, answer=answer, unknown=unknown)


@dataclass(frozen=True, slots=True)
class VendorCaller:
    """Somebody with one credential who calls the tools of one module; also the tools' context."""

    module: Module
    vendor: Vendor
    user_id: UUID = NOBODY

    async def call(self, tool_name: str, **params: Any) -> dict[str, Any]:
        """Run a tool, and give its result as a client gets it."""
        result = await self.run(tool_name, params)
        return orjson.loads(result.__pydantic_serializer__.to_json(result, by_alias=True))

    async def run(self, tool_name: str, params: Mapping[str, Any]) -> BaseModel:
        """Validate `params` as the gateway does, and run the tool."""
        tool = next(tool for tool in self.module.tools if tool.name == tool_name)
        arguments = tool.arguments.model_validate_json(orjson.dumps(params), strict=True)
        return await tool.run(cast("Context", self), **arguments.__dict__)

    def announce_resource_change(self, uri: str, *, shared: bool = False) -> None:
        """Nobody has subscribed."""

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Nobody asked for it."""


@contextlib.asynccontextmanager
async def vendor_callers() -> AsyncIterator[Any]:
    """``callers(module, base_url, secret, hosts, scheme)`` makes a :class:`VendorCaller`; `hosts` are those of the
    double, `scheme` is how it takes the secret."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:

        def caller(
            module: Module,
            base_url: str,
            secret: str,
            hosts: Mapping[str, str] | None = None,
            scheme: CredentialScheme = BEARER,
        ) -> VendorCaller:
            assert module.vendor is not None
            return VendorCaller(module, PlainVendor(session, base_url, module.vendor, secret, hosts or {}, scheme))

        yield caller
