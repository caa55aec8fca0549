"""`mcpist request` and `mcpist role see-as`, on a product that runs meanwhile."""

import asyncio
import json
import urllib.request
from typing import Any

import httpx2

from tests.cli.conftest import Home, Product
from tests.clients.browser_person import BrowserPerson


def signed_in(link: str) -> dict[str, str]:
    """The headers of a browser that has used a sign-in link."""
    issuer = link.split("/sign-in", 1)[0]

    async def use() -> str:
        async with httpx2.AsyncClient() as browser:
            await BrowserPerson(issuer, link, browser).sign_in()
            return "; ".join(f"{one.name}={one.value}" for one in browser.cookies.jar)

    return {"Cookie": asyncio.run(use()), "Origin": issuer, "Content-Type": "application/json"}


def asked(product: Product, headers: dict[str, str], body: Any) -> Any:
    """A person's request, in their browser."""
    url = product.ready["mcp_url"].removesuffix("/mcp") + "/api/v1/access-requests"
    with urllib.request.urlopen(
        urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=10
    ) as response:
        return json.loads(response.read())


def test_requests_are_decided(cli: Home, product: Product, tenant: str) -> None:
    here = ("--tenant", tenant)
    cli.run("user", "create", "bob@example.com", *here)
    cli.run("role", "create", "reader", *here)
    bob = signed_in(cli.run("user", "link", "bob@example.com", *here, "--json").json()["sign_in_link"])
    made = [asked(product, bob, {"module": "knowledge_graph", "tool": tool}) for tool in ("read_graph", "")]
    assert len(cli.run("request", "list", *here, "--json").json()) == 2
    assert "knowledge_graph.read_graph" in cli.run("request", "list", *here).out
    approve = ("request", "approve", made[0]["id"], "--role", "reader", *here)
    assert cli.run(*approve).code == 5
    assert cli.run(*approve, "--allow").out == "bob@example.com has the role reader.\n"
    assert (
        cli.run("request", "decline", made[1]["id"], "--reason", "ask Ann", *here, "--json").json()["reason"]
        == "ask Ann"
    )
    assert cli.run("request", "decline", made[1]["id"], *here).code == 5
    assert cli.run("request", "decline", "0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10", *here).code == 4
    assert cli.run("request", "list", *here).out == "Nobody asks for anything.\n"
    assert len(cli.run("request", "list", "--all", *here, "--json").json()) == 2
    assert cli.run("request", "list", "--tenant", "default", "--all", "--json").json() == []
    seen = cli.run("role", "see-as", "reader", *here, "--json").json()
    assert [one["tools"] for one in seen["modules"]] == [["read_graph"]]
    assert "tokens at the start" in cli.run("role", "see-as", "reader", *here).out
    assert cli.run("tenant", "access-requests", "off", *here).out == f"Requesting of access is off for {tenant}.\n"
    assert cli.run("tenant", "show-hidden-tools", "off", *here).code == 0
    assert cli.run("figures", *here).out == "Nobody has called anything.\n"
    assert len(cli.run("figures", "--days", "7", *here, "--json").json()["points"]) == 8
    assert cli.run("profile", "show").code == 3, "the operator is no user"
