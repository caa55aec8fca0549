"""`mcpist job`: work of the tenant's and one's own, named by the person's address."""

import asyncio

import asyncpg
import httpx2

from tests.cli.test_at_a_server import ADMIN, HERE, Both, both
from tests.support.eventually import within

__all__ = ["both"]


def _start_job(both: Both) -> str:
    """Have a tool called as a task; its id."""
    token = both.locally("token", "create", "--user", ADMIN).json()["token"]
    call = {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}
    answer = httpx2.post(
        f"{both.url}/mcp",
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-11-25",
        },
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "call", "arguments": call, "task": {}},
        },
    )
    return answer.json()["result"]["task"]["taskId"]


def test_jobs_are_listed_with_their_person(both: Both) -> None:
    job_id = _start_job(both)
    for run in (both.locally, both.at_the_server):
        (listed,) = [one for one in run("job", "list").json() if one["id"] == job_id]
        assert (listed["user_email"], listed["module"], listed["tool"]) == (ADMIN, "knowledge_graph", "read_graph")
    table = both.here.run("job", "list", *HERE).out
    assert ADMIN in next(line for line in table.splitlines() if job_id in line)
    assert ADMIN in both.there.run("job", "show", job_id, MCPIST_SERVER=both.url).out
    assert job_id in str(both.at_the_server("job", "list", "--own").json())
    ended = both.at_the_server("job", "notify", job_id)
    assert (ended.code, "ended already" in ended.err or ended.code == 0) in ((5, True), (0, True)), ended.err
    assert both.at_the_server("job", "notify", job_id, "--when", "sometimes").code == 2


def test_a_mail_at_the_end_of_a_job_is_asked_for(both: Both) -> None:
    job_id = _start_job(both)
    asyncio.run(_delay(both, job_id))
    for when, told in (("always", "You get a mail when the job ends."), ("never", "You get no mail")):
        assert both.at_the_server("job", "notify", job_id, "--when", when).json()["notify"] == when
        assert told in both.there.run("job", "notify", job_id, "--when", when, MCPIST_SERVER=both.url).out
        assert both.at_the_server("job", "show", job_id).json()["notify"] == when
    assert both.at_the_server("job", "cancel", job_id).code == 0


async def _delay(both: Both, job_id: str) -> None:
    """Have a job that has ended wait, as between two attempts."""
    home = both.here.path / "postgres"
    password = (home / "superuser.password").read_text().strip()
    connection = await asyncpg.connect(host=str(home / "run"), user="postgres", password=password, database="postgres")
    change = """UPDATE jobs.jobs SET state = 'queued', run_at = jobs.clock() + interval '4 minutes', finished_at = NULL
        WHERE id = $1 AND state NOT IN ('queued', 'running')"""

    async def is_delayed() -> bool:
        return await connection.execute(change, job_id) == "UPDATE 1"

    try:
        await within(20, is_delayed)
    finally:
        await connection.close()
