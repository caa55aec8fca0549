"""What costs money is agreed to on a form of the client's: the official Python client (mcp), through `/mcp`."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitResult

from modules.supabase.prices import BRANCH_PRICE
from tests.support.mcp_client import URL
from tests.support.module_app import ModuleApp
from tests.support.supabase_double import SupabaseDouble
from tests.support.supabase_double.world import REF

pytestmark = pytest.mark.asyncio(loop_scope="package")


@dataclass
class Reader:
    """A person who reads each form, and answers it in the same way."""

    answer: ElicitResult
    read: list[ElicitRequestFormParams] = field(default_factory=list[ElicitRequestFormParams])

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.read.append(params)
        return self.answer


@contextlib.asynccontextmanager
async def connected(app: ModuleApp, mode: str, reader: Reader) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {app.ada.token}"}
    gateway: Any = app.node.gateway.app
    async with (
        httpx2.AsyncClient(transport=httpx2.ASGITransport(gateway), headers=headers, timeout=60) as http,
        Client(
            streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode, elicitation_callback=reader
        ) as client,
    ):
        yield client


async def create(client: Client, tool: str, **params: Any) -> CallToolResult:
    return await client.call_tool("call", {"module": "supabase", "tool_name": tool, "params": params})


TICKED = ElicitResult(action="accept", content={"confirm": True})
UNTICKED = ElicitResult(action="accept", content={"confirm": False})
DECLINED = ElicitResult(action="decline")


async def test_a_ticked_form_creates_it_once(app: ModuleApp, vendor: SupabaseDouble) -> None:
    vendor.world.organization("formal", "pro")
    vendor.world.project("first", "formal")
    before, reader = len(vendor.seen), Reader(TICKED)
    async with connected(app, "2026-07-28", reader) as client:
        made = await create(client, "create_project", name="新\u202e", organization="formal", region="emea")
    assert made.structured_content is not None
    assert made.structured_content["created"] is True
    [form] = reader.read
    assert "the project '新' in the organization 'formal' at Supabase for 10 USD per month" in form.message
    assert form.requested_schema["properties"]["confirm"]["title"] == "Create it for 10 USD per month"
    assert vendor.seen[before:].count("POST /v1/projects") == 1


@pytest.mark.parametrize("answer", [UNTICKED, DECLINED])
async def test_without_a_tick_nothing_is_created(app: ModuleApp, vendor: SupabaseDouble, answer: ElicitResult) -> None:
    before, reader = len(vendor.seen), Reader(answer)
    async with connected(app, "2026-07-28", reader) as client:
        refused = await create(client, "create_branch", ref=REF, name="unwanted")
    assert refused.is_error
    assert "nothing was created: the user does not agree to 0.01344 USD per hour" in refused.content[0].text  # type: ignore[union-attr]
    assert len(reader.read) == 1
    assert not any(one.startswith("POST") for one in vendor.seen[before:])


async def test_who_gives_the_price_is_not_asked(app: ModuleApp, vendor: SupabaseDouble) -> None:
    reader = Reader(DECLINED)
    async with connected(app, "2026-07-28", reader) as client:
        wrong = await create(client, "create_branch", ref=REF, name="told", confirm_cost="0 USD")
        assert wrong.is_error
        assert len(reader.read) == 1
        made = await create(client, "create_branch", ref=REF, name="told", confirm_cost=BRANCH_PRICE.text)
    assert made.structured_content is not None
    assert made.structured_content["created"] is True
    assert len(reader.read) == 1


async def test_a_handshake_client_is_told_the_price_in_words(app: ModuleApp, vendor: SupabaseDouble) -> None:
    reader = Reader(TICKED)
    async with connected(app, "legacy", reader) as client:
        told = await create(client, "create_branch", ref=REF, name="x")
    assert told.structured_content is not None
    assert told.structured_content["price"] == BRANCH_PRICE.text
    assert "call again with confirm_cost" in told.structured_content["next_step"]
    assert reader.read == []


async def test_a_batch_names_the_price(app: ModuleApp, vendor: SupabaseDouble) -> None:
    step = {
        "id": "a",
        "module": "supabase",
        "tool_name": "create_branch",
        "params": {"ref": REF, "name": "x"},
        "output": True,
    }
    answer = await app.node.tool(app.ada.token, "batch", {"commands": [step]})
    assert answer.failed
    assert f"use call, or ask the user, then give confirm_cost '{BRANCH_PRICE.text}'" in answer.text
