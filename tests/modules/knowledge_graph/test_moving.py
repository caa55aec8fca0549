"""A graph moves in and out in the form of the reference MCP memory server, also where lines are odd."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from modules.kit import ToolError
from modules.knowledge_graph import move_tools, pages
from tests.modules.knowledge_graph.conftest import on_shared_database
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person

ADA = '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea","写真"]}'
BOB = '{"type":"entity","name":"Bob","entityType":"person","observations":[]}'
KNOWS = '{"type":"relation","from":"Ada","to":"Bob","relationType":"knows"}'
FILE = f"{ADA}\n{BOB}\n{KNOWS}"
NOTHING = {
    "entitiesCreated": 0,
    "entitiesUpdated": 0,
    "observationsAdded": 0,
    "relationsCreated": 0,
    "relationsExisting": 0,
    "refusedCount": 0,
    "refused": [],
}


async def take_in(person: Person, text: str) -> dict[str, Any]:
    report = await person.call("import_graph", jsonl=text)
    del report["message"]
    return report


async def export(person: Person) -> str:
    text, cursor = "", None
    while True:
        part = await person.call("export_graph", cursor=cursor)
        text += part["jsonl"]
        cursor = part.get("nextCursor")
        if cursor is None:
            return text


async def test_a_file_comes_back_as_it_was(alice: Person) -> None:
    report = await alice.call("import_graph", jsonl=FILE)
    assert report["message"] == "Entities: 2 created, 0 updated. Added 2 observations and 1 relations."
    assert await export(alice) == FILE + "\n"
    again = await take_in(alice, FILE)
    assert again == NOTHING | {"entitiesUpdated": 2, "relationsExisting": 1}
    assert await export(alice) == FILE + "\n"


async def test_two_tenants_move_their_own(people: list[Person]) -> None:
    for person in (people[0], people[2]):
        await take_in(person, FILE)
    await people[2].call("delete_entities", entityNames=["Ada"])
    assert await export(people[0]) == FILE + "\n"
    assert await export(people[2]) == BOB + "\n"
    assert await export(people[1]) == ""


@on_shared_database
@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + FILE,
        FILE.replace("\n", "\r\n"),
        f"\n\n{FILE}\n \n",
        FILE.replace('"type":"entity"', '"x":[1],"type":"entity"'),
    ],
    ids=["BOM", "CRLF", "blank lines", "further fields"],
)
async def test_odd_but_readable_files(newcomer: Person, text: str) -> None:
    assert (await take_in(newcomer, text))["refusedCount"] == 0
    assert await export(newcomer) == FILE + "\n"


async def test_an_empty_file_changes_nothing(alice: Person) -> None:
    assert await take_in(alice, "") == NOTHING
    assert await take_in(alice, "\ufeff\r\n\n") == NOTHING


@on_shared_database
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ("[" * 100_000, "no JSON object"),
        ('{"a":' * 40_000, "no JSON object"),
        ("1" * 10_000, "no JSON object"),
        ("{}", "type is neither entity nor relation"),
        ('{"type":"note"}', "type is neither entity nor relation"),
        ('{"type":"entity","name":"x"}', "entityType is missing"),
        ('{"type":"entity","name":1,"entityType":"t"}', "name is no text"),
        ('{"type":"entity","name":"x","entityType":"t","observations":"o"}', "observations is no list"),
        ('{"type":"entity","name":"a\\u0000b","entityType":"t"}', "name has the control character U+0000"),
        ('{"type":"entity","name":"\\ud83d","entityType":"t"}', "name has half of a character at position 0"),
        ('{"type":"entity","name":" ","entityType":"t"}', "name is blank"),
        ('{"type":"entity","name":"%s","entityType":"t"}' % ("x" * 201), "name has 201 characters"),
        ('{"type":"relation","from":"Ada","to":"Bob"}', "relationType is missing"),
        ('{"type":"relation","from":"Ada","to":"Eve","relationType":"r"}', "there is no entity \u201cEve\u201d"),
    ],
)  # fmt: skip
async def test_a_line_that_cannot_be_stored_is_told_and_the_others_are_stored(
    newcomer: Person, line: str, reason: str
) -> None:
    report = await take_in(newcomer, f"{ADA}\n{line}\n{BOB}\n{KNOWS}")
    assert report["refusedCount"] == 1
    [refused] = report["refused"]
    assert refused["line"] == 2
    assert refused["reason"].startswith(reason)
    assert await export(newcomer) == FILE + "\n"


async def test_an_observation_that_cannot_be_stored_leaves_the_entity(alice: Person) -> None:
    observations = ["good", "x" * 2001, 7, "nul \x00", "\ud800", "good", "last"]
    report = await take_in(alice, json.dumps({**json.loads(BOB), "observations": observations}))
    assert [one["observation"] for one in report["refused"]] == [2, 3, 4, 5]
    assert (report["entitiesCreated"], report["observationsAdded"]) == (1, 2)
    assert json.loads(await export(alice))["observations"] == ["good", "last"]


async def test_names_that_come_twice_are_one_entity(alice: Person) -> None:
    second = ADA.replace("person", "mathematician").replace("likes tea", "wrote programs")
    report = await take_in(alice, f"{KNOWS}\n{ADA}\n{second}\n{BOB}\n{KNOWS}")
    assert (report["entitiesCreated"], report["observationsAdded"], report["relationsCreated"]) == (2, 3, 1)
    assert json.loads((await export(alice)).split("\n")[0]) == {
        "type": "entity",
        "name": "Ada",
        "entityType": "mathematician",
        "observations": ["likes tea", "写真", "wrote programs"],
    }


@on_shared_database
@pytest.mark.parametrize(("kind", "most"), [("entities", 1), ("observations", 1), ("relations", 0)])
async def test_over_a_limit_nothing_is_written(newcomer: Person, kind: str, most: int) -> None:
    limited = replace(newcomer, settings={f"max_{kind}": most} if most else {"max_relations": 1})
    text = FILE + "\n" + KNOWS.replace("knows", "likes") if not most else FILE
    with pytest.raises(ToolError, match="Nothing was written"):
        await limited.call("import_graph", jsonl=text)
    assert await export(newcomer) == ""


async def test_a_text_over_the_limit_is_refused(alice: Person) -> None:
    with pytest.raises(ValidationError):
        await alice.call("import_graph", jsonl=" " * (move_tools.MAX_IMPORT_CHARS + 1))


async def test_many_refused_lines_are_counted(alice: Person) -> None:
    report = await take_in(alice, "x\n" * 20_000)
    assert (report["refusedCount"], len(report["refused"])) == (20_000, move_tools.MAX_REFUSED)


async def test_many_entities_in_one_text(alice: Person) -> None:
    lines = [
        json.dumps({"type": "entity", "name": f"n{n:04}", "entityType": "t", "observations": [f"o{n}"]})
        for n in range(3_000)
    ]
    report = await take_in(alice, "\n".join(lines))
    assert (report["entitiesCreated"], report["observationsAdded"]) == (3_000, 3_000)
    assert [json.loads(line)["name"] for line in (await export(alice)).splitlines()] == [
        f"n{n:04}" for n in range(3_000)
    ]


@on_shared_database
@pytest.mark.parametrize("page_bytes", [1, 30, 100, 300])
async def test_parts_of_any_size_make_the_same_file(
    newcomer: Person, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    """Also where a line is longer than a part."""
    entities = [
        entity("a", *(f"observation {n}" for n in range(20))),
        entity("b"),
        entity("c", "x"),
        entity("d", *"xyz"),
    ]
    await newcomer.call("create_entities", entities=entities)
    await newcomer.call("create_relations", relations=[relation("a", "r", "b"), relation("d", "r", "c")])
    whole = await export(newcomer)
    assert len(whole.splitlines()) == 6
    monkeypatch.setattr(pages, "PAGE_BYTES", page_bytes)
    assert await export(newcomer) == whole


@on_shared_database
@pytest.mark.parametrize("gone", ["rest", "entity", "all"])
async def test_what_is_deleted_between_two_parts_leaves_whole_lines(
    newcomer: Person, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    observations = [f"observation {n}" for n in range(20)]
    await newcomer.call("create_entities", entities=[entity("a", *observations), entity("b", "x")])
    monkeypatch.setattr(pages, "PAGE_BYTES", 50)
    first = await newcomer.call("export_graph")
    assert not first["jsonl"].endswith("\n")
    if gone == "rest":
        await newcomer.call("delete_observations", deletions=[{"entityName": "a", "observations": observations}])
    else:
        await newcomer.call("delete_entities", entityNames=["a"] if gone == "entity" else ["a", "b"])
    text, cursor = first["jsonl"], first["nextCursor"]
    while cursor is not None:
        part = await newcomer.call("export_graph", cursor=cursor)
        text, cursor = text + part["jsonl"], part.get("nextCursor")
    names = [json.loads(line)["name"] for line in text.splitlines()]
    assert names == (["a"] if gone == "all" else ["a", "b"])
