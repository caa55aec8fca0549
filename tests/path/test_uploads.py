"""Files that become documents: extracted apart, stored as the tool stores them, and never for somebody else."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from core.audit.event import AuditEventKind
from core.directory.users import change_user
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import People, on_shared_product, with_own_people
from tests.support.eventually import within
from tests.support.office_files import WORD_TYPE, build_docx, build_paragraph, build_pdf, build_table
from tests.support.product import ACTOR, Node, Product

JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
PAGE = f"""<html><head><meta charset="shift_jis"><title>猫 &amp; 犬</title><script>alert(1)</script></head>
<body><h1>はじめに</h1><p>{JAPANESE}</p><p hidden>隠し</p><ul><li>一</li><li>二</li></ul></body></html>"""
LETTER = build_docx(
    build_paragraph("年次報告", style="a3")
    + build_paragraph("概要", style="1")
    + build_paragraph("The warehouse moved to Osaka.")
    + build_paragraph("secret", run="<w:vanish/>")
    + build_paragraph("first", level=0)
    + build_paragraph("second", level=1)
    + build_table(("品目", "個数"), ("りんご|青", "3"))
)


def bear(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def send(node: Node, token: str, content: bytes, name: str, kind: str = "", **fields: Any) -> httpx2.Response:
    """Send a form as a browser does."""
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        file = {"file": (name, content, kind or "application/octet-stream")}
        return await http.post("/rag/documents", files=file, data=fields, headers=bear(token), timeout=60)


async def read(node: Node, token: str, path: str) -> dict[str, Any]:
    return (await node.call(token, "rag", "get_doc", {"file_path": path})).value


FILES: list[tuple[str, str, bytes, str, str]] = [
    ("note.md", "text/markdown", b"# Coffee\r\n\r\nGrind it fresh.", "Coffee", "# Coffee\n\nGrind it fresh."),
    ("front.md", "", b"---\ntitle: Milk\n---\nCold.", "Milk", "---\ntitle: Milk\n---\nCold."),
    ("plain.txt", "text/plain", b"Just text.", "plain", "Just text."),
    ("utf16.txt", "", JAPANESE.encode("utf-16"), "utf16", JAPANESE),
    ("sjis.txt", "", JAPANESE.encode("shift_jis"), "sjis", JAPANESE),
    ("euc.txt", "", JAPANESE.encode("euc_jp"), "euc", JAPANESE),
    ("jis.txt", "", JAPANESE.encode("iso2022_jp"), "jis", JAPANESE),
    ("latin.txt", "text/plain; charset=iso-8859-1", "déjà vu".encode("latin-1"), "latin", "déjà vu"),
    ("emoji.txt", "", "🙂".encode(), "emoji", "🙂"),
    ("page.html", "text/html", PAGE.encode("shift_jis"), "猫 & 犬", f"# はじめに\n\n{JAPANESE}\n\n- 一\n- 二"),
    ("report.pdf", "application/pdf", build_pdf("One", "Two", title="Report"), "Report", "One\n\nTwo"),
    ("open.pdf", "", build_pdf("Anybody reads", password=""), "open", "Anybody reads"),
    (
        "letter.docx",
        WORD_TYPE,
        LETTER,
        "年次報告",
        "# 年次報告\n\n# 概要\n\nThe warehouse moved to Osaka.\n\n- first\n  - second\n\n"
        "| 品目 | 個数 |\n| --- | --- |\n| りんご\\|青 | 3 |",
    ),
]


@on_shared_product
@pytest.mark.parametrize(("name", "kind", "content", "title", "text"), FILES, ids=[one[0] for one in FILES])
async def test_a_file_becomes_a_document(
    node: Node, people: People, name: str, kind: str, content: bytes, title: str, text: str
) -> None:
    token = people.admin.token
    answer = await send(node, token, content, name, kind)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["file_path"], answer.json()["collection"]) == (name, "documents")
    stored = await read(node, token, name)
    assert (stored["title"], stored["content"]) == (title, text)


@on_shared_product
async def test_what_a_form_says_counts(node: Node, people: People) -> None:
    token = people.admin.token
    created = await node.call(token, "rag", "create_collection", {"name": "手引き"})
    assert not created.failed, created.text
    fields = {
        "path": "guide/雨.md",
        "title": "Rain",
        "tags": ["a", "b"],
        "url": "https://x.test/",
        "collection": "手引き",
    }
    first = await send(node, token, b"It rains.", "ignored.txt", expected_version="0", **fields)
    assert first.json()["version"] == 1, first.text
    stale = await send(node, token, b"It pours.", "ignored.txt", expected_version="0", **fields)
    assert (stale.status_code, stale.json()["code"]) == (409, "conflict"), stale.text
    second = await send(node, token, b"It pours.", "ignored.txt", expected_version="1", **fields)
    assert second.json()["version"] == 2
    stored = await read(node, token, "guide/雨.md")
    assert (stored["title"], stored["tags"], stored["url"]) == ("Rain", ["a", "b"], "https://x.test/")
    assert (stored["collection"], stored["content"]) == ("手引き", "It pours.")
    found = await node.call(token, "rag", "search_docs", {"query": "is it raining?", "collections": ["手引き"]})
    assert found.value["results"][0]["file_path"] == "guide/雨.md"


@on_shared_product
async def test_a_body_may_be_the_file(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        query = {"path": "raw/x.pdf", "tags": ["one", "two"]}
        headers = bear(people.admin.token) | {"Content-Type": "application/pdf"}
        answer = await http.post("/rag/documents", params=query, content=build_pdf("Raw"), headers=headers)
        assert answer.status_code == 200, answer.text
    assert (await read(node, people.admin.token, "raw/x.pdf"))["tags"] == ["one", "two"]


@with_own_people
async def test_only_those_who_have_the_tool_upload(product: Product, node: Node, people: People) -> None:
    reader = await product.person(people.acme, "reads@mail.test", allow=["rag.get_doc", "rag.list_collections"])
    colleague = await product.person(people.acme, "writes@mail.test", allow=["rag.*"])
    for token in (people.nobody.token, reader.token):
        answer = await send(node, token, b"x", "x.txt")
        assert (answer.status_code, answer.json()["error"]) == (404, NO_SUCH_TOOL)
    for token in ("", "mcpist_wrong"):
        answer = await send(node, token, b"x", "x.txt")
        assert answer.status_code == 401
        assert "resource_metadata" in answer.headers["www-authenticate"]
    assert (await send(node, people.admin.token, b"mine", "x.txt")).status_code == 200
    for other in (people.other_admin, colleague):
        missing = await node.call(other.token, "rag", "get_doc", {"file_path": "x.txt"})
        assert missing.text == "Document not found: x.txt"
    await change_user(product.console, ACTOR, people.acme.id, people.admin.id, system_role="admin")
    shared = {"name": "all", "owner": "tenant"}
    made = (await node.call(people.admin.token, "rag", "create_collection", shared)).value
    for other, status in ((people.other_admin, 422), (colleague, 403)):
        answer = await send(node, other.token, b"y", "y.txt", collection=str(made["id"]))
        assert answer.status_code == status, answer.text
    assert (await send(node, people.admin.token, b"y", "y.txt", collection="all")).status_code == 200


@with_own_people
async def test_an_upload_is_audited_as_the_call_that_it_is(product: Product, node: Node, people: People) -> None:
    token = people.admin.token
    assert (await send(node, token, b"# Canary\n\nmarmalade", "kept.md")).status_code == 200
    assert (await send(node, token, b"\0", "refused.txt")).status_code == 422
    assert (await send(node, people.nobody.token, b"x", "hidden.txt")).status_code == 404

    async def is_written() -> bool:
        return len(await product.events(people.acme, AuditEventKind.CALL_OUTCOME)) >= 1

    await within(10, is_written)
    (intent,) = await product.events(people.acme, AuditEventKind.CALL_INTENT)
    assert (intent.user_id, intent.module, intent.tool) == (people.admin.id, "rag", "index_doc")
    assert "marmalade" not in str(await product.events(people.acme))


@on_shared_product
async def test_another_site_is_refused_before_its_file_is_read(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        headers = bear(people.admin.token) | {"Origin": "https://evil.example"}
        files = {"file": ("x.txt", b"x", "text/plain")}
        assert (await http.post("/rag/documents", files=files, headers=headers)).status_code == 403
        assert (await http.get("/rag/documents", headers=bear(people.admin.token))).status_code == 405


BAD_FILES: list[tuple[str, str, Callable[[], bytes], int, str]] = [
    ("empty.txt", "", lambda: b"", 422, "no_text"),
    ("blank.md", "", lambda: b" \n\t\n", 422, "no_text"),
    ("image.png", "image/png", lambda: b"\x89PNG\r\n", 415, "unsupported_type"),
    ("noise.txt", "text/plain", lambda: os.urandom(50_000), 422, "wrong_content"),
    ("nul.txt", "text/plain", lambda: b"hello\0world", 422, "wrong_content"),
    ("controls.txt", "text/plain", lambda: b"\x01\x02\x03abc", 422, "wrong_content"),
    ("pdf.txt", "text/plain", lambda: build_pdf("A PDF"), 422, "wrong_content"),
    ("docx.html", "text/html", lambda: build_docx(build_paragraph("x")), 422, "wrong_content"),
    ("text.pdf", "application/pdf", lambda: b"no PDF", 422, "wrong_content"),
    ("text.docx", WORD_TYPE, lambda: b"no zip", 422, "wrong_content"),
    ("other.docx", WORD_TYPE, lambda: build_docx("", name="xl/workbook.xml"), 422, "wrong_content"),
    ("western.txt", "", lambda: "élève à été".encode("cp1252"), 422, "unknown_encoding"),
    ("half.txt", "", lambda: "é".encode("utf-16")[:-1], 422, "unknown_encoding"),
    ("locked.pdf", "", lambda: build_pdf("x", password="secret"), 422, "encrypted"),
    ("locked.docx", "", lambda: b"\xd0\xcf\x11\xe0..." + "EncryptedPackage".encode("utf-16-le"), 422, "encrypted"),
    ("cut.pdf", "", lambda: build_pdf("x")[:200], 422, "damaged"),
    ("cut.docx", "", lambda: LETTER[: len(LETTER) // 2], 422, "damaged"),
    ("broken.docx", "", lambda: build_docx("<w:p>"), 422, "damaged"),
    ("scan.pdf", "", lambda: build_pdf(operators=b"q Q"), 422, "no_text"),
    ("line.txt", "", lambda: b"a" * 10_000_000, 422, "too_long"),
    ("bomb.pdf", "", lambda: build_pdf(operators=b"q " * 50_000_000), 422, "too_complex"),
    ("bomb.docx", "", lambda: build_docx("<w:p/>" * 10_000_000), 422, "too_complex"),
    ("laughs.docx", "", lambda: build_docx("&a;", prolog='<!DOCTYPE x [<!ENTITY a "ha">]>'), 422, "too_complex"),
    ("deep.docx", "", lambda: build_docx("<w:sdt>" * 100_000 + "</w:sdt>" * 100_000), 422, "too_complex"),
    ("large.pdf", "", lambda: b"%PDF-" + b"x" * (20 * 1024 * 1024), 413, "too_large"),
    ("huge.pdf", "", lambda: b"%PDF-" + b"x" * (30 * 1024 * 1024), 413, "too_large"),
]


@on_shared_product
@pytest.mark.parametrize(("name", "kind", "make", "status", "code"), BAD_FILES, ids=[one[0] for one in BAD_FILES])
async def test_a_bad_file_is_told_why(
    node: Node, people: People, name: str, kind: str, make: Callable[[], bytes], status: int, code: str
) -> None:
    answer = await send(node, people.admin.token, make(), name, kind)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert isinstance(answer.json()["error"], str)
    assert (await node.call(people.admin.token, "rag", "get_doc", {"file_path": name})).failed


@on_shared_product
async def test_deep_html_is_read_as_a_browser_reads_it(node: Node, people: People) -> None:
    answer = await send(node, people.admin.token, b"<div>" * 50_000 + b"in", "deep.html")
    assert answer.status_code == 200, answer.text
    assert (await read(node, people.admin.token, "deep.html"))["content"] == "in"


FORM = {"Content-Type": "multipart/form-data; boundary=b"}
BAD_FORMS: list[tuple[str, dict[str, Any]]] = [
    ("no type", {"content": b"x"}),
    ("no path", {"content": b"x", "headers": {"Content-Type": "text/plain"}}),
    ("no boundary", {"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}),
    ("no form", {"content": b"x", "headers": FORM}),
    ("no end", {"content": b"--b\r\n\r\nx", "headers": FORM}),
    ("no head", {"content": b"--b\r\nx\r\n--b--", "headers": FORM}),
    ("many parts", {"content": b"--b" + b"\r\n\r\n\r\nx\r\n--b" * 99 + b"--", "headers": FORM}),
    ("no file", {"files": {"other": ("x.txt", b"x")}}),
    ("strange field", {"files": {"file": ("x.txt", b"x")}, "data": {"colour": "red"}}),
    ("two titles", {"files": {"file": ("x.txt", b"x")}, "data": {"title": ["a", "b"]}}),
    ("no number", {"files": {"file": ("x.txt", b"x")}, "data": {"expected_version": "１"}}),
    ("long field", {"files": {"file": ("x.txt", b"x")}, "data": {"title": "x" * 9_000}}),
]  # fmt: skip


@on_shared_product
@pytest.mark.parametrize(("name", "options"), BAD_FORMS, ids=[one[0] for one in BAD_FORMS])
async def test_a_bad_request_is_told_why(node: Node, people: People, name: str, options: dict[str, Any]) -> None:
    headers = bear(people.admin.token) | options.pop("headers", {})
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        answer = await http.post("/rag/documents", headers=headers, **options)
    assert answer.status_code == 400, answer.text
    assert isinstance(answer.json()["error"], str)


@on_shared_product
async def test_nobody_waits_for_a_file(node: Node, people: People) -> None:
    """While files are read that take long, calls are answered; a person has two uploads at a time."""
    token = people.admin.token
    slow = b"<div>" * 80_000 + b"x"
    uploads = [asyncio.ensure_future(send(node, token, slow, f"slow{one}.html")) for one in range(3)]
    answered = 0
    while answered < 5:
        assert not (await node.call(token, "rag", "list_tags", {})).failed
        answered += 1
    assert sum(not one.done() for one in uploads) == 2, "two files are still read"
    answers = await asyncio.gather(*uploads)
    assert sorted(one.status_code for one in answers) == [200, 200, 429]
    limited = next(one for one in answers if one.status_code == 429)
    assert (limited.json()["code"], "retry-after" in limited.headers) == ("limit_reached", True)
    assert (await send(node, token, b"x", "after.txt")).status_code == 200
