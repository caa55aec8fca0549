"""`mcpist console`: the control plane as a process of its own, with its own database role and no secret of others."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest

from broker.api import console_messages as messages
from broker.api.console_client import open_console_broker
from broker.identity.browser_sessions import Sessions
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.scim_tokens import ScimTokens
from broker.interface import JobToRetry
from broker.rpc.gateway_keys import load_private_key, make_key_pair
from broker.rpc.rpc_client import open_http_broker
from broker.rpc.service_token import ServiceTokenSigner
from core.directory.users import create_user
from core.errors import Unavailable
from core.secret import Secret
from server.role_database import get_utc_now
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person
from tests.support.running_product import free_port
from tests.support.split import Process, Split, add_console, add_worker, running, split_on

pytestmark = pytest.mark.timeout(180)


@dataclass
class Console:
    """A control plane beside a broker, and a client of an administrator's."""

    deployment: Split
    process: Process
    admin: Person
    http: httpx2.AsyncClient

    async def get_readiness(self) -> tuple[int, dict[str, str]]:
        """The status of /readyz, and the state of each part."""
        answer = await self.http.get("/readyz")
        return answer.status_code, {one["name"]: one["state"] for one in answer.json()["components"]}


@contextlib.asynccontextmanager
async def console_on(
    database: ScratchDatabase, folder: Path, *, executed: bool = False, **variables: str
) -> AsyncIterator[Console]:
    """With `executed` the control plane is not forked, so that /proc tells of it alone."""
    async with split_on(database, folder, gateways=1) as deployment:
        process = add_console(deployment, folder, **variables)
        if executed:
            process.create = asyncio.create_subprocess_exec
        await deployment.broker.end()
        await deployment.broker.start()
        admin = await make_admin(deployment)
        headers = {"Authorization": f"Bearer {admin.token}", "Host": urlsplit(deployment.public_url).netloc}
        url = f"http://127.0.0.1:{process.port}"
        async with (
            running([process]),
            httpx2.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as http,
        ):
            yield Console(deployment, process, admin, http)


async def make_admin(deployment: Split) -> Person:
    """An administrator of `acme` who has a token of every scope."""
    tenant = await deployment.product.tenant("acme", services=["shop"])
    email = "boss@acme.test"
    user_id = await create_user(deployment.product.console, ACTOR, tenant.id, email, system_role="admin")
    admin = Person(tenant, user_id, email)
    return await deployment.product.with_token(admin, scopes=frozenset({"mcp:write", "admin:write"}))


async def test_the_admin_api_of_both_through_one_address(database: ScratchDatabase, tmp_path: Path) -> None:
    async with console_on(database, tmp_path) as console:
        http, admin = console.http, console.admin
        assert console.process.ready == {"ready": True, "console_url": f"{console.deployment.public_url}/console"}
        me = (await http.get("/api/v1/me")).json()
        assert me["email"] == admin.email
        made = await http.post("/api/v1/users", json={"email": "bob@acme.test"})
        assert made.status_code == 201, made.text
        # The broker's part is passed on, bodies and refusals too.
        token = await http.post("/api/v1/tokens", json={"name": "for a script"})
        assert token.status_code in (201, 403), token.text
        assert {one["name"] for one in (await http.get("/api/v1/tokens")).json()["items"]} >= {"test"}
        unknown = await http.get("/api/v1/nothing")
        assert unknown.status_code == 404
        # Not resolved on the way to the broker, which has other paths beside its API.
        climbing = await asyncio.to_thread(_get_raw, console, "/api/v1/../../healthz")
        assert climbing.startswith("HTTP/1.1 404")
        stranger = {"Authorization": "Bearer " + admin.token[:-6] + "AAAAAA"}
        for path in ("/api/v1/users", "/api/v1/tokens"):
            assert (await http.get(path, headers=stranger)).status_code == 401, path
        assert (await http.get("/scim/v2/Users", headers=stranger)).status_code == 401
        assert (await http.get("/api/v1/users", headers={"Host": "elsewhere.test"})).status_code == 421
        page = await http.get("/console")
        assert page.status_code == 200 or "has not been built" in page.text
        assert (await http.get("/mcp")).status_code == 404


async def test_whoever_signs_in_at_the_broker_begins_at_the_console(database: ScratchDatabase, tmp_path: Path) -> None:
    """Where the broker serves a control plane; without one it has its own account page alone."""
    async with console_on(database, tmp_path) as console:
        headers = {"Host": urlsplit(console.deployment.public_url).netloc, "Accept": "text/html"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            broker = f"http://127.0.0.1:{console.deployment.broker.port}"
            assert (await http.get(f"{broker}/")).headers["location"] == "/console"
            code = await make_link(console)
            fields, origin = {"code": code}, {"Origin": console.deployment.public_url}
            used = await http.post(f"{broker}/sign-in/link", data=fields, headers=origin)
            assert (used.status_code, used.headers["location"]) == (303, "/console")
            await console.deployment.broker.end()
            del console.deployment.broker.variables["MCPIST_BROKER_CONSOLES"]
            await console.deployment.broker.start()
            assert (await http.get(f"{broker}/")).headers["location"] == "/account"


async def test_a_broker_that_made_its_keys_itself_knows_a_console_when_it_asks(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    """Such a broker would serve a control plane, and most of them never see one."""
    async with console_on(database, tmp_path) as console:
        broker, process = console.deployment.broker, console.process
        await process.end()
        await broker.end()
        for name in ("MCPIST_BROKER_CONSOLES", "MCPIST_BROKER_GATEWAYS"):
            del broker.variables[name]
        await broker.start()
        headers = {"Host": urlsplit(console.deployment.public_url).netloc, "Accept": "text/html"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            url = f"http://127.0.0.1:{broker.port}/"
            assert (await http.get(url)).headers["location"] == "/account"
            process.variables["MCPIST_CONSOLE_KEY"] = str(broker.home / "keys" / "console.pem")
            await process.start()
            assert (await console.get_readiness())[1]["broker"] == "up"
            assert (await http.get(url)).headers["location"] == "/console"


async def make_link(console: Console) -> str:
    """The code of a one-time link for the administrator."""
    broker = console.deployment.operator
    links = OneTimeLinks(broker, Sessions(broker, clock=get_utc_now), clock=get_utc_now)
    return (await links.create(ACTOR, console.admin.tenant.id, console.admin.id)).reveal()


@pytest.mark.guarantee("G10")
async def test_a_job_is_tried_again_through_four_processes(database: ScratchDatabase, tmp_path: Path) -> None:
    """Called at the gateway, tried again at the control plane, permitted by the broker, run by the worker."""
    async with console_on(database, tmp_path) as console:
        deployment, worker = console.deployment, add_worker(console.deployment, tmp_path)
        bob = await deployment.product.person(console.admin.tenant, "bob@acme.test", allow=["*"])
        own = {"Authorization": f"Bearer {bob.token}"}
        await deployment.add(bob, "the-vendor-token-of-bob")
        deployment.shop.refusal = 404, {}
        async with running([worker]):
            job_id = await _start_task(deployment, bob)
            assert await _wait_for_end(console, job_id, own) == ("failed", 1)
            deployment.shop.refusal = None
            retry = f"/api/v1/jobs/{job_id}/retry"
            assert (await console.http.post(retry)).status_code == 404, "an administrator is not the person"
            broken = {"Authorization": "Bearer " + bob.token[:-6] + "AAAAAA"}
            assert (await console.http.post(retry, headers=broken)).status_code == 401
            answer = await console.http.post(retry, headers=own)
            assert answer.status_code == 200, answer.text
            assert await _wait_for_end(console, job_id, own) == ("succeeded", 2)
            await _check_that_a_gateway_may_not_permit(console, bob)


async def _check_that_a_gateway_may_not_permit(console: Console, bob: Person) -> None:
    url = console.process.variables["MCPIST_BROKER_URL"]
    gateway = ServiceTokenSigner(load_private_key(console.deployment.gateways[0].home / "own.pem"))
    sender = messages.AuthenticationRequest([f"Bearer {bob.token}"], [], "", passive=False)
    job = JobToRetry(uuid4(), "", (("shop", "buy"),), timedelta(hours=1))
    async with open_console_broker(url, gateway) as asked:
        with pytest.raises(Unavailable):
            await asked.permit_retry(messages.RetryRequest(sender, job))


async def _start_task(deployment: Split, person: Person) -> str:
    """Start a call as a task of 2025-11-25; its id."""
    arguments = {"module": "shop", "tool_name": "look", "params": {"what": "tea"}}
    params = {"name": "call", "arguments": arguments, "task": {}}
    headers = {
        "Authorization": f"Bearer {person.token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Host": urlsplit(deployment.public_url).netloc,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with deployment.http.post(deployment.url, json=message, headers=headers) as response:
        return (await response.json())["result"]["task"]["taskId"]


async def _wait_for_end(console: Console, job_id: str, headers: dict[str, str]) -> tuple[str, int]:
    """The state of a job when it has ended, and how often it has run."""
    job: dict[str, Any] = {}

    async def has_ended() -> bool:
        job.update((await console.http.get(f"/api/v1/jobs/{job_id}", headers=headers)).json())
        return job["finished_at"] is not None

    await within(15, has_ended)
    return job["state"], job["attempt"]


async def test_scim_and_removal_ask_the_broker(database: ScratchDatabase, tmp_path: Path) -> None:
    async with console_on(database, tmp_path) as console:
        http, deployment = console.http, console.deployment
        tokens = ScimTokens(deployment.operator, clock=get_utc_now)
        _, secret = await tokens.create(ACTOR, console.admin.tenant.id, "okta")
        listed = await http.get("/scim/v2/Users", headers={"Authorization": f"Bearer {secret.reveal()}"})
        assert listed.status_code == 200, listed.text
        assert console.admin.email in listed.text
        bob = await create_user(deployment.product.console, ACTOR, console.admin.tenant.id, "bob@acme.test")
        shown = await http.get(f"/api/v1/users/{bob}/model-view")
        assert shown.status_code == 200, shown.text
        removed = await http.delete(f"/api/v1/users/{bob}")
        assert removed.status_code in (200, 204), removed.text
        assert (await http.get(f"/api/v1/users/{bob}")).status_code == 404
        assert "broker_unavailable" not in console.process.log()


async def test_it_has_its_own_role_and_key_only(database: ScratchDatabase, tmp_path: Path) -> None:
    async with console_on(database, tmp_path, executed=True) as console:
        await console.http.get("/api/v1/users")
        assert {one.name for one in console.process.home.rglob("*") if one.is_file()} == {"own.pem", "log"}
        assert console.process.running is not None
        environment = Path(f"/proc/{console.process.running.pid}/environ").read_bytes()
        assert b"mcpist_console" in environment
        for other in (b"mcpist_broker", b"mcpist_gateway", b"postgres:"):
            assert other not in environment
        opened = {os.readlink(link) for link in Path(f"/proc/{console.process.running.pid}/fd").iterdir()}
        assert not any(str(console.deployment.broker.home) in one for one in opened)


async def test_a_gateway_and_a_control_plane_may_not_ask_for_each_other(
    database: ScratchDatabase, tmp_path: Path
) -> None:
    async with console_on(database, tmp_path) as console:
        url = console.process.variables["MCPIST_BROKER_URL"]
        gateway = ServiceTokenSigner(load_private_key(console.deployment.gateways[0].home / "own.pem"))
        own = ServiceTokenSigner(load_private_key(console.process.home / "own.pem"))
        request = messages.AuthenticationRequest([f"Bearer {console.admin.token}"], [], "", passive=True)
        async with open_console_broker(url, gateway) as asked, open_http_broker(url, own) as other:
            with pytest.raises(Unavailable):
                await asked.authenticate(request)
            assert asked.problem is not None
            assert asked.problem.is_refusal
            with pytest.raises(Unavailable):
                await other.verify(Secret(console.admin.token))
        async with open_console_broker(url, own) as asked:
            assert (await asked.authenticate(request)).email == console.admin.email


async def test_readiness_means_that_people_can_be_let_in(database: ScratchDatabase, tmp_path: Path) -> None:
    async with console_on(database, tmp_path, MCPIST_DRAIN_DELAY="1.5") as console:
        names = ("database", "broker", "background tasks", "audit retention")
        assert await console.get_readiness() == (200, dict.fromkeys(names, "up"))
        await console.deployment.broker.kill()
        await within(5, lambda: _has_state(console, 503, "broker", lambda state: state.startswith("down: ")))
        for path in ("/api/v1/users", "/api/v1/tokens"):
            refused = await console.http.get(path)
            assert (refused.status_code, "broker is unavailable" in refused.text) == (503, True), path
            assert "Retry-After" in refused.headers
        await console.deployment.broker.start()
        await within(5, lambda: _has_state(console, 200, "broker", lambda state: state == "up"))

        assert console.process.running is not None
        console.process.running.terminate()
        await within(5, lambda: _has_state(console, 503, "process", lambda state: state == "draining"))
        assert (await console.http.get("/api/v1/users")).status_code == 200, "what comes meanwhile is served"
        async with asyncio.timeout(20):
            assert await console.process.running.wait() == 0


async def test_a_key_that_the_broker_does_not_know(database: ScratchDatabase, tmp_path: Path) -> None:
    make_key_pair(tmp_path / "other.pem", tmp_path / "other-public.pem")
    async with console_on(database, tmp_path, MCPIST_CONSOLE_KEY=str(tmp_path / "other.pem")) as console:
        status, parts = await console.get_readiness()
        assert status == 503
        assert parts["broker"].startswith("down: 401")


def _get_raw(console: Console, path: str) -> str:
    """The beginning of the answer to a request whose path no client has tidied up."""
    with socket.create_connection(("127.0.0.1", console.process.port), timeout=10) as connection:
        host, bearer = console.http.headers["Host"], console.http.headers["Authorization"]
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\n\r\n".encode())
        return connection.recv(64).decode()


async def _has_state(console: Console, status: int, name: str, expected: Callable[[str], bool]) -> bool:
    with contextlib.suppress(httpx2.TransportError):
        found, parts = await console.get_readiness()
        return found == status and expected(parts.get(name, ""))
    return False


async def test_its_metrics_are_served(database: ScratchDatabase, tmp_path: Path) -> None:
    port = free_port()
    async with console_on(database, tmp_path, MCPIST_METRICS_PORT=str(port)), httpx2.AsyncClient() as http:
        text = (await http.get(f"http://127.0.0.1:{port}/metrics")).text
        assert 'mcpist_database_connections{state="most"} 8.0' in text
        assert "mcpist_background_tasks_failing 0.0" in text


async def test_a_gateway_makes_the_schedules(database: ScratchDatabase, tmp_path: Path) -> None:
    async with console_on(database, tmp_path) as console:
        http = console.http
        person = await console.deployment.product.person(
            console.admin.tenant, "ada@acme.test", allow=["*"], scopes=frozenset({"mcp:write"})
        )
        http.headers["authorization"] = f"Bearer {person.token}"
        wanted = {"title": "毎時", "module": "shop", "tool": "look", "params": {"what": "釘"}}
        made = await http.post("/api/v1/schedules", json=wanted | {"every_seconds": 3600})
        assert made.status_code == 201, made.text
        assert made.json()["consent_url"] == f"{console.deployment.public_url}/account#mandates"
        refused = await http.post("/api/v1/schedules", json=wanted | {"every_seconds": 3600, "tool": "made_up"})
        assert refused.status_code == 400
        await console.deployment.gateways[0].end()
        away = await http.post("/api/v1/schedules", json=wanted | {"every_seconds": 3600})
        assert (away.status_code, away.json()["code"], "retry-after" in away.headers) == (503, "unavailable", True)
        assert [one["id"] for one in (await http.get("/api/v1/schedules")).json()["items"]] == [made.json()["id"]]
