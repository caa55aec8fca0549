"""`mcpist job`: work of the tenant's and one's own, named by the person's address."""

import httpx2

from tests.cli.test_at_a_server import ADMIN, HERE, Both, both

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
