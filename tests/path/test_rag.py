"""Documents over MCP: as the source document's answers read, one's own and shared ones, and never somebody else's."""

import unicodedata
from typing import Any

import pytest

from core.directory.roles import create_role
from core.directory.users import assign_role, change_user
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit.untrusted import UNTRUSTED
from tests.path.conftest import People, on_shared_product, with_own_people
from tests.path.stream_app import listen, until, updated
from tests.support.mcp_client import MODERN
from tests.support.product import ACTOR, Node, Product

GUIDE = """---
title: インストール手順
tags: [guide, setup]
---

# はじめに

このガイドでは製品の導入方法を説明します。

## データベース

PostgreSQL 16 以上が必要です。接続先は環境変数 DATABASE_URL で指定します。

## ロールバック

問題が起きたら前のバージョンに戻してください。
"""
TEA = "Green tea is brewed at 80 degrees, black tea with boiling water."


async def ask(node: Node, token: str, tool: str, **params: Any) -> Any:
    return await node.call(token, "rag", tool, params)


async def index(node: Node, token: str, path: str, text: str, **params: Any) -> dict[str, Any]:
    return (await ask(node, token, "index_doc", file_path=path, text=text, **params)).value


@with_own_people
async def test_a_document_is_found_and_read(node: Node, people: People) -> None:
    token = people.admin.token
    stored = await index(node, token, "guide/install.md", GUIDE)
    assert (stored["version"], stored["collection"]) == (1, "documents")
    await index(node, token, "drinks/tea.md", TEA, tags=["drinks"])
    found = await ask(node, token, "search_docs", query="どのデータベースを使えばよい?")
    first = found.value["results"][0]
    assert (first["title"], first["heading"]) == ("インストール手順", "はじめに > データベース")
    assert "PostgreSQL 16" in first["content"]
    assert first["file_path"] == "guide/install.md"
    assert found.text.startswith(
        f"{UNTRUSTED}\n\n---\n\n## インストール手順 > はじめに > データベース\nguide/install.md (similarity: 0."
    )
    english = (await ask(node, token, "search_docs", query="how hot is the water?", limit=1)).value["results"]
    assert [one["file_path"] for one in english] == ["drinks/tea.md"]
    tagged = (await ask(node, token, "search_docs", query="water", tags=["guide"])).value["results"]
    assert {one["file_path"] for one in tagged} == {"guide/install.md"}
    nothing = await ask(node, token, "search_docs", query="water", tags=["no such tag"])
    assert nothing.text == "No matching documents found."
    words = (await ask(node, token, "search_keyword", query="DATABASE_URL")).value["results"]
    assert (words[0]["heading"], words[0]["matched"]) == ("はじめに > データベース", "words")
    read = await ask(node, token, "get_doc", file_path="guide/install.md")
    assert read.text.startswith(f"{UNTRUSTED}\n\n# インストール手順\n\nTags: guide, setup\n\n---\n\n")
    assert read.value["content"] == GUIDE
    missing = await ask(node, token, "get_doc", file_path="guide/none.md")
    assert (missing.failed, missing.text) == (True, "Document not found: guide/none.md")


@with_own_people
async def test_tags_and_dates(node: Node, people: People) -> None:
    token = people.admin.token
    assert (await ask(node, token, "list_tags")).text == "No tags found."
    await index(node, token, "a.md", GUIDE)
    await index(node, token, "b.md", TEA, tags=["guide"])
    assert (await ask(node, token, "list_tags")).text == "guide (2)\nsetup (1)"
    by_tag = (await ask(node, token, "list_docs_by_tag", tag="guide", limit=1)).value
    assert [one["file_path"] for one in by_tag["documents"]] == ["a.md"]
    rest = (await ask(node, token, "list_docs_by_tag", tag="guide", cursor=by_tag["next_cursor"])).value
    assert [one["file_path"] for one in rest["documents"]] == ["b.md"]
    newest = (await ask(node, token, "list_docs_by_date", since="2026-01-01T00:00:00+09:00")).value["documents"]
    assert [(one["file_path"], one["title"]) for one in newest] == [
        ("b.md", "(untitled)"),
        ("a.md", "インストール手順"),
    ]
    refused = await ask(node, token, "list_docs_by_date", since="2026-01-01T00:00:00")
    assert "needs its offset" in refused.text


@with_own_people
async def test_a_change_expects_a_version(node: Node, people: People) -> None:
    token = people.admin.token
    await index(node, token, "a.md", TEA)
    changed = (await ask(node, token, "update_doc", file_path="a.md", title="Tea", expected_version=1)).value
    assert changed["version"] == 2
    assert (await ask(node, token, "get_doc", file_path="a.md")).value["content"] == TEA
    for tool, more in (("update_doc", {"text": "x"}), ("index_doc", {"text": "x"}), ("delete_doc", {})):
        late = await ask(node, token, tool, file_path="a.md", expected_version=1, **more)
        assert late.failed
        assert "changed this document meanwhile" in late.text
        assert late.result["structuredContent"]["error"]["data"] == {"version": 2}
    gone = await ask(node, token, "delete_doc", file_path="a.md", expected_version=2)
    assert gone.value["deleted"] is True
    again = (await ask(node, token, "delete_doc", file_path="a.md")).value
    assert (again["deleted"], again["message"]) == (False, "There was no document a.md.")


@with_own_people
async def test_one_name_in_two_forms_is_one_document(node: Node, people: People) -> None:
    """macOS writes ガ as two characters."""
    token = people.admin.token
    composed, apart = "ガイド/デプロイ.md", unicodedata.normalize("NFD", "ガイド/デプロイ.md")
    assert composed != apart
    await index(node, token, composed, "first", tags=["ガイド"])
    second = await index(node, token, apart, "second", tags=[unicodedata.normalize("NFD", "ガイド")])
    assert second["version"] == 2
    assert (await ask(node, token, "get_doc", file_path=apart)).value["content"] == "second"
    counted = (await ask(node, token, "list_tags")).value["tags"]
    assert [one["documents"] for one in counted if one["tag"] == "ガイド"] == [1]


@with_own_people
async def test_personal_documents_are_nobody_elses(product: Product, node: Node, people: People) -> None:
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["rag.*"])
    stored = await index(node, people.admin.token, "a.md", TEA)
    for other in (colleague, people.other_admin):
        assert (await ask(node, other.token, "search_docs", query="tea")).text == "No matching documents found."
        assert (await ask(node, other.token, "get_doc", file_path="a.md")).text == "Document not found: a.md"
        assert (await ask(node, other.token, "list_tags")).text == "No tags found."
        assert (await ask(node, other.token, "list_collections")).value["collections"] == []
        read = await node.post(other.token, "resources/read", {"uri": stored["uri"]})
        assert "error" in read.message
    assert (await ask(node, people.nobody.token, "search_docs", query="tea")).text == NO_SUCH_TOOL


@with_own_people
async def test_shared_documents(product: Product, node: Node, people: People) -> None:
    sales = await create_role(product.console, ACTOR, people.acme.id, "sales")
    member = await product.person(people.acme, "member@mail.test", allow=["rag.*"])
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["rag.*"])
    boss = await product.person(people.acme, "boss@mail.test", allow=["rag.*"])
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    for person in (member, boss):
        await assign_role(product.console, ACTOR, people.acme.id, person.id, sales.id)
    refused = await ask(node, member.token, "create_collection", name="mine for all", owner="tenant")
    assert "administrators" in refused.text
    await ask(node, boss.token, "create_collection", name="handbook", owner="tenant")
    await ask(node, boss.token, "create_collection", name="offers", owner="role", role="sales")
    await index(node, boss.token, "a.md", TEA, collection="handbook")
    await index(node, boss.token, "b.md", GUIDE, collection="offers")
    seen = {}
    for name, person in (("member", member), ("colleague", colleague), ("other", people.other_admin)):
        found = await ask(node, person.token, "list_docs_by_date")
        seen[name] = sorted(one["file_path"] for one in found.value["documents"])
        written = await ask(node, person.token, "index_doc", file_path="c.md", text="x", collection="handbook")
        assert written.failed
    assert seen == {"member": ["a.md", "b.md"], "colleague": ["a.md"], "other": []}
    of_one = (await ask(node, member.token, "list_docs_by_date", collections=["handbook"])).value["documents"]
    by_id = await ask(node, member.token, "list_docs_by_date", collections=[of_one[0]["collection_id"]])
    assert [one["file_path"] for one in by_id.value["documents"]] == ["a.md"] == [one["file_path"] for one in of_one]
    for person, name in ((colleague, "offers"), (people.other_admin, of_one[0]["collection_id"])):
        refused = await ask(node, person.token, "list_docs_by_date", collections=[name])
        assert "you may read no collection" in refused.text


@on_shared_product
async def test_a_document_is_attached_to_a_chat(node: Node, people: People) -> None:
    stored = await index(node, people.admin.token, "tea.md", TEA, title="Tea")
    for revision in ("2025-11-25", MODERN):
        read = await node.post(people.admin.token, "resources/read", {"uri": stored["uri"]}, revision=revision)
        assert read.result["contents"][0]["text"] == f"# Tea\n\n{TEA}"
    reference = {"type": "ref/resource", "uri": "resource://rag/documents/{id}"}
    asked = {"ref": reference, "argument": {"name": "id", "value": "tea"}}
    completed = await node.post(people.admin.token, "completion/complete", asked)
    assert stored["uri"].rsplit("/", 1)[1] in completed.result["completion"]["values"]


ODD_TEXTS: list[tuple[str, str]] = [
    ("", "text"),
    ("   \n ", "empty"),
    ("\x00", ""),
    ("x" * 1_000_001, "text"),
]


@on_shared_product
async def test_bad_input_is_named(node: Node, people: People) -> None:
    for text, problem in ODD_TEXTS:
        answer = await ask(node, people.admin.token, "index_doc", file_path="odd.md", text=text)
        assert answer.failed, repr(text[:20])
        assert problem in answer.text
        assert len(answer.text) < 1_000
    for path in ("", "x" * 501):
        assert (await ask(node, people.admin.token, "index_doc", file_path=path, text="x")).failed


@on_shared_product
@pytest.mark.parametrize("text", ["🍵", "ｶﾞｲﾄﾞ\u3099", "a\tb\r\nc", "の" * 50, "x" * 10_000])
async def test_odd_texts_are_kept_as_they_are(node: Node, people: People, text: str) -> None:
    await index(node, people.admin.token, "kept.md", text)
    read = await ask(node, people.admin.token, "get_doc", file_path="kept.md")
    assert read.value["content"] == text
    assert not (await ask(node, people.admin.token, "search_docs", query=text[:100])).failed


@with_own_people
async def test_members_write_where_they_may(product: Product, node: Node, people: People) -> None:
    member = await product.person(people.acme, "member@mail.test", allow=["rag.*"])
    boss = await product.person(people.acme, "boss@mail.test", allow=["rag.*"])
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    await ask(node, boss.token, "create_collection", name="wiki", owner="tenant", members_write=True)
    (listed,) = (await ask(node, member.token, "list_collections")).value["collections"]
    assert (listed["name"], listed["can_write"]) == ("wiki", True)
    await index(node, member.token, "a.md", TEA, collection="wiki")
    found = (await ask(node, boss.token, "search_docs", query="tea")).value["results"]
    assert [one["file_path"] for one in found] == ["a.md"]
    assert (
        await ask(node, people.other_admin.token, "search_docs", query="tea")
    ).text == "No matching documents found."


@with_own_people
async def test_a_collection_that_is_not_there_is_not_made_to_be_deleted(node: Node, people: People) -> None:
    for name in ("documents", "elsewhere"):
        answer = await ask(node, people.admin.token, "delete_collection", collection=name)
        assert f"you may read no collection '{name}'" in answer.text
    assert (await ask(node, people.admin.token, "list_collections")).value["collections"] == []


@with_own_people
async def test_subscribers_are_told_of_a_changed_document(node: Node, people: People) -> None:
    stored = await index(node, people.admin.token, "a.md", TEA)
    wanted = {"resourceSubscriptions": [stored["uri"]]}
    async with listen(node, people.admin, wanted) as stream:
        await index(node, people.admin.token, "b.md", TEA)
        await ask(node, people.admin.token, "update_doc", file_path="a.md", title="Tea")
        await until(lambda: bool(updated(stream)), 5)
        assert set(updated(stream)) == {stored["uri"]}  # also of its creation, where that is told late
