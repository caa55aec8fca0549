"""The product behind nginx, with the WebSocket recipe of the manuals and kept connections: no answer goes astray."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.eventually import within
from tests.support.running_product import Product, client, data_folder, free_port, running

CONFIGURATION = """
{user} daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi; client_max_body_size 8m;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream mcpist {{ server 127.0.0.1:{upstream}; keepalive 1; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://mcpist; proxy_http_version 1.1; proxy_request_buffering {buffering};
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
    }}
  }}
}}
"""
PRIVATE = "only Bob may read this"
PADDING = b"\r\n" * 200_000
"""A parser skips blank lines before a request: with them, the hidden one reaches a later read."""


@dataclass
class Proxied:
    """A product, its address at nginx, and a token."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def exchange(self, *parts: bytes) -> bytes:
        """What a stranger gets for these bytes on one connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.lower().split(b"\r\n")
                length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length")), 0)
                return head + await reader.readexactly(length)
        finally:
            writer.close()


@contextlib.asynccontextmanager
async def nginx(folder: Path, upstream: int, port: int, buffering: str) -> AsyncGenerator[None]:
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("NGINX IS MISSING, the product was not tried behind a proxy; install it (apt-get install nginx)")
    configuration = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # the worker writes into `folder`
    values = {"user": user, "folder": folder, "upstream": upstream, "port": port, "buffering": buffering}
    configuration.write_text(CONFIGURATION.format(**values))
    process = await asyncio.create_subprocess_exec(
        program, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "error.log"),
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip

    async def listens() -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        return False

    try:
        await within(10, listens)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.fixture(scope="module")
def home():
    with data_folder() as folder:
        yield folder


@contextlib.asynccontextmanager
async def proxied(home: Path, folder: Path, buffering: str) -> AsyncGenerator[Proxied]:
    port = free_port()
    public = {"MCPIST_PUBLIC_URL": f"http://127.0.0.1:{port}", "MCPIST_TRUSTED_PROXIES": "127.0.0.1"}
    async with running(home, None, **public) as product, nginx(folder, product.port, port, buffering):
        yield Proxied(port, _token(home, product))


def _token(home: Path, product: Product) -> str:
    """That of the first start, for later ones too."""
    kept = home.with_name("token")
    if "api_token" in product.ready:
        kept.write_text(product.ready["api_token"])
    return kept.read_text()


def _hidden(port: int) -> bytes:
    return b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port


def _post(port: int, body: bytes, *fields: bytes) -> tuple[bytes, bytes]:
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n" % port
    return head + b"".join(fields) + b"Content-Length: %d\r\n\r\n" % len(body), body


@pytest.mark.parametrize("buffering", ["on", "off"])
@pytest.mark.parametrize("upgrade", [b"x", b"websocket", b"h2c"])
async def test_a_stranger_s_upgrade_takes_nobody_s_answer(
    home: Path, tmp_path: Path, buffering: str, upgrade: bytes
) -> None:
    tmp_path.chmod(0o755)
    async with proxied(home, tmp_path, buffering) as site, client(site.url, site.token) as bob:
        entity = {"name": "Bob", "entityType": "person", "observations": [PRIVATE]}
        await bob.call("create_entities", entities=[entity])
        for padding in (b"", PADDING):
            head, body = _post(
                site.port, padding + _hidden(site.port), b"Connection: Upgrade\r\nUpgrade: %b\r\n" % upgrade
            )
            assert (await site.exchange(head, body)).startswith(b"HTTP/1.1 401 ")
            found = await bob.call("search", query="Bob")
            assert PRIVATE in json.dumps(found)
            stranger = await site.exchange(_hidden(site.port))
            assert stranger.endswith(b'{"alive":true}'), stranger
            assert PRIVATE.encode() not in stranger


@pytest.mark.parametrize("buffering", ["on", "off"])
async def test_the_recipe_serves_ordinary_clients(home: Path, tmp_path: Path, buffering: str) -> None:
    tmp_path.chmod(0o755)
    async with proxied(home, tmp_path, buffering) as site, client(site.url, site.token) as bob:
        many = [{"name": f"n{n}", "entityType": "t", "observations": ["x" * 1_900]} for n in range(50)]
        for _ in range(3):
            await bob.call("create_entities", entities=many)
            assert len((await bob.call("search", query="n7"))["entities"]) >= 1
        head, body = _post(site.port, b"x" * (6 * 2**20), b"Authorization: Bearer %b\r\n" % site.token.encode())
        assert (await site.exchange(head, body)).startswith(b"HTTP/1.1 413 ")
