"""Search finds what contains the query, and paging covers everything exactly once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.knowledge_graph import pages
from modules.knowledge_graph.search_text import build_needles, fold_texts
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person


async def found(person: Person, query: str) -> list[str]:
    return [one["name"] for one in (await person.call("search", query=query))["entities"]]


async def all_pages(person: Person, tool: str, **params: Any) -> list[dict[str, Any]]:
    answers = [await person.call(tool, **params)]
    while cursor := answers[-1].get("nextCursor"):
        answers.append(await person.call(tool, cursor=cursor, **params))
    return answers


def lines(answers: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each entity and each observation once, as the pages show them."""
    shown: list[tuple[str, str]] = []
    for one in (one for answer in answers for one in answer["entities"]):
        if not one.get("continued"):
            shown.append((one["name"], ""))
        shown += [(one["name"], text) for text in one["observations"]]
    return shown


async def test_an_empty_graph(alice: Person) -> None:
    assert await alice.call("read_graph") == {
        "message": "This page has no entities and 0 relations.",
        "entities": [],
        "relations": [],
    }
    assert (await alice.call("search", query="x"))["message"] == "No matching entities found."
    assert await alice.call("get_nodes", names=["x"]) == {
        "message": "No matching entities found.",
        "entities": [],
        "relations": [],
        "unknown": ["x"],
    }


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("likes green TEA in the morning", "Green tea"),
        ("likes green tea", "een t"),
        ("全文検索エンジンを作る", "検索"),
        ("全文検索エンジンを作る", "る"),
        ("全文検索エンジンを作る", "検"),
        ("全文検索エンジンを作る", "全文検索エンジン"),
        ("ｻｰﾊﾞｰを監視", "サーバー"),
        ("サーバを監視", "サーバー"),
        ("サーバーを監視", "サーバ"),
        ("サーバーを監視", "バー"),
        ("サーバー監視", "サーバ監視"),
        ("サーバ監視", "サーバー監視"),
        ("ヴァイオリン", "バイオリン"),
        ("バイオリン", "ヴァイオリン"),
        ("ＡＢＣ１２３", "abc123"),
        ("abc123", "ＡＢＣ"),
        ("㈱山田", "(株)"),
        ("Straße", "STRASSE"),
        ("100% sure", "0% s"),
        ("snake_case", "e_c"),
        (r"C:\dir", r":\d"),
        ("party 🎉 time", "🎉"),
        ("two\nlines", "two lines"),
        ("a\u3000b", "A B"),
    ],
)
async def test_search_finds(alice: Person, text: str, query: str) -> None:
    entities = [
        entity("in observation", "other", text),
        entity(text),
        entity("in type", kind=text),
        entity("none", "other"),
    ]
    await alice.call("create_entities", entities=entities)
    assert sorted(await found(alice, query)) == sorted(["in observation", text, "in type"])


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("ビル", "ビール"),
        ("コピペ", "コピー"),
        ("abc", "a_c"),
        ("abc", "%"),
        ("abc", "a%"),
        ("abc", "\\"),
        ("検査と探索", "検索"),
        ("name", "namet"),
    ],
)
async def test_search_does_not_find(alice: Person, text: str, query: str) -> None:
    await alice.call("create_entities", entities=[entity(text, text, kind=text)])
    answer = await alice.call("search", query=query)
    assert (answer["entities"], answer["message"]) == ([], "No matching entities found.")


async def test_a_match_does_not_reach_from_the_name_into_the_type(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("ab", kind="cd")])
    assert await found(alice, "bc") == []


async def test_search_follows_changes(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "drinks coffee", kind="person")])
    await alice.call("create_entities", entities=[entity("Bob", "drinks tea", kind="dog")])
    assert (await found(alice, "person"), await found(alice, "dog"), await found(alice, "tea")) == (
        [],
        ["Bob"],
        ["Bob"],
    )
    await alice.call("delete_observations", deletions=[{"entityName": "Bob", "observations": ["drinks tea"]}])
    assert (await found(alice, "tea"), await found(alice, "coffee")) == ([], ["Bob"])


async def test_search_gives_whole_entities_and_their_relations(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "tea", "tall"), entity("Eve"), entity("Zoe")])
    sent = [relation("Bob", "knows", "Eve"), relation("Zoe", "knows", "Bob"), relation("Eve", "knows", "Zoe")]
    await alice.call("create_relations", relations=sent)
    answer = await alice.call("search", query="tea")
    assert answer["message"] == "1 of 1 matching entities."
    assert answer["entities"] == [{"name": "Bob", "entityType": "person", "observations": ["tea", "tall"]}]
    assert answer["relations"] == sent[:2]


async def test_get_nodes_reports_unknown_names(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "tea"), entity("Eve"), entity("Zoe")])
    sent = [relation("Bob", "knows", "Eve"), relation("Eve", "knows", "Zoe"), relation("Zoe", "is", "Zoe")]
    await alice.call("create_relations", relations=sent)
    answer = await alice.call("get_nodes", names=["Eve", "bob", "Bob", "Bob", "x"])
    assert [one["name"] for one in answer["entities"]] == ["Bob", "Eve"]
    assert answer["relations"] == sent[:2]
    assert answer["unknown"] == ["bob", "x"]


@pytest.mark.parametrize("limit", [1, 3, 7, 500])
async def test_paging_covers_everything_exactly_once(
    alice: Person, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 400)
    monkeypatch.setattr(pages, "MAX_RELATIONS", 4)
    entities = [
        entity(f"e{n:02} 検索", *(f"observation {n} {m} " + "検" * 20 for m in range(n % 9))) for n in range(25)
    ]
    await alice.call("create_entities", entities=entities)
    edges = [relation(entities[n]["name"], "r", entities[n * 7 % 25]["name"]) for n in range(25)]
    await alice.call("create_relations", relations=edges)
    expected = [(one["name"], text) for one in entities for text in ("", *one["observations"])]
    names = [one["name"] for one in entities]

    answers = await all_pages(alice, "read_graph", limit=limit)
    assert lines(answers) == expected
    shown = [edge for answer in answers for edge in answer["relations"]]
    assert sorted(shown, key=str) == sorted(edges, key=str)
    assert all(len(answer["entities"]) <= limit for answer in answers)
    assert lines(await all_pages(alice, "search", query="検索", limit=limit)) == expected
    assert lines(await all_pages(alice, "get_nodes", names=names)) == expected


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_an_entity_larger_than_a_page_goes_on_on_the_next(
    alice: Person, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_LINES", most)
    await alice.call("create_entities", entities=[entity("Bob", *map(str, range(6))), entity("Eve")])
    answers = await all_pages(alice, "get_nodes", names=["Bob", "Eve", "x"])
    assert len(answers) == -(-8 // most)
    assert lines(answers) == [("Bob", ""), *(("Bob", str(n)) for n in range(6)), ("Eve", "")]
    assert [name for answer in answers for name in answer["unknown"]] == ["x"]


async def test_a_page_is_no_larger_than_a_client_reads(alice: Person) -> None:
    many = [entity(f"e{n}", *(f"{m}" + "x" * 1900 for m in range(10))) for n in range(10)]
    await alice.call("create_entities", entities=many)
    answers = await all_pages(alice, "read_graph")
    assert all(len(str(answer)) < 1.2 * pages.PAGE_BYTES for answer in answers)
    assert len(lines(answers)) == 110


async def test_relations_of_a_hub_that_do_not_fit_are_counted(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_RELATIONS", 3)
    await alice.call("create_entities", entities=[entity("hub"), *(entity(f"e{n}") for n in range(9))])
    sent = [relation("hub", "r", f"e{n}") for n in range(9)]
    await alice.call("create_relations", relations=sent)
    answer = await alice.call("get_nodes", names=["hub", "e8"])
    assert answer["relations"] == [sent[8], *sent[:2]], "those among the named come first"
    assert "6 more relations touch these entities" in answer["message"]


async def test_what_exists_throughout_is_read_while_others_write(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity(f"e{n:02}") for n in range(10)])
    first = await alice.call("read_graph", limit=4)
    await alice.call("delete_entities", entityNames=["e03", "e05"])
    await alice.call("create_entities", entities=[entity("a00"), entity("e04b")])
    rest = await alice.call("read_graph", limit=20, cursor=first["nextCursor"])
    assert [one["name"] for one in rest["entities"]] == ["e04", "e04b", "e06", "e07", "e08", "e09"]


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "",
        "%%%",
        "bnVsbA==",
        "W10=",
        "WzEsMiwzXQ==",
        pages.Cursor("a\x00").encode(),
        pages.Cursor("a", -1).encode(),
        pages.Cursor("a", 2**63).encode(),
        pages.Cursor("a" * 201).encode(),
        pages.Cursor(relation=("a", "b", "\x00")).encode(),
    ],
)
async def test_a_made_up_cursor_is_refused(alice: Person, cursor: str) -> None:
    for tool, params in (("read_graph", {}), ("search", {"query": "x"}), ("get_nodes", {"names": ["x"]})):
        with pytest.raises(ToolError, match="cursor was not returned by this tool"):
            await alice.call(tool, cursor=cursor, **params)


TEXT = st.text(alphabet="aB１Ａ%_ 検索るサバヴァィコピー・ｱｰ\n", max_size=12)


@given(TEXT, TEXT.filter(lambda text: bool(text.strip())), TEXT)
def test_whatever_a_text_contains_is_found(before: str, query: str, after: str) -> None:
    stored = fold_texts("x", before + query + after)
    assert any(needle in stored for needle in build_needles(query) if needle is not None)


def test_no_visible_character_folds_to_nothing() -> None:
    """An empty needle would match everything."""
    visible = (chr(code) for code in range(0x20, 0x110000) if not 0xD800 <= code < 0xE000)
    assert [hex(ord(one)) for one in visible if one.strip() and "" in build_needles(one)] == []
