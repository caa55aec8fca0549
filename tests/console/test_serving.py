"""How the product serves the console: headers, compression, missing files, addresses that lead to it."""

import gzip
import re
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from admin_ui import console_pages
from core.config.settings import Settings
from gateway.module_manifests import build_module_manifests
from server.wiring.web import open_web_application
from tests.console.console_app import require_console
from tests.support import postgres
from tests.support.identity import Identity, identity_on
from tests.support.product import product_on
from tools import console

pytestmark = pytest.mark.asyncio(loop_scope="session")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def identity(
    database_server: postgres.DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Identity]:
    require_console()
    async with (
        database_server.database() as database,
        product_on(database, tmp_path_factory.mktemp("serving")) as product,
        identity_on(product, providers=False) as running,
    ):
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def http(identity: Identity) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=identity.url) as client:
        yield client


def _assets() -> list[str]:
    return [f"/console/assets/{path.name}" for path in (console.OUTPUT / "assets").iterdir() if path.suffix == ".js"]


async def test_whoever_types_nothing_but_the_host_begins_in_the_console(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/", headers={"Accept": "text/html", "Sec-Fetch-Mode": "navigate"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/users", "/console/roles?id=1", "/console/no/such"])
async def test_every_page_is_the_index_under_the_policy(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert '<div id="root">' in answer.text


async def test_the_page_holds_nothing_inline_and_nothing_from_elsewhere(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/console")).text
    for script in re.findall(r"<script([^>]*)>(.*?)</script>", page, re.S):
        assert not script[1].strip()
    assert "<style" not in page
    assert not re.search(r"\s(?:style|on\w+)=", page)
    for address in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert address.startswith("/"), address
        assert not address.startswith("//"), address


async def test_hashed_files_are_kept_for_ever_and_the_others_are_not(http: httpx2.AsyncClient) -> None:
    for asset in _assets():
        answer = await http.get(asset)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert answer.headers["content-security-policy"] == POLICY
    assert (await http.get("/console/first.js")).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("br", "br"),
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("identity", None),
        ("brotli, xgzip", None),
        ("", None),
    ],
)
async def test_the_coding_that_the_browser_accepts(http: httpx2.AsyncClient, accepted: str, coding: str | None) -> None:
    async with http.stream("GET", "/console/first.js", headers={"Accept-Encoding": accepted}) as answer:
        raw = b"".join([part async for part in answer.aiter_raw()])
    assert answer.headers.get("content-encoding") == coding
    assert "Accept-Encoding" in answer.headers["vary"]
    plain = (console.OUTPUT / "first.js").read_bytes()
    if coding is None:
        assert raw == plain
    elif coding == "gzip":
        assert gzip.decompress(raw) == plain
    else:
        assert raw == (console.OUTPUT / "first.js.br").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/console/assets/index-gone.js",
        "/console/assets/",
        "/console/missing.js",
        "/console/stamp.txt",
        "/console/assets/../index.html.br",
        "/console/%2e%2e/%2e%2e/pyproject.toml",
        "/console/..%5c..%5cpyproject.toml",
        "/console/index.html.gz",
    ],
)
async def test_what_is_no_file_of_the_console_is_missing(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.get(path)
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"
    assert "setuptools" not in answer.text


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("/tools", "/console/tools"),
        ("/users?q=a&sort=-name", "/console/users?q=a&sort=-name"),
        ("/logs", "/console/logs"),
        ("/profile", "/console/profile"),
        ("/console/login", "/login"),
        ("/login", "/sign-in"),
        ("/users/42/roles", "/console/users?id=42&tab=roles"),
        ("/console/users/42", "/console/users?id=42"),
        ("/roles/7/services/notion", "/console/roles?id=7&tab=permissions&service=notion"),
        ("/console/roles/7/services/notion", "/console/roles?id=7&tab=permissions&service=notion"),
        ("/tools/notion/connect", "/console/tools?connect=notion"),
        ("/tools/a%26b=%0d%0aX:%20y/connect", "/console/tools?connect=a%26b%3D%0D%0AX%3A+y"),
    ],
)
async def test_the_other_addresses_lead_to_the_pages(http: httpx2.AsyncClient, path: str, leads: str) -> None:
    answer = await http.get(path)
    assert answer.status_code in (303, 307)
    assert answer.headers["location"] == leads


async def test_a_change_is_not_served(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/console/users", headers={"Origin": str(http.base_url).rstrip("/")})
    assert answer.status_code == 405


async def test_without_a_build_the_page_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: dict[str, console_pages.ConsoleFile] = {}
    monkeypatch.setattr(console_pages, "load_console_files", lambda: found)
    transport = httpx2.ASGITransport(Starlette(routes=console_pages.build_console_routes()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://console.test") as client:
        answer = await client.get("/console")
        assert answer.status_code == 503
        assert "make console" in answer.text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        found["index.html"] = console_pages.ConsoleFile("text/html", b"built since")
        assert (await client.get("/console")).text == "built since", "a build that comes later needs no restart"


async def test_a_broker_of_its_own_says_where_the_console_is(identity: Identity) -> None:
    manifests = build_module_manifests(identity.product.catalogue)
    settings = Settings(home=identity.product.deployment.home, public_url=identity.url)
    async with open_web_application(identity.zone, settings, identity.gateway.refusals, manifests) as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=identity.url) as client:
            for path in ("/console", "/console/users"):
                answer = await client.get(path, headers={"Accept": "text/html"})
                assert answer.status_code == 404
                assert "<code>mcpist up</code>" in answer.text
