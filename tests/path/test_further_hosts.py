"""A further host of a vendor, and links to file stores, through the whole product: whose credential goes where."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from core.directory.services import set_settings
from modules.kit import BodyPart, Context, Module, MultipartBody, VendorApi, VendorSettings, describe_setting, tool
from tests.path.shop_app import ShopApp, open_shop_app, people
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person
from tests.support.toy_vendor import READS, WRITES, Seen, Shop, shop, shop_module

ADAS, EVES = "adas-token-0123456789", "eves-token-0123456789"


class DepotSettings(VendorSettings):
    uploads_url: Annotated[
        str | None,
        describe_setting("Uploads", "Where files are sent", ja=("アップロード", "ファイルの送り先"), max_length=500),
    ] = None


@tool(hints=WRITES, scopes=["shop:write"])
async def send(context: Context, name: Annotated[str, Field(description="What it is called")]) -> Seen:
    """Send a file to the shop."""
    body = MultipartBody([BodyPart("file", b"contents", file_name=name, media_type="text/plain")])
    answer = await context.vendor.request("POST", "/files", body=body, host="uploads")
    return Seen(said=answer.json()["said"])


@tool(hints=READS, scopes=["shop:read"])
async def fetch(context: Context, offset: Annotated[int, Field(description="From where on")] = 0) -> Seen:
    """Fetch a file from the shop."""
    part = await context.vendor.download("/file", limit=8, offset=offset)
    return Seen(said=f"{part.content.decode()} {part.next_offset}")


@dataclass
class Depot:
    """A shop with a host for uploads, a company's own server, and a host that nobody was told of."""

    app: ShopApp
    uploads: Shop
    own: Shop
    elsewhere: Shop

    async def set(self, person: Person, **settings: Any) -> None:
        await set_settings(self.app.product.console, ACTOR, person.tenant.id, "shop", lambda _: settings)

    async def told(self, person: Person, text: str) -> None:
        """Wait until what was changed has come to the gateway."""

        async def said() -> bool:
            answer = await self.app.call(person, "send", name="a")
            return text in answer["content"][0]["text"]

        await within(1.5, said)


@pytest.fixture
async def depot(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Depot]:
    async with AsyncExitStack() as stack:
        uploads, own, elsewhere = [await stack.enter_async_context(shop()) for _ in range(3)]

        def make_module(url: str) -> Module:
            made = shop_module(url)
            assert made.vendor is not None
            api = VendorApi(url, made.vendor.account, settings=DepotSettings, hosts={"uploads": uploads.url})
            return replace(made, tools=(*made.tools, send, fetch), vendor=api)

        app = await stack.enter_async_context(
            open_shop_app(database, tmp_path, make_module=make_module, others=(uploads, own, elsewhere))
        )
        for vendor in (uploads, own, elsewhere):
            vendor.tokens |= {ADAS: "ada", EVES: "eve"}
        yield Depot(app, uploads, own, elsewhere)


async def test_everybody_s_own_credential_goes_to_the_declared_host(depot: Depot) -> None:
    ada, eve = await people(depot.app)
    await depot.app.add(ada, ADAS)
    await depot.app.add(eve, EVES, origins=[depot.app.shop.url])
    assert (await depot.app.call(ada, "send", name="größe.txt"))["structuredContent"]["said"] == "ada: bought"
    assert (await depot.app.call(eve, "send", name="b"))["structuredContent"]["said"] == "eve: bought"
    assert depot.uploads.asked == [(ADAS, "POST /files"), (EVES, "POST /files")]
    assert depot.app.shop.asked == []


async def test_a_company_s_credential_does_not_go_to_the_public_host(depot: Depot) -> None:
    ada, eve = await people(depot.app)
    await depot.set(ada, base_url=depot.own.url)
    await depot.app.add(ada, ADAS, origins=[depot.own.url])
    await depot.app.add(eve, EVES)
    assert not (await depot.app.call(ada, "look", what="tea"))["isError"]
    refused = await depot.app.call(ada, "send", name="a")
    assert refused["isError"]
    assert "base_url of its own, but no uploads_url" in refused["content"][0]["text"]
    assert depot.uploads.asked == []
    await depot.set(ada, base_url=depot.own.url, uploads_url=f"{depot.own.url}/api/uploads")
    await depot.told(ada, "ada: bought")
    assert depot.own.asked == [(ADAS, "GET /look"), (ADAS, "POST /api/uploads/files")]
    assert not (await depot.app.call(eve, "send", name="a"))["isError"]
    assert depot.uploads.asked == [(EVES, "POST /files")], "another tenant's service is as it was"


async def test_a_company_s_credential_stays_away_when_the_base_url_is_taken_back(depot: Depot) -> None:
    ada, _ = await people(depot.app)
    await depot.app.add(ada, ADAS, origins=[depot.own.url])
    answer = await depot.app.call(ada, "send", name="a")
    assert "base URL changed after your account had been connected" in answer["content"][0]["text"]
    assert depot.uploads.asked == depot.app.shop.asked == []


async def test_a_host_that_is_set_afterwards_gets_no_credential(depot: Depot) -> None:
    ada, _ = await people(depot.app)
    await depot.set(ada, base_url=depot.own.url)
    await depot.app.add(ada, ADAS, origins=[depot.own.url])
    await depot.set(ada, base_url=depot.own.url, uploads_url=depot.elsewhere.url)
    await depot.told(ada, "was not connected for the address in the service's uploads_url")
    assert depot.elsewhere.asked == []
    assert (await depot.app.state(ada))["connection"] == "connected", "the rest of the service works as before"


async def test_a_file_is_read_on_through_a_link(depot: Depot) -> None:
    ada, _ = await people(depot.app)
    await depot.app.add(ada, ADAS)
    depot.app.shop.link = f"{depot.elsewhere.url}/log?what=abcdefghijkl&sig=canary-signature"
    depot.elsewhere.tokens[""] = "nobody"
    first = (await depot.app.call(ada, "fetch"))["structuredContent"]["said"]
    assert first == '{"name": 8'
    assert (await depot.app.call(ada, "fetch", offset=8))["structuredContent"]["said"].endswith(" 16")
    assert depot.app.shop.asked == [(ADAS, "GET /file")] * 2
    assert depot.elsewhere.asked == [("", "GET /log")] * 2


async def test_a_link_that_leads_inside_is_not_followed_and_not_shown(depot: Depot) -> None:
    ada, _ = await people(depot.app)
    await depot.app.add(ada, ADAS)
    depot.app.shop.link = "http://169.254.169.254/latest/meta-data?sig=canary-signature"
    text = (await depot.app.call(ada, "fetch"))["content"][0]["text"]
    assert "leads to an address from where MCPist fetches nothing" in text
    assert "canary" not in text
    assert "169.254" not in text
