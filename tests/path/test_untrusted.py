"""What a vendor has answered is marked as others' data, in every way to a tool; what is ours is not."""

import orjson

from modules.kit.untrusted import UNTRUSTED
from tests.path.shop_app import ShopApp, people
from tests.support.mcp_client import REVISIONS

LOOK = {"module": "shop", "tool_name": "look", "params": {"what": "tea"}}
MARK = {"untrusted": UNTRUSTED}


async def test_each_answer_of_a_vendor_begins_with_the_mark(app: ShopApp) -> None:
    for person, name in zip(await people(app), ("adas-", "eves-"), strict=True):
        await app.add(person, f"{name}token-0123456789")
        said = {"said": f"account of {name}: tea"}
        for revision in REVISIONS:
            answer = await app.node.tool(person.token, "call", LOOK, revision=revision)
            assert list(orjson.loads(answer.text).items()) == [*MARK.items(), *said.items()]
            assert answer.result.get("structuredContent", MARK | said) == MARK | said
        short = await app.product.with_token(person, tool_result_format="short")
        assert (await app.node.tool(short.token, "call", LOOK)).result["structuredContent"] == MARK | said


async def test_a_batch_has_the_mark_once_and_hands_on_what_the_tool_gave(app: ShopApp) -> None:
    ada, eve = await people(app)
    await app.add(ada, "adas-token-0123456789")
    await app.add(eve, "eves-token-0123456789")
    said = "account of {}: account of {}: tea"
    steps = [
        {"id": "a", **LOOK, "output": True},
        {"id": "b", **LOOK, "params": {"what": "${a.said}"}, "output": True},
    ]
    for person, name in ((ada, "adas-"), (eve, "eves-")):
        answer = await app.node.tool(person.token, "batch", {"commands": steps})
        structured = answer.result["structuredContent"]
        assert next(iter(structured.items())) == ("untrusted", UNTRUSTED)
        assert structured["steps"][1]["result"] == {"said": said.format(name, name)}
        assert answer.text.split("\n")[0] == UNTRUSTED
        assert answer.text.count(UNTRUSTED) == 1


async def test_what_is_no_vendors_has_no_mark(app: ShopApp) -> None:
    ada, _ = await people(app)
    await app.add(ada, "adas-token-0123456789")
    graph = {"module": "knowledge_graph", "tool_name": "read_graph"}
    own = await app.node.tool(ada.token, "call", graph)
    quiet = await app.node.tool(ada.token, "batch", {"commands": [{"id": "a", **LOOK}, {"id": "b", **graph}]})
    refused = await app.node.tool(ada.token, "call", {**LOOK, "params": {}})
    for answer in (own, quiet, refused):
        assert b"untrusted" not in answer.body
