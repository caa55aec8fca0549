"""What every tool of a vendor's module goes through, whatever it does.

    class TestEveryTool(ToolWalk):
        module = MODULE

        def furnish(self, vendor: JiraDouble) -> Calls:
            vendor.world = World()
            return {"get_issue": {"issue": vendor.world.add("One")}, ...}

The file has the fixtures `app` and `vendor` (tests/support/module_app.py). A tool without a call fails.
"""

import copy
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from modules.kit import OUTCOME_UNKNOWN, Tool
from tests.support.mcp_client import Answer
from tests.support.module_app import ModuleApp
from tests.support.odd_documents import (
    INVISIBLE,
    add_unknown_fields,
    find_bad_values,
    find_cut_texts,
    find_inner_rows,
    find_max_length,
    find_raw_rows,
    find_rows,
    get_inner_rows,
    hide_characters,
    lengthen_texts,
    list_broken_documents,
    list_odd_rows,
    replace_inner_rows,
    replace_rows,
)
from tests.support.tool_calls import (
    FURTHER_OUTCOMES,
    FURTHER_REFUSALS,
    HTML,
    NOTHING,
    REFUSALS,
    TRIED_APART,
    UNKNOWN_OUTCOMES,
    Json,
    in_short_and_long,
)
from tests.support.tool_walk_people import PeopleWalk
from tests.support.vendor_double import VendorReply

LISTS = ("list_", "search_", "query_")
"""How the names of tools begin that give rows."""


class ToolWalk(PeopleWalk):
    """The whole walk; see :class:`ToolCalls` for what it is told."""

    async def test_it_works(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        answer, seen = await self.run(app, vendor, tool)
        assert not answer.failed, answer.text
        assert bool(seen) == (tool.name not in self.local)
        assert answer.is_marked, "the answer does not say that it is a vendor's"
        if not tool.hints.read_only:
            assert any(self.is_write(tool, one) for one in seen), seen

    @in_short_and_long
    async def test_a_change_is_sent_once_and_never_asked_for_again(
        self, app: ModuleApp, vendor: Any, tool: Tool, thorough: bool
    ) -> None:
        if tool.hints.read_only:
            return
        before = len(self.list_replies(vendor))
        _, usual = await self.run(app, vendor, tool)
        replies = self.list_replies(vendor)[before:]
        for place, request in enumerate(usual):
            if not self.is_write(tool, request):
                continue
            outcomes = (FURTHER_OUTCOMES if thorough else UNKNOWN_OUTCOMES) | (
                NOTHING if replies[place].body and tool.name not in self.listing else {}
            )
            for name, reply in outcomes.items():
                answer, seen = await self.run(app, vendor, tool, [*[None] * place, *[reply] * 5])
                writes = [one for one in seen if self.is_write(tool, one)]
                assert answer.failed, (name, request, answer.text)
                assert OUTCOME_UNKNOWN in answer.text, (name, answer.text)
                assert "try again later" not in answer.text
                assert "120 s" in answer.text or "Retry-After" not in reply.headers
                assert len(writes) == sum(self.is_write(tool, one) for one in usual[: place + 1]), (name, writes)

    @in_short_and_long
    async def test_a_refusal_is_told_in_our_words(
        self, app: ModuleApp, vendor: Any, tool: Tool, thorough: bool
    ) -> None:
        _, usual = await self.run(app, vendor, tool)
        for place, request in enumerate(usual):
            changed_before = any(self.is_write(tool, one) for one in usual[:place])
            operation = vendor.find_operation(request)
            described = set(vendor.contract.list_refusals(*operation)) - TRIED_APART if operation else set[int]()
            for status in FURTHER_REFUSALS if thorough else sorted({*REFUSALS, *described}):
                refusal = self.build_refusal(vendor, status)
                assert not operation or vendor.contract.wrong_answer(*operation, status, refusal.body) is None
                answer, seen = await self.run(app, vendor, tool, [*[None] * place, *[refusal] * 5])
                if not answer.failed:
                    assert not self.is_write(tool, request), (status, request)
                    continue
                is_open = changed_before or (status >= 500 and self.is_write(tool, request))
                assert (OUTCOME_UNKNOWN in answer.text) == is_open, (status, request, answer.text)
                if not self.is_write(tool, request) and not changed_before:
                    assert not any(self.is_write(tool, one) for one in seen), (status, seen)
            pause = VendorReply(503, b"", {"Retry-After": "600"})
            answer, _ = await self.run(app, vendor, tool, [*[None] * place, *[pause] * 5])
            assert not answer.failed or "600 s" in answer.text or changed_before, answer.text

    async def test_an_unreadable_answer_to_a_question(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        _, usual = await self.run(app, vendor, tool)
        for place, request in enumerate(usual):
            if self.is_write(tool, request):
                continue
            changed_before = any(self.is_write(tool, one) for one in usual[:place])
            for name, reply in ({"a page": HTML} | NOTHING).items():
                answer, _ = await self.run(app, vendor, tool, [*[None] * place, *[reply] * 5])
                if answer.failed:
                    assert (OUTCOME_UNKNOWN in answer.text) == changed_before, (name, answer.text)

    async def test_bad_arguments_are_named(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        """An unknown name, a missing one, an id that is none, a text that is too long, a time that is none."""
        given = self.furnish(vendor)[tool.name]
        before = len(vendor.seen)

        async def refuse(name: str, /, **params: Any) -> str:
            answer = await app.call(tool.name, **params)
            assert answer.failed, (name, params)
            assert name in answer.text, (name, str(params)[:200], answer.text)
            return answer.text

        assert "surprise is unknown" in await refuse("surprise", **given, surprise=1)
        for name, value in given.items():
            if isinstance(value, list) and isinstance(value[0], dict):
                parts = [{**value[0], "surprise": 1}, *value[1:]]
                assert f"{name}[0].surprise is unknown" in await refuse(name, **{**given, name: parts})
        for name, field in tool.arguments.model_fields.items():
            if field.is_required():
                said = await refuse(name, **{other: value for other, value in given.items() if other != name})
                assert said.startswith(f"{name} is missing")
            for value in find_bad_values(name, field, is_id=name in self.ids, has_zone="time_zone" in given):
                await refuse(name, **{**given, name: value})
        assert vendor.seen[before:] == []

    async def test_the_longest_texts(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        """What a text parameter allows at most arrives, or is refused with its name."""
        for name, value in self.furnish(vendor)[tool.name].items():
            most = find_max_length(tool.arguments.model_fields[name])
            if not isinstance(value, str) or name in self.ids or most < 200:
                continue
            calls = self.furnish(vendor)
            lines = ("あ" * 49 + "\n") * (most // 50 + 1)
            answer = await app.call(tool.name, **{**calls[tool.name], name: lines[:most]})
            is_told = name in answer.text or re.search("divide it|exactly one block", answer.text)
            assert not answer.failed or is_told, (name, most, answer.text)

    async def test_what_people_write_is_not_cut_without_saying_so(
        self, app: ModuleApp, vendor: Any, tool: Tool
    ) -> None:
        """Titles, names and places of a thousand characters are whole, or a field beside them says what is not."""
        if not tool.hints.read_only or tool.name in self.local | self.parallel:
            return
        before = len(self.list_replies(vendor))
        await self.run(app, vendor, tool)
        documents = [copy.deepcopy(one) for one in self.list_replies(vendor)[before:]]
        for place, reply in enumerate(documents):
            if isinstance(reply.body, dict | list):
                long = replace(reply, body=lengthen_texts(reply.body, self.secret, 1_000))
                answer, _ = await self.run(app, vendor, tool, [*[None] * place, long])
                assert answer.failed or find_cut_texts(answer.value, self.secret) == []

    async def test_what_nobody_sees_is_taken_out(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        """Neither the structured part of an answer nor its text has the invisible characters of the vendor's."""
        if not tool.hints.read_only or tool.name in self.local | self.parallel | self.verbatim:
            return
        before = len(self.list_replies(vendor))
        await self.run(app, vendor, tool)
        documents = [copy.deepcopy(one) for one in self.list_replies(vendor)[before:]]
        for place, reply in enumerate(documents):
            hidden = replace(reply, body=hide_characters(reply.body, self.secret))
            answer, _ = await self.run(app, vendor, tool, [*[None] * place, hidden])
            shown = f"{answer.text} {answer.value}".encode("ascii", "backslashreplace").decode()
            found = [one for one in INVISIBLE if one.encode("ascii", "backslashreplace").decode() in shown]
            assert found == [], shown[:2_000]

    async def test_a_list_is_read_to_its_end(self, app: ModuleApp, vendor: Any, tool: Tool) -> None:
        if not {"cursor", "per_page"} <= tool.arguments.model_fields.keys():
            return
        given = {**self.furnish(vendor)[tool.name], "per_page": 1}
        whole, pages = (await app.read(tool.name, **{**given, "per_page": 50})), list[Any]()
        name = find_rows(whole)
        assert tool.name in self.single or len(whole[name]) > 1, f"there are not two rows: {whole}"
        cursor: Json = {}
        while len(pages) < 50:
            page = await app.read(tool.name, **given, **cursor)
            pages.append(page[name])
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        assert [row for rows in pages for row in rows] == whole[name]
        assert not page.get("incomplete")
        assert all(len(rows) <= 1 for rows in pages)

    def compare_by(self, row: Any) -> Any:
        """A row without what depends on the other rows of its page."""
        return row

    @in_short_and_long
    async def test_answers_that_are_not_as_described(
        self, app: ModuleApp, vendor: Any, tool: Tool, thorough: bool
    ) -> None:
        """A field that is new changes nothing; a row that is none costs itself; an empty list is one."""
        if not tool.hints.read_only or tool.name in self.local | self.parallel:
            return
        before = len(self.list_replies(vendor))
        usual, _ = await self.run(app, vendor, tool)
        are_tried = False
        documents = [copy.deepcopy(one) for one in self.list_replies(vendor)[before:]]
        for place, reply in enumerate(documents):
            if not isinstance(reply.body, dict | list):
                continue

            async def answer_with(body: Any, place: int = place, reply: VendorReply = reply) -> Answer:
                answer, _ = await self.run(app, vendor, tool, [*[None] * place, replace(reply, body=body)])
                return answer

            grown = await answer_with(add_unknown_fields(reply.body, self.apart))
            assert not grown.failed, grown.text
            assert tool.name in self.verbatim or grown.value == usual.value
            for body in list_broken_documents(reply.body) if thorough else list_odd_rows(reply.body)[:2]:
                broken = await answer_with(body)
                if not broken.failed:
                    assert OUTCOME_UNKNOWN not in broken.text
            was_tried = await self._check_rows(tool, usual.value, reply.body, answer_with, thorough=thorough)
            are_tried = are_tried or was_tried
        assert are_tried or not tool.name.startswith(LISTS) or tool.name in self.single | self.rowless, (
            "its rows were not tried"
        )

    def asks_by_id(self, tool: Tool) -> bool:
        """Whether a tool asks for rows by their ids: an answer without them is none."""
        return any(name.endswith("_ids") for name in tool.arguments.model_fields)

    async def _check_rows(
        self, tool: Tool, usual: Any, body: Any, answer_with: Callable[[Any], Awaitable[Answer]], *, thorough: bool
    ) -> bool:
        """Try rows that are none; false where the document has not the rows of the answer."""
        name = find_rows(usual) if isinstance(usual, dict) else ""
        place = find_inner_rows(body) if tool.name.startswith(LISTS) else ()
        rows = find_raw_rows(body) if not place else get_inner_rows(body, place)
        is_filtered = tool.name.startswith(LISTS) and len(rows) > len(usual.get(name, ())) > 1
        if not name or len(rows) < 2 or not (is_filtered or len(usual[name]) == len(rows)):
            return False

        def put(rows: list[Any]) -> Any:
            return replace_inner_rows(body, place, rows) if place else replace_rows(body, rows)

        for odd in (None, {}, [], *list_odd_rows(rows[0])) if thorough else (5, *list_odd_rows(rows[0])[:1]):
            answer = await answer_with(put([odd, *rows[1:]]))
            assert not answer.failed, (odd, answer.text)
            known = [self.compare_by(row) for row in usual[name]]
            kept = [row for row in answer.value.get(name, []) if self.compare_by(row) in known]
            assert len(kept) >= len(usual[name]) - 1, (odd, answer.text)
        if self.asks_by_id(tool):
            return True
        empty = await answer_with(put([]))
        assert not empty.failed, empty.text
        assert not empty.value.get(name)
        return True
