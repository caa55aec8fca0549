"""Resources and prompts of a vendor's: long lists in pages, whose account is asked, the mark on what others wrote."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import pytest_asyncio
from pydantic import Field, create_model

from broker.interface import CredentialRefusal, Lease, LeaseRequest, NoCredential, RefusalReason
from core.audit.event import AuditEventKind
from core.config.settings import Settings
from core.secret import Secret
from gateway.module_manifests import build_module_manifests
from modules.kit import (
    Context,
    Module,
    Prompt,
    PromptMessage,
    PromptMessages,
    Resource,
    ResourceBlock,
    ResourceContent,
    ResourceContents,
    TextBlock,
    build_user_prompt,
    prompt,
    read_text_resource,
    resource,
)
from modules.kit.untrusted import UNTRUSTED
from server.wiring.broker import open_broker_runtime
from tests.path.shop_app import ShopApp, open_shop_app, people
from tests.support.mcp_client import MODERN, NEWEST, REVISIONS, Answer
from tests.support.postgres import DatabaseServer
from tests.support.product import Person
from tests.support.toy_vendor import shop_module

pytestmark = pytest.mark.asyncio(loop_scope="module")
LISTS = {"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"}
MANY = 205
READ = frozenset({"shop:read"})
MARK = {"mcpist/untrusted": UNTRUSTED}
ARTICLE = "resource://shop/articles/tea"


async def ask(context: Context, what: str) -> str:
    return (await context.vendor.request("GET", "/look", query={"what": what})).json()["said"]


@resource("resource://shop/articles/{what}", mime_type="text/plain", scopes=READ)
async def article(context: Context, what: Annotated[str, Field(description="Which")]) -> ResourceContents:
    """An article of the shop."""
    return read_text_resource(await ask(context, what))


@prompt(scopes=READ)
async def shop_advice(context: Context, what: Annotated[str, Field(description="About what")]) -> PromptMessages:
    """Advise on an article."""
    found = ResourceContent(uri=f"resource://shop/articles/{what}", text=await ask(context, what))
    blocks = (TextBlock(text="Advise me on this:"), ResourceBlock(resource=found))
    return PromptMessages(messages=tuple(PromptMessage(content=block) for block in blocks))


def crowded_shop(url: str) -> Module:
    """The shop with many shelves, to read and to fill in."""

    async def read(_context: Context, **_variables: str) -> ResourceContents:
        return read_text_resource("empty")

    async def fill(_context: Context) -> PromptMessages:
        return build_user_prompt("Fill it.")

    none = create_model("none", __config__={"extra": "forbid"})
    at: Any = {"at": (Annotated[str, Field(description="Where")], ...)}
    one = create_model("one", __config__={"extra": "forbid"}, **at)
    names = [f"{number:03}" for number in range(MANY)]
    shelves = [
        Resource(f"s{n}", n, "A shelf.", (f"resource://shop/shelves/{n}",), "text/plain", READ, none, read)
        for n in names
    ]
    boards = [
        Resource(f"b{n}", n, "A board.", (f"resource://shop/{n}/{{at}}",), "text/plain", READ, one, read) for n in names
    ]
    prompts = [Prompt(f"p{n}", n, "Fill a shelf.", READ, none, fill) for n in names]
    return replace(shop_module(url), resources=(article, *shelves, *boards), prompts=(shop_advice, *prompts))


@dataclass(frozen=True, slots=True)
class Crowded:
    """The shop, and who comes to it: `clerk` may do all but look at articles and ask for advice."""

    app: ShopApp
    ada: Person
    eve: Person
    clerk: Person

    async def post(self, person: Person, method: str, params: Any = None, revision: str = NEWEST) -> Answer:
        return await self.app.node.post(person.token, method, params or {}, revision=revision)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def crowded(database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Crowded]:
    home = tmp_path_factory.mktemp("crowded")
    async with (
        database_server.database() as database,
        open_shop_app(database, Path(home), make_module=crowded_shop) as app,
    ):
        ada, eve = await people(app)
        denied = ["shop.article", "shop.shop_advice"]
        clerk = await app.product.person(ada.tenant, "clerk@acme.test", allow=["shop.*"], deny=denied)
        await app.add(ada, "adas-token-0123456789")
        await app.add(eve, "eves-token-0123456789")
        await app.add(clerk, "clerk-token-012345678")
        yield Crowded(app, ada, eve, clerk)


@pytest.mark.parametrize("method", LISTS)
async def test_a_long_list_comes_in_pages(crowded: Crowded, method: str) -> None:
    member = LISTS[method]
    cursors: list[str] = []
    names: list[str] = []
    page: dict[str, Any] = (await crowded.post(crowded.clerk, method)).result
    for revision in (MODERN, REVISIONS[-1]):
        assert len(page[member]) == 100
        cursors.append(page["nextCursor"])
        names += [one["name"] for one in page[member]]
        page = (await crowded.post(crowded.clerk, method, {"cursor": cursors[-1]}, revision)).result
    names += [one["name"] for one in page[member]]
    assert "nextCursor" not in page
    assert len(names) == len(set(names)) == MANY
    assert not {"shop_article", "shop_advice"} & set(names)
    other = await crowded.app.product.with_token(crowded.clerk)
    assert (await crowded.post(other, method, {"cursor": cursors[1]})).result[member] == page[member]

    changed = cursors[0][:5] + ("A" if cursors[0][5] != "A" else "B") + cursors[0][6:]
    elsewhere = [one for one in LISTS if one != method]
    for person, where, cursor in (
        (crowded.clerk, method, changed),
        (crowded.clerk, method, cursors[0][:-4]),
        (crowded.clerk, elsewhere[0], cursors[0]),
        (crowded.clerk, elsewhere[1], cursors[0]),
        (crowded.ada, method, cursors[0]),
        (crowded.eve, method, cursors[0]),
    ):
        refused = (await crowded.post(person, where, {"cursor": cursor})).message["error"]
        assert (refused["code"], refused["message"]) == (-32602, "Unknown cursor; begin the list again without one")


async def test_each_reads_by_their_own_account(crowded: Crowded) -> None:
    crowded.app.shop.asked.clear()
    for person, name in ((crowded.ada, "adas-"), (crowded.eve, "eves-")):
        for revision in REVISIONS:
            (content,) = (await crowded.post(person, "resources/read", {"uri": ARTICLE}, revision)).result["contents"]
            assert content["text"] == f"account of {name}: tea"
            assert content.get("_meta") == (MARK if revision >= "2025-06-18" else None)
    asked = len(crowded.app.shop.asked)
    hidden = await crowded.post(crowded.clerk, "resources/read", {"uri": ARTICLE})
    made_up = await crowded.post(crowded.clerk, "resources/read", {"uri": ARTICLE.replace("articles", "articled")})
    assert hidden.body == made_up.body.replace(b"articled", b"articles")
    assert len(crowded.app.shop.asked) == asked, "the vendor is not asked"


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_a_prompt_has_from_a_vendor_is_marked(crowded: Crowded, revision: str) -> None:
    params = {"name": "shop_advice", "arguments": {"what": "tea"}}
    own, embedded = (
        one["content"] for one in (await crowded.post(crowded.ada, "prompts/get", params, revision)).result["messages"]
    )
    assert own == {"type": "text", "text": "Advise me on this:"}
    assert embedded["resource"] == {"uri": ARTICLE, "text": "account of adas-: tea"}
    assert embedded.get("_meta") == (MARK if revision >= "2025-06-18" else None)


async def test_the_broker_decides_itself_whether_a_resource_may_be_read(crowded: Crowded) -> None:
    """A gateway that asks for a resource which the person may not read, or by another's account, gets nothing."""
    product = crowded.app.product
    settings = Settings(home=product.deployment.home)
    manifests = build_module_manifests(product.catalogue)
    async with open_broker_runtime(product.deployment, settings, manifests, clock=product.clock) as zone:

        async def lease(person: Person, tool: str) -> Lease | NoCredential | CredentialRefusal:
            return await zone.broker.lease(LeaseRequest(Secret(person.token), "shop", tool))

        for tool in ("article", "shop_advice"):
            granted = [await lease(person, tool) for person in (crowded.ada, crowded.eve)]
            assert [isinstance(one, Lease) and one.access_token.reveal()[:5] for one in granted] == ["adas-", "eves-"]
            refused = await lease(crowded.clerk, tool)
            assert isinstance(refused, CredentialRefusal)
            assert refused.reason == RefusalReason.FORBIDDEN
            assert isinstance(await lease(crowded.clerk, "s001"), Lease)
        stranger = await product.person(crowded.ada.tenant, "stranger@acme.test", allow=["shop.article"])
        assert await lease(stranger, "article") == NoCredential("shop", "missing")
    denied = await product.events(crowded.ada.tenant, AuditEventKind.DENIED)
    assert {("shop", "article"), ("shop", "shop_advice")} <= {(one.module, one.tool) for one in denied}
