"""`mcpist connect` on another computer, followed to its end while a person goes through the link."""

from pathlib import Path

import pytest

from tests.broker.connect.connect_app import ConnectApp
from tests.broker.connect.test_connect_sessions import THREE, queue_of
from tests.broker.connect.test_ending import connected, out_of_reach
from tests.cli.laptop import Laptop
from tests.support.product import ACTOR, Person


async def laptop_of(app: ConnectApp, folder: Path) -> tuple[Laptop, Person]:
    person = await app.person("ada@acme.test", allow=THREE)
    return Laptop(folder, {"MCPIST_SERVER": app.url, "MCPIST_TOKEN": person.token}), person


async def test_a_script_follows_what_a_person_connects(app: ConnectApp, tmp_path: Path) -> None:
    laptop, person = await laptop_of(app, tmp_path / "laptop")
    async with app.browser(person) as browser:

        async def goes(link: str) -> None:
            page = await browser.get(link)
            page = await browser.connect("shop", **queue_of(page))
            await browser.connect("till", **queue_of(page))

        ended = await laptop.run("connect", "shop", "till", "--no-browser", "--json", goes=goes)
        told = ended.json()
        assert (told["state"], [one["account"] for one in told["services"]]) == ("done", ["alice@example.test"] * 2)
        assert "shop is connected as alice@example.test." in ended.err
        again = await laptop.json("connect", "shop", "till")
        assert (again["state"], again["id"] != told["id"]) == ("done", True)
        begun = await laptop.json("connect", "--all", "--no-wait")
        assert [(one["module"], one["state"]) for one in begun["services"]] == [("stall", "waiting")]


@pytest.mark.long
async def test_what_was_declined_ends_it(app: ConnectApp, tmp_path: Path) -> None:
    laptop, person = await laptop_of(app, tmp_path / "laptop")
    async with app.browser(person) as browser:

        async def goes(link: str) -> None:
            page = await browser.get(link)
            back = await browser.consent(await browser.start("shop", **queue_of(page)))
            await browser.get(back.replace("code=", "error=access_denied&was="))

        ended = await laptop.run("connect", "shop", "--no-browser", goes=goes)
    assert (ended.code, ended.out) == (1, "0 of 1 services are connected; not shop (declined).\n")
    assert "shop was not connected: declined." in ended.err


async def test_what_it_refuses(app: ConnectApp, tmp_path: Path) -> None:
    laptop, _ = await laptop_of(app, tmp_path / "laptop")
    assert (await laptop.run("connect", "made_up")).code == 4
    assert (await laptop.run("connect")).code == 2
    assert (await laptop.run("connect", "shop", "--all")).code == 2
    here = Laptop(tmp_path / "laptop")
    assert "mcpist login" in (await here.run("connect", "shop")).err


async def test_who_is_removed_by_a_command_is_over_at_the_vendor_too(app: ConnectApp, tmp_path: Path) -> None:
    """`mcpist user remove` asks the admin API; of an account whose vendor cannot be told, it says where to end it."""
    ada, bob = await app.person("ada@acme.test"), await app.person("bob@acme.test")
    boss, stranger = (
        await app.person("boss@acme.test", admin=True),
        await app.person("x@evil.test", "evil", admin=True),
    )
    await connected(app, ada, "ada")
    await connected(app, bob, "bob")
    at = [
        Laptop(tmp_path / one.email, {"MCPIST_SERVER": app.url, "MCPIST_TOKEN": token})
        for one, token in [(one, await admin_token(app, one)) for one in (boss, stranger)]
    ]
    remove = ("user", "remove", "ada@acme.test", "--confirm", "ada@acme.test")
    assert (await at[1].run(*remove)).code == 4
    assert await app.revoked() == 0
    assert await at[0].json(*remove) == {"email": "ada@acme.test", "removed": True}
    assert await app.revoked() == 1
    await out_of_reach(app)
    left = await at[0].run("user", "remove", "bob@acme.test", "--confirm", "bob@acme.test")
    assert (left.code, "could not be revoked" in left.err) == (0, True)
    last = await at[0].run("user", "remove", "boss@acme.test", "--confirm", "boss@acme.test")
    assert (last.code, "last active administrator" in last.err) == (5, True)


async def admin_token(app: ConnectApp, person: Person) -> str:
    scopes = ["admin:read", "admin:write"]
    _, token = await app.product.tokens.create(ACTOR, person.tenant.id, person.id, "admin", scopes=scopes)
    return token.reveal()
