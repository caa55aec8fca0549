"""A query finds permitted tools in both languages; no hidden one changes an order, and very many cost little."""

import asyncio
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
import pytest

from core.permissions import Policy, Role
from gateway.catalogue import Catalogue, build_catalogue, load_installed_modules
from gateway.lookup_recorder import MissingName
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import RequestContext
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.sieve.sieve import Sieve, SieveView
from gateway.sieve.tool_documents import ToolDocuments
from gateway.sieve.tool_search import MAX_QUERY_LENGTH, search_tools
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Module
from server.tool_translations import load_translations
from tests.gateway.sieve.matrices import Matrix
from tests.gateway.sieve.test_definitions import multiplied, view_of
from tests.support.tokens import tokens
from tests.support.toy_modules import crowd, crowd_with_capabilities, without_capabilities

NEEDS_CONNECT = {"connection": "needs_connect", "note": "connect it"}


@pytest.fixture(scope="module")
def installed() -> Catalogue:
    return load_installed_modules()


@pytest.fixture(scope="module")
def sieve(installed: Catalogue) -> Sieve:
    return Sieve(installed, load_translations=load_translations)


@pytest.fixture(scope="module")
def everything(installed: Catalogue, sieve: Sieve) -> SieveView:
    return sieve.get_policy_view(Policy((Role("all", allow=frozenset({"*"})),), frozenset(installed.tools)))


class Asked:
    """Asks as one caller, and keeps the names that were recorded as missing."""

    def __init__(self, view: SieveView, connection: dict[str, str] | None = None) -> None:
        self.view = view
        self.missing: list[MissingName] = []
        self._connection = connection or {"connection": "ready"}
        matrix = Matrix(UUID(int=1), (), frozenset(), False)
        self._request = RequestContext(Authority(matrix.caller()), "r", 0.0)

    async def raw(self, **params: Any) -> dict[str, Any]:
        async def record(_context: RequestContext, _count: int, missing: Sequence[MissingName]) -> None:
            self.missing += missing

        async def connection(_context: RequestContext, _module: Module) -> dict[str, str]:
            return self._connection

        return await get_module_schema(self.view, self._request, params, record, connection)

    async def __call__(self, **params: Any) -> dict[str, Any]:
        answer = await self.raw(**params)
        assert not answer["isError"], answer
        return orjson.loads(orjson.dumps(answer["structuredContent"]))

    async def error(self, **params: Any) -> str:
        answer = await self.raw(**params)
        assert answer["isError"], answer
        return answer["content"][0]["text"]

    async def found(self, query: str, **params: Any) -> list[str]:
        return [f"{tool['module']}.{tool['name']}" for tool in (await self(query=query, **params))["tools"]]


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("create a github issue", "github.create_issue"),
        ("list_pull_requests", "github.list_pull_requests"),
        ("move a calendar event", "google_calendar.move_event"),
        ("run SQL on my database", "supabase.execute_sql"),
        ("transition a jira ticket", "jira.transition_issue"),
        ("jira ticket to done", "jira.transition_issue"),
        ("Jira のチケットを完了にする", "jira.transition_issue"),
        ("Jira の課題をクローズ", "jira.transition_issue"),
        ("which milestones are there?", "github.list_milestones"),
        ("Jira の課題を検索", "jira.search_issues"),
        ("プルリクエストの一覧", "github.list_pull_requests"),
        ("Notion のページを作る", "notion.create_page"),
        ("予定を削除", "google_calendar.delete_event"),
        ("空き時間", "google_calendar.query_freebusy"),
    ],
)
async def test_words_of_people_find_the_tool(everything: SieveView, query: str, tool: str) -> None:
    assert tool in (await Asked(everything).found(query))[:3]


async def test_resources_and_prompts_are_found_with_what_uses_them(everything: SieveView) -> None:
    answer = await Asked(everything)(query="readme of the repository", module="github")
    (readme,) = [one for one in answer["offered"] if one["uri"].endswith("readme")]
    assert (readme["module"], readme["kind"]) == ("github", "resource")
    assert readme["uri"].startswith(("github://", "resource://github/"))
    assert "resources/read" in answer["use"]
    prompts = [prompt.prompt for prompt in everything.prompts.values()]
    for prompt in prompts:
        offered = (await Asked(everything)(query=f"{prompt.title} {prompt.name}")).get("offered", [])
        (found,) = [one for one in offered if one.get("name") == prompt.name]
        assert (found["kind"], found["arguments"]) == ("prompt", list(prompt.arguments.model_fields))
    assert all("kind" not in one for one in answer["tools"])


async def test_hidden_resources_and_prompts_are_not_found() -> None:
    """All is as in a world without them: those that are found, what is found with them, and in which order."""
    catalogue = crowd_with_capabilities(3)
    some = view_of(catalogue, "m00q.*", "m01q.s0102q", "m01q.t0100q")
    kept = [("m01q", "s0102q"), ("m01q", "t0100q")]
    kept += [("m00q", tool.name) for tool in catalogue.list_capabilities("m00q")]
    alone = view_of(without_capabilities(catalogue, kept), "*")
    for query in ("s0102q", "e0103q", "p0104q", "e0003q s0002q", "About y0004 y0104 m01q"):
        assert await Asked(some)(query=query) == await Asked(alone)(query=query)
    assert (await Asked(some)(query="e0103q")).get("offered") is None


async def test_japanese_finds_tools_that_have_english_texts_alone(installed: Catalogue) -> None:
    view = view_of(installed, "*")
    assert "jira.search_issues" in (await Asked(view).found("jira 課題 検索"))[:3]
    assert "google_calendar.delete_event" in (await Asked(view).found("予定 削除"))[:3]


async def test_the_first_three_come_with_schemas_and_the_others_in_a_line(everything: SieveView) -> None:
    answer = await Asked(everything)(query="list issues")
    assert ["params" in tool for tool in answer["tools"]] == [True] * 3 + [False] * 7
    assert all("description" in tool for tool in answer["tools"])
    assert tokens(orjson.dumps(answer).decode()) < 1_500


async def test_pages_of_what_is_found_hold_everything_once(everything: SieveView) -> None:
    ask, names, cursor = Asked(everything), list[str](), None
    while True:
        answer = await ask(query="list", detail="names", cursor=cursor)
        names += [f"{tool['module']}.{tool['name']}" for tool in answer["tools"]]
        assert all(tool.keys() == {"module", "name"} for tool in answer["tools"])
        cursor = answer.get("next_cursor")
        if cursor is None:
            break
    assert len(names) == len(set(names)) > 20
    assert await ask.found("list", module="jira") == [name for name in names if name.startswith("jira.")][:10]


async def test_a_search_says_which_account_is_to_be_connected(everything: SieveView) -> None:
    answer = await Asked(everything, NEEDS_CONNECT)(query="jira sprint", module="jira")
    assert answer["modules"] == [{"module": "jira", **NEEDS_CONNECT}]
    assert "modules" not in await Asked(everything)(query="jira sprint", module="jira")


async def test_what_matches_nothing_says_so(everything: SieveView) -> None:
    for query in ("qqqxyzzy", "   ", "!?", "\x00\ufffe\u202e", "🙂"):
        answer = await Asked(everything)(query=query)
        assert answer["tools"] == []
        assert answer["note"].startswith("no tool matches")
    assert (await Asked(view_of(crowd(2, 1))).found("anything")) == []


async def test_a_hidden_module_is_searched_as_a_made_up_one(installed: Catalogue) -> None:
    answers = []
    for module in ("jira", "made_up"):
        ask = Asked(view_of(installed, "github.*"))
        answers.append((await ask.error(query="issue", module=module), len(ask.missing)))
        answers.append((await ask(query="issue", module=["github", module]), len(ask.missing)))
    assert answers[:2] == answers[2:]
    assert answers[0] == (NO_SUCH_TOOL, 1)


async def test_hidden_tools_change_no_order(installed: Catalogue) -> None:
    """Neither rank nor page nor cursor: all is as in a world without them."""
    unsampled = build_catalogue(replace(module, samples={}) for module in installed.modules)
    for permission in ("github:read", "jira.*", "notion.search_pages"):
        some = view_of(installed, permission)
        kept = [(one.module, one.name) for one in some.list_capabilities()]
        alone = view_of(without_capabilities(unsampled, kept), "*")
        for query in ("issue", "search pages", "list comments of a page", "課題 検索"):
            assert await Asked(some)(query=query) == await Asked(alone)(query=query)


@pytest.mark.parametrize(
    "params",
    [
        {"query": ""},
        {"query": 1},
        {"query": ["a"]},
        {"query": "x" * (MAX_QUERY_LENGTH + 1)},
        {"query": "課" * 1_300_000},
        {"query": "a", "tools": ["b"]},
        {"query": "a", "cursor": "-1"},
        {"query": "a", "cursor": "１"},
        {"query": "a", "cursor": True},
        {"query": "a", "cursor": "9" * 4_000},
        {"detail": "all"},
        {"detail": ["full"]},
    ],
    ids=lambda params: str(params)[:40],
)
async def test_odd_arguments_are_refused_in_one_sentence(everything: SieveView, params: dict[str, Any]) -> None:
    text = await Asked(everything).error(**params)
    assert len(text) < 120
    assert "\n" not in text


async def test_any_characters_are_a_query(everything: SieveView) -> None:
    for query in ("ﷺ" * MAX_QUERY_LENGTH, "a_" * 250, "ー" * 500, "\ud7ff\ue000" * 250, "ｶﾞ" * 250, "-" * 500):
        assert isinstance((await Asked(everything)(query=query))["tools"], list)


async def test_a_module_that_is_too_large_for_one_answer_is_told_in_brief() -> None:
    view = view_of(multiplied(crowd(1, 4), 250), "*")
    ask = Asked(view)
    answer = await ask(module="m00q")
    (module,) = answer["modules"]
    assert module["tools"][0].keys() == {"name", "description"}
    assert 0 < int(answer["next_cursor"]) < 1_000
    assert "query" in answer["note"]
    assert len(orjson.dumps(answer)) < 20_000
    names, cursor = list[str](), "0"
    while cursor:
        answer = await ask(module="m00q", detail="names", cursor=cursor)
        names += answer["modules"][0]["tools"]
        cursor = answer.get("next_cursor")
    assert names == [tool.name for tool in view.modules["m00q"].tools]


async def test_schemas_of_a_large_module_come_in_pages_that_hold_each_once() -> None:
    view = view_of(multiplied(crowd(3, 4), 100), "*")
    ask, names, pages, cursor = Asked(view), list[str](), 0, None
    while True:
        answer = await ask(module=list(view.modules), detail="full", cursor=cursor)
        assert len(orjson.dumps(answer)) < 80_000
        names += [tool["name"] for module in answer["modules"] for tool in module["tools"]]
        pages, cursor = pages + 1, answer.get("next_cursor")
        if cursor is None:
            break
    assert pages > 2
    assert names == [tool.name for module in view.modules.values() for tool in module.tools]


async def test_names_of_all_tools_in_one_answer(everything: SieveView) -> None:
    answer = await Asked(everything)(detail="names")
    assert {module["module"]: module["tools"] for module in answer["modules"]} == {
        name: [tool.name for tool in module.tools] for name, module in everything.modules.items()
    }


async def test_a_thousand_modules_are_summarised_in_pages() -> None:
    view = view_of(crowd(99, 1), "*")
    first = await Asked(view)()
    second = await Asked(view)(cursor=first["next_cursor"])
    names = [module["module"] for page in (first, second) for module in page["modules"]]
    assert names == list(view.modules)
    assert "next_cursor" not in second


@pytest.mark.parametrize("times", [9, pytest.param(45, marks=pytest.mark.long)])
async def test_very_many_tools_cost_little_memory_and_no_long_turn(installed: Catalogue, times: int) -> None:
    """The documents are the whole index: one for each tool in the process, none for a policy."""
    view = view_of(multiplied(installed, times), "*")
    tools = [tool for module in view.modules.values() for tool in module.tools]
    assert len(tools) > 222 * times
    tracemalloc.start()
    documents = ToolDocuments(load_translations)
    try:
        before = tracemalloc.get_traced_memory()[0]
        for tool in tools[::20]:
            documents.get(tool)
        each = (tracemalloc.get_traced_memory()[0] - before) / len(tools[::20])
    finally:
        tracemalloc.stop()
    assert each < 6_000
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    first = await search_tools(documents, tools, "list the issues of a repository and their comments")
    counting.cancel()
    assert turns > len(tools) / 250 * 1.5
    assert len(first) > 50 * times
    started = time.process_time()
    assert await search_tools(documents, tools, "list the issues of a repository and their comments") == first
    assert time.process_time() - started < 0.5
