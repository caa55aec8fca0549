"""An account that was connected for reading: a tool that changes something asks for more, instead of failing there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.doctor.doctor_app import SCOPE, Case, DoctorApp, doctor_app_on, json_of
from tests.support.mcp_client import MODERN
from tests.support.postgres import ScratchDatabase

MORE = "two"


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[DoctorApp]:
    async with doctor_app_on(database, tmp_path, "google") as made:
        yield made


@pytest.fixture
async def case(app: DoctorApp) -> Case:
    made = await app.case("google")
    families = json_of({made.module: {"reading": [SCOPE], "writing": [MORE]}})
    await app.execute("UPDATE vault.providers SET document = document || $1::jsonb", f'{{"modules": {families}}}')
    made.vendor.resources["/buy"] = {"said": "bought"}
    await made.connect()
    return made


def bought(case: Case) -> int:
    return sum(one.path == "/buy" for one in case.vendor.asked)


async def test_a_tool_that_changes_something_asks_for_more_before_the_vendor_is_asked(case: Case) -> None:
    assert not (await case.call("look")).failed
    heard = await case.call("buy")
    assert heard.failed
    assert "for reading only, and tools that change something need more. Allow changes too at http" in heard.text
    link = f"{case.app.identity.url}/connect/{case.module}"
    assert link in heard.text
    assert bought(case) == 0

    await case.connect(writing="on")
    assert "bought" in (await case.call("buy")).text
    assert bought(case) == 1
    case.vendor.forbidden.add("/buy")
    assert f"lack the right. Accounts of Shop google, and what they may do: {link}" in (await case.call("buy")).text
    assert not (await case.call("look")).failed


async def test_a_client_that_opens_urls_is_asked_and_the_call_waits_for_the_person(case: Case) -> None:
    params = {"module": case.module, "tool_name": "buy", "params": {"what": "tea"}}
    meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}
    asked = {"name": "call", "arguments": params, "_meta": meta}

    async def sent(**more: object) -> dict[str, Any]:
        answer = await case.app.node.post(case.person.token, "tools/call", asked | more, revision=MODERN)
        return answer.result

    first = await sent()
    assert first["inputRequests"][case.module]["params"]["message"] == "Allow changes at Shop google too"
    agreed = {"requestState": first["requestState"], "inputResponses": {case.module: {"action": "accept"}}}
    waiting = asyncio.create_task(sent(**agreed))
    await case.connect(writing="on")
    assert (await waiting).get("isError") is False
    assert bought(case) == 1


async def test_what_keeps_every_call_away_is_told_before_what_was_granted(app: DoctorApp, case: Case) -> None:
    await app.execute("UPDATE vault.accounts SET scopes = '{openid}' WHERE tenant_id = $1", case.tenant.id)
    change = "UPDATE vault.oauth_clients SET state = 'misconfigured', cause = 'client_refused' WHERE tenant_id = $1"
    await app.execute(change, case.tenant.id)
    assert (await case.schema())["cause"] == "misconfigured"


async def test_it_stands_in_the_schema_and_only_for_whom_it_matters(app: DoctorApp, case: Case) -> None:
    shown = await case.schema()
    assert (shown["connection"], shown["cause"]) == ("connected", "reading_only")
    assert shown["connect"].endswith(f"/connect/{case.module}")
    reader = await app.case("google", tenant=case.tenant, allow=f"{case.module}:read")
    await reader.connect()
    assert "cause" not in await reader.schema()

    await case.connect(writing="on")
    assert "cause" not in await case.schema()


async def test_who_was_granted_nothing_to_read_is_told_so(app: DoctorApp, case: Case) -> None:
    await app.execute("UPDATE vault.accounts SET scopes = '{openid}' WHERE tenant_id = $1", case.tenant.id)
    heard = await case.call("look")
    assert "granted less for your account than is needed. Connect it again at" in heard.text
