"""Whoever or whatever an answer names by an id is named by its name too, where the vendor's answer has it."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.modules.answer_scenes import SCENES, Scene, open_walked_scene
from tests.support.postgres import DatabaseServer

Json = dict[str, Any]
IDS = frozenset({"id", "accountId", "account_id", "key", "ref", "node_id", "user_id"})
NAMES = ("displayName", "display_name", "publicName", "name", "title", "summary", "login", "full_name", "value")
SHORTEST = 5
"""Characters of an id that stands for one thing only: "1" is also a count."""
FILLED_IN = frozenset({"5b10a2844c20165700ede21g", "a few words"})
"""What stands in every field that is described and that the double leaves out: it may be the name that is shown."""
REPLY = "Re: "
"""Begins the title of a comment of Confluence's: it names the page, and not the comment."""
IDS_ALONE = {("list_pages", "parent"): "a title that is known by chance: a row is the same on a page of any size"}
"""Fields of a tool's that say an id alone, and why."""


def list_objects(value: Any) -> Iterator[Json]:
    """All objects in a JSON document."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from list_objects(one)


def list_texts(value: Any) -> Iterator[str]:
    """All texts in a JSON document."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from list_texts(one)
    elif isinstance(value, str | int):
        yield str(value)


def find_names(bodies: list[bytes]) -> dict[str, set[str]]:
    """The names of things in the vendor's answers, by their ids."""
    found: dict[str, set[str]] = {}
    for body in bodies:
        for one in list_objects(read_json(body)):
            names = {one[name] for name in NAMES if isinstance(one.get(name), str) and one[name]} - FILLED_IN
            names = {name for name in names if not name.startswith(REPLY)}
            for identity in (str(one[name]) for name in IDS & one.keys() if isinstance(one[name], str | int)):
                if names and len(identity) >= SHORTEST and identity not in FILLED_IN:
                    found.setdefault(identity, set()).update(names)
    return found


def read_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None  # a file


def find_unnamed(tool: str, answer: Any, names: dict[str, set[str]]) -> Iterator[str]:
    """The fields of an answer that say an id alone, while no field beside them says the name."""
    for one in list_objects(answer):
        said = " ".join(list_texts(one))
        for field, value in one.items():
            if (tool, field) in IDS_ALONE:
                continue
            for text in value if isinstance(value, list) else [value]:
                known = names.get(str(text), set()) if isinstance(text, str | int) else set[str]()
                if known - {str(text)} and not any(name in said for name in known | FILLED_IN):
                    yield f"{field}: {text} is {', '.join(sorted(known))}"


async def check_tools(scene: Scene, checked: set[str]) -> None:
    for tool, params in scene.calls.items():
        scene.vendor.bodies.clear()
        result = await scene.caller.run(tool, params)
        answer = result.model_dump(mode="json", by_alias=True)
        assert list(find_unnamed(tool, answer, find_names(scene.vendor.bodies))) == [], tool
        checked.add(tool)


@pytest.mark.parametrize("name", SCENES)
async def test_names_stand_beside_ids(name: str, database_server: DatabaseServer) -> None:
    """Of every tool that reads and asks the vendor."""
    checked: set[str] = set()
    async with SCENES[name]() as scene:
        await check_tools(scene, checked)
    async with open_walked_scene(name, database_server) as scene:
        await check_tools(scene, checked)
    assert checked


def test_an_id_alone_is_found() -> None:
    body = orjson.dumps({"owner": {"accountId": "5b10a-1", "displayName": "Ada"}, "key": "ABC-1"})
    names = find_names([body])
    assert list(find_unnamed("get_issue", {"key": "ABC-1", "owner": "5b10a-1"}, names)) == ["owner: 5b10a-1 is Ada"]
    assert list(find_unnamed("get_issue", {"owners": ["5b10a-1"]}, names)) == ["owners: 5b10a-1 is Ada"]
    assert list(find_unnamed("get_issue", {"owner": "Ada (5b10a-1)"}, names)) == []
    assert list(find_unnamed("get_issue", {"id": "5b10a-1", "name": "Ada"}, names)) == []
