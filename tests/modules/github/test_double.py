"""The double itself: it refuses what GitHub refuses, and it notices requests that GitHub does not describe."""

from typing import Any

import aiohttp
import pytest

from tests.support.github_double import GitHubDouble, github_double

SENT = {"Authorization": "Bearer mona-token", "User-Agent": "test"}


async def ask(double: GitHubDouble, path: str, method: str = "GET", **more: Any) -> tuple[int, Any, dict[str, str]]:
    headers = {**SENT, **more.pop("headers", {})}
    async with (
        aiohttp.ClientSession(skip_auto_headers=["User-Agent"]) as session,
        session.request(method, double.url + path, headers=headers, **more) as response,
    ):
        body = await response.json() if response.content_type == "application/json" else await response.text()
        return response.status, body, dict(response.headers)


async def test_who_asks() -> None:
    async with github_double() as double:
        double.world.token("mona-token", "mona", scopes=frozenset({"repo", "gist"}))
        status, me, headers = await ask(double, "/user")
        assert (status, me["login"], headers["X-OAuth-Scopes"]) == (200, "mona", "gist, repo")
        assert headers["X-RateLimit-Remaining"] == "4999"
        assert (await ask(double, "/user", headers={"Authorization": "Bearer other"}))[0] == 401
        assert (await ask(double, "/user", headers={"Authorization": ""}))[1]["message"] == "Requires authentication"
        assert (await ask(double, "/user", headers={"User-Agent": ""}))[0] == 403


@pytest.mark.parametrize(
    ("method", "path", "more", "reason"),
    [
        ("GET", "/user?verbose=1", {}, "unknown query parameters"),
        ("GET", "/repos/mona/app/issues?state=ajar", {}, "state"),
        ("POST", "/repos/mona/app/issues", {"json": {"body": "no title"}}, "title"),
        ("POST", "/repos/mona/app/issues", {"json": {"title": "t", "colour": "red"}}, "unknown fields"),
        ("GET", "/repos/mona/app/issues/seven", {}, "issue_number"),
        ("GET", "/repos/mona/app/wiki", {}, "no such operation"),
        ("DELETE", "/repos/mona/app", {}, "no such operation"),
    ],
)
async def test_requests_that_are_not_described(method: str, path: str, more: dict[str, Any], reason: str) -> None:
    async def asked() -> None:
        async with github_double() as double:
            double.world.token("mona-token", "mona")
            double.world.repository("mona", "app")
            assert (await ask(double, path, method, **more))[0] >= 400

    with pytest.raises(AssertionError, match=reason):
        await asked()
