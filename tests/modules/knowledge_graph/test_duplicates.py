"""Entities that may be the same are told with reasons; nothing is merged."""

import itertools
import random

import pytest

from modules.knowledge_graph.duplicates import EntityName, build_reports
from tests.modules.knowledge_graph.conftest import on_shared_database
from tests.modules.knowledge_graph.sending import entity
from tests.support.modules import Person

SAME = "the same but for case, width or spelling"
SPACES = "the same but for spaces and punctuation"
ORDER = "the same words in another order"
LETTER = "one letter apart"
CONTAINS = "one name contains the other"
NOT_COMPARED = " Meanings were not compared: nothing is searched by meaning here."
"""Of a graph without a search engine; with one: test_meaning.py."""


@on_shared_database
@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["Acme", "ACME"], SAME),
        (["ｻｰﾊﾞ", "サーバー"], SAME),
        (["e-mail", "email"], SPACES),
        (["Acme Inc.", "Acme, Inc"], SPACES),
        (["Ada Lovelace", "Lovelace, Ada"], ORDER),
        (["Robert Smith", "Robert Smyth"], LETTER),
        (["Katherine", "Catherine"], LETTER),
        (["Catherin", "Catherine"], LETTER),
        (["Ada", "Ada Lovelace"], CONTAINS),
        (["山田", "山田太郎"], CONTAINS),
    ],
    ids="/".join,
)
async def test_names_that_may_mean_the_same(newcomer: Person, names: list[str], reason: str) -> None:
    await newcomer.call("create_entities", entities=[entity(name) for name in (*names, "Somebody else")])
    report = await newcomer.call("find_duplicates")
    [pair] = report["pairs"]
    assert {pair["first"], pair["second"]} == set(names)
    assert reason in pair["reasons"]
    assert 0.5 <= pair["score"] <= 1
    assert len((await newcomer.call("read_graph"))["entities"]) == 3


@on_shared_database
@pytest.mark.parametrize(
    "names",
    [
        ["Room 101", "Room 102"],
        ["山田太郎さま", "山田次郎さま"],
        ["Bob", "Bobby"],
        ["12", "12 Main Street"],
        ["Ann", "Anna"],
        ["🎉", "🎊"],
        ["Team", *(f"Team {name}" for name in ("Red Fox", "Blue Sea", "Green Ape", "Old Oak", "Sun", "Moon"))],
    ],
    ids="/".join,
)
async def test_names_that_mean_something_else(newcomer: Person, names: list[str]) -> None:
    await newcomer.call("create_entities", entities=[entity(name) for name in names])
    assert await newcomer.call("find_duplicates") == {
        "message": f"No pairs found.{NOT_COMPARED}",
        "total": 0,
        "pairs": [],
    }


async def test_shared_observations(people: list[Person]) -> None:
    """One is not enough, and what many share says nothing; another's observations do not count."""
    common = ["born in 1815", "wrote programs"]
    entities = [entity("Ada", *common), entity("Countess of Lovelace", *common), entity("Charles", common[0])]
    everywhere = [entity(f"{letter * 3}{letter}", "likes tea", "is tall") for letter in "uvwxyz"]
    await people[0].call("create_entities", entities=[*entities, *everywhere])
    await people[2].call("create_entities", entities=[entity("Other", *common)])
    report = await people[0].call("find_duplicates")
    assert report["message"] == f"1 of 1 pairs that may be the same; nothing was merged.{NOT_COMPARED}"
    [pair] = report["pairs"]
    assert (pair["first"], pair["second"]) == ("Ada", "Countess of Lovelace")
    assert pair["reasons"] == ["2 shared observations"]
    assert (await people[2].call("find_duplicates"))["total"] == 0


async def test_the_best_come_first_and_another_type_counts_less(alice: Person) -> None:
    entities = [entity("Acme"), entity("ACME"), entity("Zenith", kind="company"), entity("ZENITH", kind="city")]
    await alice.call("create_entities", entities=entities)
    report = await alice.call("find_duplicates", limit=1)
    assert (report["total"], len(report["pairs"])) == (2, 1)
    assert report["pairs"][0]["first"] == "ACME"


def count_work_of(names: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """What is counted for the turns, which follows the time and does not depend on the machine."""
    counted = 0

    def count(size: int) -> None:
        nonlocal counted
        counted += size

    monkeypatch.setattr("modules.knowledge_graph.duplicates.count_work", count)
    build_reports([EntityName(name, "t", name.casefold()) for name in names], [], [], 20)
    return counted


@pytest.mark.parametrize("kind", ["alike", "dots", "prefixes", "random"])
def test_the_work_grows_with_the_names(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    made = {
        "alike": (f"{'ab' * 20} {number:06}" for number in itertools.count()),
        "dots": ("a" + "." * (number % 90) + "-" * (number // 90) for number in itertools.count()),
        "prefixes": ("a b c d e f g h"[: 1 + 2 * (number % 8)] + f" {number}" for number in itertools.count()),
        "random": ("".join(chance.choices("abcdefgh ", k=20)).strip() for _ in itertools.count()),
    }[kind]
    names = list(dict.fromkeys(itertools.islice(made, 4_000)))
    few, many = count_work_of(names[: len(names) // 4], monkeypatch), count_work_of(names, monkeypatch)
    assert many < 6 * few
