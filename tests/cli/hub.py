"""A vendor on loopback and the module that works with it; run as a program, the command line that has this module."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated
from unittest import mock

from aiohttp import web
from pydantic import BaseModel, Field

from core.module_manifest import ModuleManifest
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from modules.kit import AccountRequest, Context, Hints, Module, VendorApi, VendorSettings, describe_setting, tool

REAL = load_installed_modules


class HubSettings(VendorSettings):
    """Two settings more than every vendor has."""

    organizations: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        describe_setting("Organizations", "Only these organizations", ja=("組織", "これらの組織のみ"), max_length=3),
    ] = ()
    uploads_url: Annotated[
        str | None,
        describe_setting("Uploads", "Base URL of uploads", ja=("アップロード", "送り先のベースURL"), max_length=500),
    ] = None


class Said(BaseModel):
    said: str


@tool(hints=Hints(read_only=True, destructive=False, idempotent=True, open_world=True), scopes=["hub:read"])
async def look(context: Context) -> Said:
    """Look at something."""
    return Said(said=(await context.vendor.request("GET", "/look")).json()["said"])


HUB = Module(
    "hub",
    "Hub",
    "A vendor of the tests.",
    frozenset({"hub:read"}),
    (look,),
    vendor=VendorApi(
        "https://hub.example.com",
        AccountRequest("/user", name="/login"),
        settings=HubSettings,
        hosts={"uploads": "https://uploads.example.com"},
    ),
)


@functools.cache
def catalogue() -> Catalogue:
    """What is installed, and the hub."""
    return build_catalogue([*REAL().modules, HUB])


@functools.cache
def manifests() -> tuple[ModuleManifest, ...]:
    """The same as data."""
    return build_module_manifests(catalogue())


@contextlib.contextmanager
def hub_installed() -> Iterator[None]:
    """The command line of this process has the hub; it does not ask the running product, which has not."""
    with (
        mock.patch("cli.client.operator_api.find_operator_access", return_value=None),
        mock.patch("gateway.catalogue.load_installed_modules", catalogue),
        mock.patch("server.offline_admin_api.load_installed_manifests", manifests),
        mock.patch("server.wiring.offline_broker.load_installed_manifests", manifests),
        mock.patch("server.operator_context.load_installed_modules", catalogue),
        mock.patch("server.diagnostics.deployment_checks.load_installed_modules", catalogue),
    ):
        yield


@dataclass(slots=True)
class HubServer:
    """Knows accounts by their token, and notes what it was asked with. `status` is its answer to everything if set."""

    port: int = 0
    accounts: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])
    status: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.asked.append(token)
        if self.status is not None:
            return web.json_response({"message": f"no: {token}"}, status=self.status)
        if token not in self.accounts:
            return web.json_response({"message": f"bad credentials: {token}"}, status=401)
        return web.json_response({"login": self.accounts[token], "said": "hello"})


@contextlib.contextmanager
def hub_server() -> Iterator[HubServer]:
    """A running hub, in a thread: the commands have event loops of their own."""
    hub, running, loop = HubServer(), threading.Event(), asyncio.new_event_loop()

    async def serve(stop: asyncio.Event) -> None:
        app = web.Application()
        app.router.add_get("/{path:.*}", hub.answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        hub.port = runner.addresses[0][1]
        running.set()
        await stop.wait()
        await runner.cleanup()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(stop)))
    thread.start()
    try:
        assert running.wait(10)
        yield hub
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


if __name__ == "__main__":
    from cli import main

    with hub_installed():
        main()
