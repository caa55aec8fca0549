"""`mcpist connect` on another computer, followed to its end while a person goes through the link."""

from pathlib import Path

from tests.broker.connect.rig import Scene
from tests.broker.connect.test_connect_sessions import THREE, queue_of
from tests.gateway.cli.laptop import Laptop
from tests.support.product import Person


async def laptop_of(scene: Scene, folder: Path) -> tuple[Laptop, Person]:
    person = await scene.person("ada@acme.test", allow=THREE)
    return Laptop(folder, {"MCPIST_SERVER": scene.url, "MCPIST_TOKEN": person.token}), person


async def test_a_script_follows_what_a_person_connects(scene: Scene, tmp_path: Path) -> None:
    laptop, person = await laptop_of(scene, tmp_path / "laptop")
    async with scene.browser(person) as browser:

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
        assert [(one["service"], one["state"]) for one in begun["services"]] == [("stall", "waiting")]


async def test_what_was_declined_ends_it(scene: Scene, tmp_path: Path) -> None:
    laptop, person = await laptop_of(scene, tmp_path / "laptop")
    async with scene.browser(person) as browser:

        async def goes(link: str) -> None:
            page = await browser.get(link)
            back = await browser.consent(await browser.start("shop", **queue_of(page)))
            await browser.get(back.replace("code=", "error=access_denied&was="))

        ended = await laptop.run("connect", "shop", "--no-browser", goes=goes)
    assert (ended.code, ended.out) == (1, "0 of 1 services are connected; not shop (declined).\n")
    assert "shop was not connected: declined." in ended.err


async def test_what_it_refuses(scene: Scene, tmp_path: Path) -> None:
    laptop, _ = await laptop_of(scene, tmp_path / "laptop")
    assert (await laptop.run("connect", "made_up")).code == 4
    assert (await laptop.run("connect")).code == 2
    assert (await laptop.run("connect", "shop", "--all")).code == 2
    here = Laptop(tmp_path / "laptop")
    assert "mcpist login" in (await here.run("connect", "shop")).err
