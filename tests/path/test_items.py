"""Items over MCP: each company's own, shared by a role, and hidden from whoever may not use them."""

from typing import Any

from core.directory.roles import create_role
from core.directory.users import assign_role, change_user
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People
from tests.support.product import ACTOR, Node, Product

BOARD = "role:Team/board"


async def ask(node: Node, token: str, tool: str, **params: Any) -> Any:
    return await node.call(token, "items", tool, params)


async def fail(node: Node, token: str, tool: str, **params: Any) -> tuple[int, dict[str, Any]]:
    """The code and the details of the document's error object."""
    answer = await ask(node, token, tool, **params)
    assert answer.failed
    error = answer.result["structuredContent"]
    return error["code"], error["data"]["details"]


async def test_items_are_each_companys_own(product: Product, node: Node, people: People) -> None:
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["items.*"])
    made = (await ask(node, people.admin.token, "create_item", type="task", title="ours", tags=["x"])).value
    assert made["key"] == "task-1"
    for other in (people.other_admin, colleague):
        assert await fail(node, other.token, "get_item_detail", type="task", id=1) == (
            1001,
            {"type": "task", "id": 1, "requested_id": "task-1"},
        )
        assert (await ask(node, other.token, "get_items", type="task")).value["items"] == []
        assert (await ask(node, other.token, "get_tags")).value["tags"] == []
        theirs = (await ask(node, other.token, "create_item", type="task", title="theirs")).value
        assert theirs["key"] == "task-1"
        code, details = await fail(node, other.token, "get_items", type="task", workspace=made["workspace"] + "s")
        assert (code, details["field"]) == (1002, "workspace")
    assert (await ask(node, people.admin.token, "get_item_detail", type="task", id=1)).value["title"] == "ours"


async def test_whoever_may_not_use_them_learns_nothing(product: Product, node: Node, people: People) -> None:
    for params in ({"type": "task", "title": "x"}, {}):
        answer = await ask(node, people.nobody.token, "create_item", **params)
        assert (answer.failed, answer.text) == (True, NO_SUCH_TOOL)
    reading = await product.person(people.acme, "reading@mail.test", allow=["items:read"])
    assert (await ask(node, reading.token, "get_items", type="task")).value["items"] == []
    assert (await ask(node, reading.token, "create_item", title="x")).text == NO_SUCH_TOOL


async def test_a_role_shares_a_board(product: Product, node: Node, people: People) -> None:
    member = await product.person(people.acme, "member@mail.test", allow=["items.*"])
    stranger = await product.person(people.acme, "stranger@mail.test", allow=["items.*"])
    boss = await product.person(people.acme, "boss@mail.test", allow=["items.*"])
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    role = await create_role(product.console, ACTOR, people.acme.id, "Team", 0)
    for person in (boss, member):
        await assign_role(product.console, ACTOR, people.acme.id, person.id, role.id)
    refused = await fail(node, member.token, "create_workspace", name="board", owner="role", role="Team")
    assert refused == (1005, {"workspace": BOARD, "message": "only administrators create it"})
    assert not (await ask(node, boss.token, "create_workspace", name="board", owner="role", role="Team")).failed
    made = (await ask(node, boss.token, "create_item", type="task", title="ours", workspace=BOARD)).value
    changed = (await ask(node, member.token, "update_item", type="task", id=1, title="new", workspace=BOARD)).value
    assert changed["replaced"]["revision"] == made["revision"]
    for tool in ("get_item_detail", "delete_item"):
        code, details = await fail(node, stranger.token, tool, type="task", id=1, workspace=BOARD)
        assert (code, details["constraint"]) == (1002, "is no workspace that you may read")
