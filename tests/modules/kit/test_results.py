"""Answers that lack fields, or have others than documented: a field is lost, never the row or the page."""

from datetime import datetime
from typing import Annotated, Any, cast

import orjson
import pytest
from pydantic import TypeAdapter, model_validator

from modules.kit import OUTCOME_UNKNOWN, VendorAnswer, VendorProblem, build_json_schema, text_cleaning
from modules.kit.results import (
    CountedPage,
    Flag,
    Identifier,
    Line,
    ListPage,
    Missable,
    Name,
    ResultModel,
    Text,
    Url,
    Word,
    read_at,
    read_each,
    read_object,
    read_rows,
)


class Event(ResultModel):
    longest = {"body": 10}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Line
    title: Line
    size: Missable[int] = None
    start: Missable[datetime] = None
    owner: Annotated[Word, read_at("owner", "login")] = ""
    labels: list[Line]
    done: Flag
    body: Text = ""
    truncated: Flag = False


class Events(ListPage):
    events: list[Event]


class Strict(ResultModel):
    id: int


class Computed(ResultModel):
    id: Line = ""
    name: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _compute(cls, raw: Any) -> Any:
        return {**raw, "name": cast("Any", raw)["person"].get("name")}


WHOLE = {
    "id": "1", "title": "One", "size": 0, "start": "2026-01-31T12:00:00Z", "owner": {"login": "mona"}, "labels": ["a"],
    "done": True, "body": "text",
}  # fmt: skip
SHOWN = {**WHOLE, "owner": "mona"}


def answered(document: object, *, write: bool = False) -> VendorAnswer:
    return VendorAnswer(200, {}, orjson.dumps(document), write)


async def show(rows: list[object]) -> dict[str, Any]:
    read = await read_rows(answered(rows), Event, rows)
    return orjson.loads(Events(events=read.rows, unreadable=read.unreadable).model_dump_json())


async def test_a_whole_row() -> None:
    assert await show([WHOLE]) == {"events": [SHOWN]}


@pytest.mark.parametrize("name", WHOLE)
async def test_a_field_of_another_type_costs_that_field(name: str) -> None:
    for wrong in (None, 3, "x", [], [3], {}, {"login": 3}, {"login": {}}, 10**18):
        [row] = (await show([WHOLE, {**WHOLE, name: wrong}]))["events"][1:]
        assert {field: row[field] for field in SHOWN if field != name} == {
            field: SHOWN[field] for field in SHOWN if field != name
        }, wrong
        assert row.get(name) in (None, "", [], False, 3, "3", "x", 10**18, True, "1970-01-01T00:00:03Z"), wrong


@pytest.mark.parametrize("name", WHOLE)
async def test_a_missing_field_costs_that_field(name: str) -> None:
    [row] = (await show([{field: value for field, value in WHOLE.items() if field != name}]))["events"]
    empty: Any = {"id": "", "title": "", "labels": []}
    assert row == {**{field: value for field, value in SHOWN.items() if field != name}, **{
        field: value for field, value in empty.items() if field == name
    }}  # fmt: skip


async def test_several_at_once_and_what_is_no_row() -> None:
    found = await show([{"id": "1", "size": "?", "labels": {}, "body": 3}, 3, None, [], "x", {}, {"other": 1}])
    assert found == {"events": [{"id": "1", "title": "", "labels": []}], "unreadable": 6}


async def test_a_page_of_which_nothing_can_be_read_is_an_error() -> None:
    rows: list[object] = [{}, 3]
    with pytest.raises(VendorProblem, match="documented form"):
        await read_rows(answered(rows), Event, rows)
    assert (await read_rows(answered([]), Event, [])).rows == []


async def test_a_field_that_must_be_there_costs_the_row() -> None:
    rows: list[object] = [{"id": 3}, {"id": "x"}, {}]
    read = await read_rows(answered(rows), Strict, rows)
    assert ([one.id for one in read.rows], read.unreadable) == ([3], 2)


async def test_a_shape_that_computes_from_what_it_did_not_expect() -> None:
    rows: list[object] = [{"id": "1", "person": {"name": "Ada"}}, {"id": "2", "person": "Ada"}, {"id": "3"}]
    read = await read_rows(answered(rows), Computed, rows)
    assert ([one.name for one in read.rows], read.unreadable) == (["Ada"], 2)


def test_one_object() -> None:
    assert read_object(answered({"id": "1", "size": "?"}), Event).id == "1"
    for document in ({}, {"other": 1}, [], None, "x"):
        with pytest.raises(VendorProblem) as caught:
            read_object(answered(document, write=True), Event)
        assert OUTCOME_UNKNOWN in str(caught.value)


def test_a_default_is_nothing_that_was_read() -> None:
    class Marked(ResultModel):
        active: bool = True
        id: Word = ""

    with pytest.raises(VendorProblem, match="documented form"):
        read_object(answered({"other": 1}), Marked)
    assert read_object(answered({"id": "1"}), Marked).active is True


def test_the_schema_does_not_promise_what_may_be_missing() -> None:
    schema = build_json_schema(Event, output=True)
    assert schema["properties"]["size"] == {"type": "integer"}
    assert set(schema["required"]) == {"id", "title", "labels"}


def test_a_total_of_none_is_shown_and_an_unknown_one_is_not() -> None:
    assert orjson.loads(CountedPage(total=0).model_dump_json()) == {"total": 0}
    assert orjson.loads(CountedPage().model_dump_json()) == {}


class Switch(ResultModel):
    on: bool = True
    name: Word = ""


class Panel(ResultModel):
    id: Line
    switches: Annotated[list[Switch], read_each(Switch)] = []  # noqa: RUF012


def test_a_default_alone_is_no_answer() -> None:
    assert read_object(answered({"on": False, "name": "a"}), Switch).on is False
    with pytest.raises(VendorProblem, match="documented form"):
        read_object(answered({"result": 3}), Switch)


def test_an_odd_field_of_a_row_within_costs_that_field() -> None:
    odd: list[object] = [{"name": "a", "on": False}, {"name": 3, "on": False}, 3, {"name": "b", "on": [7]}, {"x": 1}]
    found = read_object(answered({"id": "1", "switches": odd}), Panel).switches
    assert [(one.name, one.on) for one in found] == [("a", False), ("b", True)]
    assert read_object(answered({"id": "1", "switches": {}}), Panel).switches == []


def test_a_cursor_is_never_cut() -> None:
    """A vendor's may have more characters than a line of text."""
    assert ListPage.model_validate({"nextCursor": "c" * 3_000}).nextCursor == "c" * 3_000


@pytest.mark.parametrize(
    ("kind", "clean"),
    [
        (Line, text_cleaning.clean_line),
        (Identifier, text_cleaning.keep_identifier),
        (Name, text_cleaning.clean_name),
        (Url, text_cleaning.clean_url),
    ],
)
def test_a_text_that_skips_the_cleaning_is_clean(kind: Any, clean: Any) -> None:
    """Each text goes through a pattern of Rust's first, which has to agree with what Python cleans."""
    read = TypeAdapter(kind).validate_python
    signs = [
        chr(code)
        for code in (*range(0x3400), *range(0xF900, 0x11000), *range(0x1D000, 0x1F700), *range(0xE0000, 0xE1000))
    ]
    texts = [text for sign in signs for text in (f"a{sign}b", f"a {sign}", f"{sign} b")]
    texts += ["", " ", "a  b", "x" * 1024, "x" * 1025, "x" * 4096, "x" * 4097, "日本語の題名", "日本語 の" * 300]
    assert [text for text in texts if read(text) != clean(text)] == []
