"""A typical list and a typical object of each vendor, in front of its double: what answers are measured with."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from modules import confluence, github, google_calendar, jira, microsoft_todo, notion, supabase
from modules.kit import Module, Vendor
from tests.modules.supabase.conftest import SCHEMA
from tests.support.confluence_double import confluence_double
from tests.support.full_answers import FullVendor
from tests.support.github_double import github_double
from tests.support.google_calendar_double import OWNER, google_calendar_double
from tests.support.jira_double import jira_double
from tests.support.jira_double.world import ADA, BOB
from tests.support.microsoft_todo_double import microsoft_todo_double
from tests.support.notion_double import notion_double
from tests.support.plain_vendor import VendorCaller, vendor_callers
from tests.support.postgres import DatabaseServer
from tests.support.supabase_double import supabase_double
from tests.support.tool_walk import ToolWalk
from tests.support.vendor_contract import contract

Json = dict[str, Any]
Calls = dict[str, Json]
"""The parameters by tool."""
SENTENCE = "Every team writes down what it has decided, with the date and the people who were there. "
ROWS = 20


@dataclass(frozen=True)
class Scene:
    """`calls` read what the double holds, `caller` makes them; `vendor` has what was answered to it."""

    caller: VendorCaller
    vendor: FullVendor
    calls: Calls = field(default_factory=dict[str, Json])


Opener = Callable[[], contextlib.AbstractAsyncContextManager[Scene]]


@contextlib.asynccontextmanager
async def open_scene(
    module: Module,
    url: str,
    calls: Calls,
    secret: str = "full",
    *,
    least_rows: int = 0,
    hosts: Mapping[str, str] | None = None,
) -> AsyncIterator[Scene]:
    async with vendor_callers() as callers:
        plain: VendorCaller = callers(module, url, secret, hosts or {})
        vendor = FullVendor(plain.vendor, contract(module.name.replace("_", "-")), least_rows)
        yield Scene(VendorCaller(module, cast("Vendor", vendor)), vendor, calls)


@contextlib.asynccontextmanager
async def open_notion() -> AsyncIterator[Scene]:
    async with notion_double() as double:
        home = double.world.page("Home")["id"]
        columns = {
            "Task": {"title": {}}, "Done": {"checkbox": {}}, "Due": {"date": {}}, "Points": {"number": {}},
            "State": {"select": {"options": [{"name": "Open"}, {"name": "Closed"}]}}, "Notes": {"rich_text": {}},
        }  # fmt: skip
        database = double.world.database("Tasks", {"type": "page_id", "page_id": home}, columns)
        tasks = database["data_sources"][0]["id"]
        calls = {
            "query_data_source": {"data_source_id": tasks}, "search_pages": {"query": ""},
            "get_page": {"page_id": home},
            "get_data_source": {"data_source_id": tasks}, "list_block_children": {"block_id": home},
        }  # fmt: skip
        async with open_scene(notion.MODULE, double.url, calls) as scene:
            values = {"Notes": "Some **notes** on it", "State": "Open", "Points": 3, "Due": "2026-05-01"}
            for number in range(ROWS):
                await scene.caller.call(
                    "create_page", parent_id=tasks, parent_kind="data_source", title=f"Task {number}", properties=values
                )
            await scene.caller.call("append_block_children", block_id=home, markdown=f"## A\n\n{SENTENCE}\n\n- x\n" * 6)
            yield scene


@contextlib.asynccontextmanager
async def open_jira() -> AsyncIterator[Scene]:
    async with jira_double() as double:
        paragraph = {"type": "paragraph", "content": [{"type": "text", "text": SENTENCE}]}
        text = {"version": 1, "type": "doc", "content": [paragraph, paragraph]}
        for number in range(ROWS):
            key = double.world.add(
                f"Something to do {number}", assignee=BOB, creator=ADA, description=text, labels=["export"],
                duedate="2026-05-01",
            )  # fmt: skip
        calls = {"search_issues": {"jql": "project = ABC", "per_page": ROWS}, "get_issue": {"issue": key},
                 "list_comments": {"issue": key}, "list_worklogs": {"issue": key}}  # fmt: skip
        async with open_scene(jira.MODULE, double.url, calls) as scene:
            for _ in range(ROWS):
                await scene.caller.call("add_comment", issue=key, text=SENTENCE)
                await scene.caller.call("add_worklog", issue=key, time="1h", text="Reading")
            yield scene


@contextlib.asynccontextmanager
async def open_confluence() -> AsyncIterator[Scene]:
    async with confluence_double() as double:
        paragraph = f'<p local-id="0f9e8d7c-0000-4000-8000-000000000000">{SENTENCE}</p>'
        pages = [double.world.add(f"Meeting notes {number}", paragraph * 3) for number in range(ROWS)]
        for _ in range(ROWS):
            double.world.add_comment(pages[0], paragraph)
        calls = {
            "list_pages": {"space": "98306"}, "search": {"cql": "type = page"}, "get_page": {"page": pages[0]},
            "list_comments": {"page": pages[0]},
        }  # fmt: skip
        async with open_scene(confluence.MODULE, double.url, calls) as scene:
            yield scene


@contextlib.asynccontextmanager
async def open_supabase() -> AsyncIterator[Scene]:
    nowhere = cast("Any", None)  # nothing here asks the database
    async with supabase_double(nowhere) as double:
        double.world.organization("typical")
        refs = [double.world.project(f"Project {number}", "typical")["ref"] for number in range(10)]
        for number in range(10):
            double.world.lint("rls_enabled_no_policy", f"Table public.table_{number} has no policy")
            double.world.branch(refs[0], f"branch-{number}")
            double.world.function(f"fn-{number}", {"index.ts": b""}, "index.ts")
        calls = {
            "list_projects": {"organization": "typical"}, "get_project": {"ref": refs[0]},
            "get_advisors": {"ref": refs[0], "type": "security"}, "list_branches": {"ref": refs[0]},
            "list_edge_functions": {"ref": refs[0]},
        }  # fmt: skip
        async with open_scene(supabase.MODULE, double.url, calls) as scene:
            yield scene


@contextlib.asynccontextmanager
async def open_calendar() -> AsyncIterator[Scene]:
    async with google_calendar_double() as double:
        guests = [
            {"email": OWNER, "self": True, "responseStatus": "needsAction"},
            {"email": "bo@acme.test", "displayName": "Bo Lind", "responseStatus": "accepted"},
            {"email": "room@resource.test", "responseStatus": "accepted", "resource": True},
        ]  # fmt: skip
        for number in range(ROWS):
            event = double.add_event(
                summary=f"Meeting {number}", attendees=guests, location=f"Room {number}",
                description=f"<p>{SENTENCE}</p>",
                start={"dateTime": "2030-03-04T09:00:00+01:00", "timeZone": "Europe/Berlin"},
                end={"dateTime": "2030-03-04T10:00:00+01:00", "timeZone": "Europe/Berlin"},
            )  # fmt: skip
        calls = {
            "list_events": {"time_min": "2030-01-01", "time_max": "2031-01-01", "time_zone": "Europe/Berlin"},
            "get_event": {"event_id": event["id"]}, "list_calendars": {},
        }  # fmt: skip
        async with open_scene(google_calendar.MODULE, double.url, calls) as scene:
            yield scene


@contextlib.asynccontextmanager
async def open_todo() -> AsyncIterator[Scene]:
    async with microsoft_todo_double() as double:
        due = {"dateTime": "2030-01-01T00:00:00.0000000", "timeZone": "UTC"}
        for number in range(ROWS):
            task = double.add_task(
                double.home, f"Task {number}", dueDateTime=due, body={"content": SENTENCE, "contentType": "text"},
                bodyLastModifiedDateTime="2026-01-01T00:00:00Z",
            )  # fmt: skip
            double.add_list(f"List {number}")
        calls = {
            "list_tasks": {"list_id": double.home}, "get_task": {"list_id": double.home, "task_id": task["id"]},
            "list_task_lists": {},
        }  # fmt: skip
        async with open_scene(microsoft_todo.MODULE, double.url, calls) as scene:
            yield scene


@contextlib.asynccontextmanager
async def open_github() -> AsyncIterator[Scene]:
    async with github_double() as double:
        world = double.world
        world.token("full", "mona")
        app = world.repository("mona", "app", description="The app")
        world.commit(app, {"README.md": b"# App\n", "src/main.py": b"print('one')\n"}, "First")
        for number in range(ROWS):
            world.issue(app, f"Something to do {number}", "mona", body=SENTENCE * 2)
            world.commit(app, {f"src/{number}.py": b"print('two')\n"}, f"Change {number}")
        here = {"owner": "mona", "repo": "app"}
        calls = {
            "list_issues": here, "get_issue": {**here, "issue_number": 1}, "list_commits": here,
            "get_commit": {**here, "ref": "main"}, "list_repositories": {}, "search_repositories": {"q": "app"},
        }  # fmt: skip
        async with open_scene(github.MODULE, double.url, calls, hosts=double.hosts) as scene:
            yield scene


SCENES: dict[str, Opener] = {
    "notion": open_notion, "jira": open_jira, "confluence": open_confluence, "supabase": open_supabase,
    "google_calendar": open_calendar, "microsoft_todo": open_todo, "github": open_github,
}  # fmt: skip


@contextlib.asynccontextmanager
async def open_walked_scene(name: str, server: DatabaseServer) -> AsyncIterator[Scene]:
    """What the walk over all tools of a module puts into its double, and the reading tools' calls; a list has its rows
    again and again."""
    walk: ToolWalk = import_module(f"tests.modules.{name}.test_every_tool").TestEveryTool()
    async with contextlib.AsyncExitStack() as stack:
        if name == "supabase":
            database = await stack.enter_async_context(server.database(migrated=False))
            double: Any = await stack.enter_async_context(supabase_double(database.admin))
            double.sql.run(SCHEMA, read_only=False)
        else:
            double = await stack.enter_async_context(_DOUBLES[name]())
        calls = walk.furnish(double)
        reading = {one.name: calls[one.name] for one in walk.module.tools if one.hints.read_only}
        made = {tool: params for tool, params in reading.items() if tool not in walk.local}
        secret = "mona-token" if name == "github" else "full"
        hosts: dict[str, str] = getattr(double, "hosts", {})
        yield await stack.enter_async_context(
            open_scene(walk.module, double.url, made, secret, least_rows=ROWS, hosts=hosts)
        )


_DOUBLES: dict[str, Callable[[], contextlib.AbstractAsyncContextManager[Any]]] = {
    "notion": notion_double, "jira": jira_double, "confluence": confluence_double, "github": github_double,
    "google_calendar": google_calendar_double, "microsoft_todo": microsoft_todo_double,
}  # fmt: skip
