"""Atlassian's document format as Markdown and back."""

import contextlib
import gc
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.text_cleaning import clean_text
from tests.modules.kit.adf_examples import BLOCKS, INLINES, MARKS, Node, doc, item, node, normalize, para, text


def assert_same(document: Node) -> None:
    markdown = format_adf(document)
    assert normalize(parse_adf(markdown)) == normalize(document), markdown


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_comes_back(name: str) -> None:
    assert_same(doc(BLOCKS[name]))


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_survives_an_edit_of_its_neighbours(name: str) -> None:
    document = doc(para("before"), BLOCKS[name], para("after"))
    edited = format_adf(document).replace("before", "changed **now**", 1) + "\n\n- more"
    expected = doc(
        para("changed ", text("now", "strong")), BLOCKS[name], para("after"), node("bulletList", item(para("more")))
    )
    assert normalize(parse_adf(edited)) == normalize(expected)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_comes_back_within_others(name: str) -> None:
    assert_same(doc(node("panel", para("a"), BLOCKS[name], BLOCKS[name], panelType="info")))
    if name != "rule":
        assert_same(doc(node("bulletList", item(BLOCKS[name]), item(para("b"), BLOCKS[name], para("c")))))


@pytest.mark.parametrize("name", INLINES)
def test_an_inline_node_comes_back(name: str) -> None:
    one = INLINES[name]
    bold = text("b", "strong")
    assert_same(doc(para("a ", one, " b"), para(one), para("a", one, one, "!"), para(bold, one, bold)))
    assert_same(doc(node("heading", one, level=1), node("bulletList", item(para(one))), node("blockquote", para(one))))
    row = node("tableRow", node("tableHeader", para(one)))
    assert_same(doc(node("table", row), node("table", node("tableRow", node("tableCell", para("|", one, "|"))))))


@pytest.mark.parametrize("name", MARKS)
def test_a_mark_comes_back(name: str) -> None:
    marks = MARKS[name]
    assert_same(doc(para("a ", text("b c", *marks), " d"), para("a", text("b*_`~[]<u>\\|&lt;", *marks), "d")))
    assert_same(doc(para(text(" b ", *marks), text("c"), text("adf:{}", *marks), text(" ", *marks), text("!", *marks))))
    row = node("tableRow", node("tableHeader", para(text("a|b", *marks))))
    assert_same(doc(node("table", row)))
    for other in MARKS.values():
        if not {mark["type"] for mark in (*marks, *other)} & {"code"} and other != marks:
            both = {mark["type"]: mark for mark in (*marks, *other)}.values()
            assert_same(doc(para(text("a", *marks), text("b", *both), text("c", *other))))
            assert_same(doc(para(text("a b", *marks), text("c", *other), text(" ", *other), text("d", *both))))


READ: dict[str, tuple[str, list[Node]]] = {
    "marks": ("**a** *b* ~~c~~ `d` __e__ _f_", [para(
        text("a", "strong"), " ", text("b", "em"), " ", text("c", "strike"), " ", text("d", "code"), " ",
        text("e", "strong"), " ", text("f", "em"))]),
    "nested marks": ("**a *b* c**", [para(text("a ", "strong"), text("b", "strong", "em"), text(" c", "strong"))]),
    "words with signs": ("snake_case_word, 2 * 3 * 4, a~b", [para("snake_case_word, 2 * 3 * 4, a~b")]),
    "never closed": ("**a `b [c <u>d", [para("**a `b [c <u>d")]),
    "lines": ("a\nb", [para("a", node("hardBreak"), "b")]),
    "bold code": ("**`a`**", [para(text("a", "code"))]),
    "alert": ("> [!NOTE]\n> a\n> - b", [
        node("panel", para("a"), node("bulletList", item(para("b"))), panelType="note")]),
    "alert of GitHub": ("> [!CAUTION]\n> a", [node("panel", para("a"), panelType="error")]),
    "no alert": ("> [!odd] a", [node("blockquote", para("[!odd] a"))]),
    "tasks": ("- [ ] a\n- [X] b", [node(
        "taskList", node("taskItem", text("a"), state="TODO"), node("taskItem", text("b"), state="DONE"))]),
    "tasks with code": ("- [ ] a\n  ```\n  b\n  ```", [node(
        "bulletList", item(para("[ ] a"), node("codeBlock", text("b"))))]),
    "mixed list": ("- [ ] a\n- b", [node("bulletList", item(para("[ ] a")), item(para("b")))]),
    "setext": ("a\n===", [node("heading", text("a"), level=1)]),
    "table": ("x\n| a | b |\n|---|:-:|\n| 1 |", [para("x"), node(
        "table", node("tableRow", node("tableHeader", para("a")), node("tableHeader", para("b"))),
        node("tableRow", node("tableCell", para("1")), node("tableCell", para())))]),
    "image": ("![alt](https://a.test/b.png)", [node(
        "mediaSingle", node("media", type="external", url="https://a.test/b.png", alt="alt"), layout="center")]),
    "HTML": ("<div>\na\n</div>", [para("<div>", node("hardBreak"), "a", node("hardBreak"), "</div>")]),
    "footnote": ("[^1]: a", [para("[^1]: a")]),
    "indented code": ("    a", [node("codeBlock", text("a"))]),
    "nothing": (" \n", []),
    "CRLF": ("a\r\n\r\nb\r", [para("a"), para("b")]),
    "mention": ("[@Ada](mention:5b10)", [para(node("mention", id="5b10", text="@Ada"))]),
    "date": ("[](date:2026-02-28)", [para(node("date", timestamp="1772236800000"))]),
    "beside brackets": ("は**「語」**です", [para("は", text("「語」", "strong"), "です")]),
    "tags and references": ("<B>a</B> &lt;b&gt; <q>", [para(text("a", "strong"), " <b> <q>")]),
    "link without text": ("[](https://a.test/)", [para(
        text("https://a.test/", node("link", href="https://a.test/")))]),
    "marks across a date": ("**a [b** c](date:2026-02-28) d", [para(
        text("a ", "strong"), node("date", timestamp="1772236800000"), " d")]),
    "Japanese": ("# 議題 **予算**", [node("heading", text("議題 "), text("予算", "strong"), level=1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_markdown_of_others_is_read(name: str) -> None:
    markdown, expected = READ[name]
    assert normalize(parse_adf(markdown)) == normalize(doc(*expected))


REFUSED = {
    "[](date:2026-02-30)": "is no day",
    "[x](status:pink)": "no color",
    "```adf\n{]\n```": "no JSON",
    "```adf\n[1]\n```": "no node",
    f"```adf\n{'[' * 100_000}\n```": "no JSON",
    '> [!with {"marks":[]}]\n>\n> a\n>\n> b': "exactly one",
    "> [!panel {x}] a": "no JSON object",
    "x" * 500_001: "at most 500000",
}


@pytest.mark.parametrize("markdown", REFUSED, ids=lambda one: one[:20])
def test_what_cannot_be_meant_is_refused(markdown: str) -> None:
    with pytest.raises(ToolError, match=REFUSED[markdown]):
        parse_adf(markdown)


ODD: list[Any] = [None, "", 5, [], {}, {"content": 5}, {"content": [None, 5, {}, {"type": 5}, {"type": "panel"}]},
    doc({"type": "text"}, {"type": "paragraph", "content": "x"}, {"type": "heading", "attrs": []}),
    doc(para({"type": "text", "text": 5}, {"type": "mention", "attrs": {"id": 5}},
        {"type": "text", "text": "x", "marks": [5, {}]})),
    doc({"type": "table", "content": [{"type": "tableRow"}]}, {"type": "taskList", "content": [{"type": "taskList"}]}),
    doc({"type": "mediaSingle", "content": [{"type": "media", "attrs": {"width": "x", "type": 5}}]}),
    doc({"type": "blockCard", "attrs": {"url": 5}}, {"type": "expand", "attrs": {"title": 5}, "content": [{}]}),
    doc({"type": "orderedList", "attrs": {"order": -1}, "content": [{"type": "listItem", "content": [para("a")]}]}),
]  # fmt: skip


@pytest.mark.parametrize("document", ODD, ids=lambda one: json.dumps(one)[:40])
def test_no_document_is_no_crash(document: Any) -> None:
    parse_adf(format_adf(document))


def test_invisible_characters_are_taken_out() -> None:
    hidden = "\u202e\U000e0041\u200b"
    document = doc(para(f"a{hidden}b"), node("extension", text=f"{hidden}c"), node("codeBlock", text(f"{hidden}d")))
    markdown = format_adf(document)
    assert not set(markdown) & set(hidden)
    assert "ab" in markdown


@pytest.mark.parametrize("levels", [29, 31, 60, 150, 300])
def test_what_is_nested_deeply_ends(levels: int) -> None:
    kinds: dict[str, dict[str, Any]] = {"blockquote": {}, "panel": {"panelType": "info"}, "taskList": {}}
    for kind, more in kinds.items():
        inner = para("x")
        for _ in range(levels):
            inner = node(kind, inner, **more)
        markdown = format_adf(doc(inner))
        if levels < 100:
            assert normalize(parse_adf(markdown)) == normalize(doc(inner))


HOSTILE = {
    "stars": "*a " * 33_000, "many stars": "*" * 100_000, "star words": "**a*b" * 20_000, "brackets": "[" * 100_000,
    "images": "![a](" * 20_000, "links": "[a](b" * 20_000, "angles": "[a](<b" * 16_000, "ticks": "`a``b```" * 12_000,
    "tags": "<u>" * 33_000, "spans": '<span color="red">' * 5_500, "JSON tags": '<mark {"a":' * 9_000,
    "JSON strings": '<mark {"\\"' * 9_000, "entities": "&a" * 50_000, "backslashes": "\\" * 100_000,
    "closed tags": "<u>" * 16_000 + "</u>" * 16_000, "quotes": "> " * 50_000, "items": "- " * 50_000,
    "mentions": "[@a](mention:b" * 7_000, "raw": "`adf:{" * 16_000, "under": "_a" * 50_000, "tilde": "~~a" * 33_000,
    "with": '> [!with {"a":' * 7_000,
    "rows": "|a|b|\n|-|-|\n" + "|1|2|\n" * 16_000, "cells": "|a|b|\n|-|-|\n" + "|1" * 50_000,
    "deep mark": "<mark " + '{"a":' * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length_only(name: str) -> None:
    """Four times the text takes at most some ten times as long, or next to nothing; the collector is left out, which
    looks through all that a test run has in memory."""

    def measure(markdown: str) -> float:
        gc.disable()
        start = time.thread_time()
        with contextlib.suppress(ToolError):
            format_adf(parse_adf(markdown))
        taken = time.thread_time() - start
        gc.enable()
        return taken

    markdown = HOSTILE[name][:40_000]
    short, long = (min(measure(part) for _ in range(2)) for part in (markdown[: len(markdown) // 4], markdown))
    assert long < max(10 * short, 0.1)


INLINE_NODES = st.one_of(
    st.builds(
        lambda value, marks: text(value, *{mark["type"]: mark for name in marks for mark in MARKS[name]}.values()),
        st.one_of(st.text('ab *_`~[]()<>&;!\\|#-+:."{}\n', min_size=1, max_size=12), st.text(min_size=1, max_size=6)),
        st.lists(st.sampled_from(sorted(MARKS.keys() - {"code", "link-code"})), max_size=3),
    ),
    st.builds(lambda value: text(value, "code"), st.text("a` \\adf:{}|", min_size=1, max_size=8)),
    st.sampled_from(list(INLINES.values())),
)
PARAGRAPHS = st.lists(INLINE_NODES, max_size=6).map(lambda content: para(*content))
TREES = st.recursive(
    st.one_of(PARAGRAPHS, st.sampled_from([one for name, one in BLOCKS.items() if name != "rule"])),
    lambda below: st.builds(
        lambda wrap, parts: wrap(parts),
        st.sampled_from([
            lambda parts: node("blockquote", *parts),
            lambda parts: node("panel", *parts, panelType="note"),
            lambda parts: node("expand", *parts, title="t"),
            lambda parts: node("bulletList", *(item(one) for one in parts)),
            lambda parts: node("orderedList", item(*parts)),
            lambda parts: node("table", node("tableRow", *(node("tableCell", one) for one in parts))),
            lambda parts: node("layoutSection", *(node("layoutColumn", one, width=50) for one in parts)),
        ]),
        st.lists(below, min_size=1, max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip


def check_round_trip(document: Node) -> None:
    shown = format_adf(document)
    again = parse_adf(shown)
    assert format_adf(again) == shown
    if _is_visible(document):
        assert normalize(again) == normalize(document), shown


def _is_visible(document: Node) -> bool:
    def list_texts(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part]
        parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return [one for below in parts for one in list_texts(below)]

    return all(clean_text(one) == one for one in list_texts(document))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(TREES, max_size=4).map(lambda blocks: doc(*blocks)))
def test_any_document_comes_back(document: Node) -> None:
    check_round_trip(document)


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(st.lists(TREES, max_size=4).map(lambda blocks: doc(*blocks)))
def test_any_document_comes_back_long(document: Node) -> None:
    check_round_trip(document)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text("ab *_`~[]()<>&;!\\|#-+:.1\n\t", max_size=60))
def test_any_markdown_settles(markdown: str) -> None:
    document = parse_adf(markdown)
    assert normalize(parse_adf(format_adf(document))) == normalize(document)
