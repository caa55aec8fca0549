"""Confluence's storage format as Markdown and back: each kind of node, and edits beside what Markdown cannot say."""

import re
import sys
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.markup.markup_tree import MalformedMarkupError
from modules.kit.markup.storage_reading import convert_storage_to_markdown, divide_storage, join_pieces
from modules.kit.markup.storage_writing import convert_markdown_to_storage, replace_markdown
from tests.linear.growth import MOST_RATIO, Input, ratio

RAW = "```{{=storage}}\n{}\n```".format
INLINE_RAW = "`{}`{{=storage}}".format
TOC = '<ac:structured-macro ac:name="toc"><ac:parameter ac:name="maxLevel">2</ac:parameter></ac:structured-macro>'
MERGED = '<table><tbody><tr><td colspan="2"><p>x</p></td></tr></tbody></table>'
STATUS = '<ac:structured-macro ac:name="status"><ac:parameter ac:name="title">OK</ac:parameter></ac:structured-macro>'
SCHEMA = ' ac:schema-version="1"'


def make_panel(name: str, title: str, body: str) -> str:
    parameter = f'<ac:parameter ac:name="title">{title}</ac:parameter>' if title else ""
    return (
        f'<ac:structured-macro ac:name="{name}"{SCHEMA}>{parameter}'
        f"<ac:rich-text-body>{body}</ac:rich-text-body></ac:structured-macro>"
    )


def make_code(language: str, body: str) -> str:
    parameter = f'<ac:parameter ac:name="language">{language}</ac:parameter>' if language else ""
    return (
        f'<ac:structured-macro ac:name="code"{SCHEMA}>{parameter}'
        f"<ac:plain-text-body><![CDATA[{body}]]></ac:plain-text-body></ac:structured-macro>"
    )


def make_link(target: str, text: str = "", anchor: str = "") -> str:
    body = f"<ac:link-body>{text}</ac:link-body>" if text else ""
    attribute = f' ac:anchor="{anchor}"' if anchor else ""
    return f"<p><ac:link{attribute}>{target}{body}</ac:link></p>"


def make_task(status: str, body: str) -> str:
    return f"<ac:task><ac:task-status>{status}</ac:task-status><ac:task-body>{body}</ac:task-body></ac:task>"


SAME = {
    "paragraph": ("<p>日本語 <strong>שלום</strong> &lt;x&gt; &amp;</p>", "日本語 **שלום** \\<x> &"),
    "empty paragraph": ("<p></p>", "<p></p>"),
    "no-break space": ("<p>\xa0</p>", "&nbsp;"),
    "marks": (
        "<p><em>a</em> <u>b</u> <del>c</del> x<sup>2</sup> <code>d</code></p>",
        "*a* <u>b</u> ~~c~~ x<sup>2</sup> `d`",
    ),
    "color": ('<p><span style="color: rgb(1,2,3);">a</span></p>', '<span style="color: rgb(1,2,3)">a</span>'),
    "heading": ("<h3>T</h3>", "### T"),
    "list": ("<ul><li>a<ol><li>b</li></ol></li></ul>", "- a\n  1. b"),
    "tasks": (
        f"<ac:task-list>{make_task('complete', 'a')}{make_task('incomplete', 'b')}</ac:task-list>",
        "- [x] a\n- [ ] b",
    ),
    "tasks in a task": (
        f"<ac:task-list>{make_task('complete', 'a<ac:task-list>' + make_task('incomplete', 'b') + '</ac:task-list>')}"
        "</ac:task-list>",
        "- [x] a\n  - [ ] b",
    ),
    "quote": ("<blockquote><p>a</p></blockquote>", "> a"),
    "rule": ("<hr/>", "---"),
    "table": (
        "<table><tbody><tr><th><p>a</p></th><th><p>b|c</p></th></tr><tr><td><p>1</p></td><td><p/></td></tr></tbody></table>",
        "| a | b\\|c |\n| --- | --- |\n| 1 |  |",
    ),
    "table without head": (
        "<table><tbody><tr><td><p>a</p></td></tr></tbody></table>",
        "|  |\n| --- |\n| a |",
    ),
    "merged cells": (MERGED, RAW(MERGED)),
    "code": (make_code("python", "a = 1\n\nb"), "```python\na = 1\n\nb\n```"),
    "code with its own end": (make_code("", "a]]]]><![CDATA[>b"), "```\na]]>b\n```"),
    "info": (make_panel("info", "", "<p>a</p>"), "> [!INFO]\n> a"),
    "note": (make_panel("note", "T*", "<p>a</p><p>b</p>"), "> [!NOTE] T\\*\n> a\n>\n> b"),
    "warning": (make_panel("warning", "", "<ul><li>a</li></ul>"), "> [!WARNING]\n>\n> - a"),
    "tip": (make_panel("tip", "", ""), "> [!TIP]"),
    "expand": (make_panel("expand", "More", "<p>a</p>"), "> [!EXPAND] More\n> a"),
    "link": ('<p><a href="https://x.test/?a=1&amp;b=2">l</a></p>', "[l](https://x.test/?a=1&b=2)"),
    "link to a page": (
        make_link('<ri:page ri:space-key="DS" ri:content-title="A/B (c)"/>', "<em>t</em>", "x y"),
        "[*t*](page:DS/A%2FB%20%28c%29#x%20y)",
    ),
    "link to a page of the space": (make_link('<ri:page ri:content-title="Plan"/>'), "[Plan](page:/Plan)"),
    "link to an anchor": (make_link("", "t", "x"), "[t](#x)"),
    "link to a file": (make_link('<ri:attachment ri:filename="a b.pdf"/>'), "[a b.pdf](attachment:a%20b.pdf)"),
    "link to a space": (make_link('<ri:space ri:space-key="~ada"/>', "t"), "[t](space:~ada)"),
    "mention": (make_link('<ri:user ri:account-id="5:a-b"/>'), "[@user](user:5:a-b)"),
    "date": ('<p>on <time datetime="2026-05-01"/></p>', "on [2026-05-01](date:2026-05-01)"),
    "picture": (
        '<ac:image ac:alt="an x" ac:width="30"><ri:attachment ri:filename="a.png"/></ac:image>',
        '![an x](attachment:a.png "width=30")',
    ),
    "picture of an address": ('<ac:image><ri:url ri:value="https://x.test/a.png"/></ac:image>', "![](https://x.test/a.png)"),
    "emoticon": (
        '<p>a <ac:emoticon ac:name="tick"/></p>',
        "a " + INLINE_RAW('<ac:emoticon ac:name="tick"/>'),
    ),
    "placeholder": (
        "<p><ac:placeholder>a</ac:placeholder> b</p>",
        INLINE_RAW("<ac:placeholder>a</ac:placeholder>") + " b",
    ),
    "status": (f"<p>a {STATUS}</p>", f"a {INLINE_RAW(STATUS)}"),
    "macro": (TOC, RAW(TOC)),
    "macro with blocks": (
        '<ac:structured-macro ac:name="excerpt"><ac:rich-text-body><p>a</p></ac:rich-text-body></ac:structured-macro>',
        INLINE_RAW('<ac:structured-macro ac:name="excerpt"><ac:rich-text-body>')
        + "\n\na\n\n"
        + INLINE_RAW("</ac:rich-text-body></ac:structured-macro>"),
    ),
    "layout": (
        '<ac:layout><ac:layout-section ac:type="single"><ac:layout-cell><p>a</p></ac:layout-cell></ac:layout-section>'
        "</ac:layout>",
        "\n\n".join(
            (
                INLINE_RAW("<ac:layout>"),
                INLINE_RAW('<ac:layout-section ac:type="single">'),
                INLINE_RAW("<ac:layout-cell>"),
                "a",
                INLINE_RAW("</ac:layout-cell>"),
                INLINE_RAW("</ac:layout-section>"),
                INLINE_RAW("</ac:layout>"),
            )
        ),
    ),
    "centered paragraph": ('<p style="text-align: center;">a</p>', RAW('<p style="text-align: center;">a</p>')),
}  # fmt: skip


@pytest.mark.parametrize(("storage", "markdown"), SAME.values(), ids=SAME)
def test_each_kind_of_node_goes_both_ways(storage: str, markdown: str) -> None:
    assert convert_storage_to_markdown(storage) == markdown
    assert convert_markdown_to_storage(markdown) == storage


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([storage for storage, _ in SAME.values()]), max_size=8))
def test_a_document_of_any_nodes_is_the_same_after_both_ways(parts: list[str]) -> None:
    storage = "\n".join(parts)
    pieces = divide_storage(storage)
    assert "".join(one.source for one in pieces) == storage
    markdown = join_pieces(pieces)
    assert convert_markdown_to_storage(markdown) == "".join(parts)
    assert replace_markdown(pieces, markdown) == storage


@pytest.mark.parametrize(
    ("storage", "markdown"),
    [
        ('<p>a<!-- hid --><span style="display:none">hid</span>b\u200b&#8203;</p>', "ab"),
        ('<p title="hid" class="x">a&nbsp;b &ldquo;c&rdquo;</p>', "a\xa0b “c”"),
        ("text <strong>alone</strong>", "text **alone**"),
        ("<p>a</p>text<p>b</p>", "a\n\ntext\n\nb"),
        ("<table><colgroup><col/></colgroup><tbody><tr><th>a</th></tr></tbody></table>", "| a |\n| --- |"),
        ("<ul><li><p>a</p></li></ul>", "- a"),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("<ul><li><p></p><p>a</p></li></ul>", "- <p></p>\n\n  a"),
        ("", ""),
        ("<p>x <ac:emoticon ac:name='smile' ac:emoji-fallback='🙂'/></p>", "x 🙂"),
    ],
)
def test_what_no_reader_sees_is_left_out(storage: str, markdown: str) -> None:
    assert convert_storage_to_markdown(storage) == markdown


def test_an_edit_keeps_its_neighbours_byte_for_byte() -> None:
    odd = "<p class='x'>a&nbsp;b</p>\n<ac:structured-macro ac:macro-id='1' ac:name='toc' />"
    storage = f"{odd}<p>old</p>  {odd}"
    pieces = divide_storage(storage)
    edited = join_pieces(pieces).replace("old", "**new**")
    assert replace_markdown(pieces, edited) == f"{odd}<p><strong>new</strong></p>{odd}"
    layout = SAME["layout"][0].replace("<p>a</p>", f"{odd}<p>old</p>{odd}")
    pieces = divide_storage(layout)
    assert replace_markdown(pieces, join_pieces(pieces).replace("old", "new")) == layout.replace("old", "new")


@pytest.mark.parametrize(
    ("old", "new"), [("b", "b\n\nc"), ("a\n\n", ""), ("\n\nb", ""), ("a\n\nb", ""), ("a", "a\n\na")]
)
def test_blocks_can_be_added_and_taken_away(old: str, new: str) -> None:
    edited = "a\n\nb".replace(old, new, 1)
    written = replace_markdown(divide_storage("<p>a</p><p>b</p>"), edited)
    assert convert_storage_to_markdown(written) == edited.strip()


@pytest.mark.parametrize(
    ("markdown", "told"),
    [
        (RAW("<p>"), "not well-formed"),
        (INLINE_RAW("<ac:layout>"), "keep it as it was read"),
        (RAW("<!DOCTYPE x [<!ENTITY a 'b'>]>&a;"), "not well-formed"),
        ("![a](c.png)", "attachment:"),
        ("x" * 500_001, "at most 500000"),
    ],
)
def test_markdown_that_confluence_would_not_take_is_refused(markdown: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        convert_markdown_to_storage(markdown)


@pytest.mark.parametrize(
    "storage",
    ["<p>", "<p></q>", "&bogus;", "<!DOCTYPE x>", "</x><x>", "<b>" * 100 + "</b>" * 100, "<p a=1/>", "<p\x00/>"],
)
def test_what_is_not_well_formed_or_too_deep_is_refused(storage: str) -> None:
    with pytest.raises(MalformedMarkupError):
        convert_storage_to_markdown(storage)


@pytest.mark.parametrize("unit", [*(storage for storage, _ in SAME.values()), "&lt;", "<p>*[`_</p>"])
def test_the_time_is_linear(unit: str) -> None:
    def run(storage: str) -> None:
        convert_markdown_to_storage(convert_storage_to_markdown(storage))

    times, seconds = ratio(run, Input("", unit, ""), whole_size=20_000)
    assert times <= MOST_RATIO, f"20 kB take {seconds:.3f} s, {times:.1f} times as long as half of it"


def test_quotes_in_quotes_are_read_in_linear_time() -> None:
    """Each quote was formatted twice, so that thirty within each other took hours."""
    levels = 50
    markdown = convert_storage_to_markdown("<blockquote>" * levels + "<p>x</p>" + "</blockquote>" * levels)
    assert markdown == "> " * levels + "x"


def test_lines_are_kept_within_what_markdown_cannot_say() -> None:
    rows = "<tr><td>a</td><td><p>b <em>c</em></p></td></tr><tr><td></td><td><p /></td></tr>"
    table = f'<table><tbody>{rows}<tr><td colspan="2">d</td></tr></tbody></table>'
    kept = table.replace("<p />", "<p/>").replace("<td></td>", "<td/>")
    assert convert_storage_to_markdown(table) == f"```{{=storage}}\n{kept}\n```"


@pytest.mark.parametrize(
    ("storage", "markdown"), [("<![CDATA[<p>a b</p>]]>", "`<p>a b</p>`"), ("<_/><p>a b</p>", "`a b`")]
)
def test_what_stands_for_a_line_is_never_shown(storage: str, markdown: str) -> None:
    """What looks like a line in a section without markup is text, and a document may have an element of the name."""
    shown = convert_storage_to_markdown(f"<p>first</p><p>x<code>{storage}</code></p><p>last</p>")
    assert shown == f"first\n\nx{markdown}\n\nlast"


def test_an_error_tells_the_place_in_the_document() -> None:
    with pytest.raises(MalformedMarkupError, match=r"line 1, column 23$"):
        convert_storage_to_markdown("<p>\u65e5\u672c\u8a9e</p><p>a</p></x>")


def count_calls(work: Callable[[], object]) -> int:
    """How many functions of Python a piece of work calls: the same on every machine."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def test_tables_in_tables_are_read_once() -> None:
    within = "<p>a <u>b</u></p>" * 200

    def nest(levels: int) -> str:
        return "<table><tbody><tr><td>" * levels + within + "</td></tr></tbody></table>" * levels

    few, many = (count_calls(partial(convert_storage_to_markdown, nest(levels))) for levels in (2, 14))
    assert many < 1.5 * few
    assert nest(14) in convert_storage_to_markdown(nest(14))


LISTS = {
    "<ul><li>a</li><li><p>b <del>c</del></p></li></ul>": "- a\n- b ~~c~~",
    '<ol local-id="1"><li local-id="2"><p>a</p><ul><li>b</li><li><p>c</p></li></ul></li><li>d</li></ol>':
        "1. a\n   - b\n   - c\n2. d",
    "<ul><li>a<ol><li>b</li></ol></li></ul><ul><li>c</li></ul>": "- a\n  1. b\n\n* c",
    '<ul><li><a href="https://e.test/">https://e.test/</a><ul><li>b</li></ul></li></ul>':
        "- <https://e.test/>\n\n  - b",
    "<ul><li>a<ul><li>b<ul><li>c</li></ul></li></ul></li></ul>": "- a\n  - b\n    - c",
    '<ul local-id="1"><li>say local-id="2" to it</li><li>b</li></ul>': '- say local-id="2" to it\n- b',
    "<ul>" + "<li>a word</li>" * 2_000 + "</ul>": "\n".join(["- a word"] * 2_000),
}  # fmt: skip


@pytest.mark.parametrize("storage", LISTS, ids=lambda storage: storage[:20])
def test_lists_of_lines_are_the_same_as_any_list(storage: str) -> None:
    """A list whose items are lines is read at once; one with a comment in it is not."""
    assert convert_storage_to_markdown(storage) == LISTS[storage]
    assert convert_storage_to_markdown(storage.replace("</li>", "<!-- --></li>")) == LISTS[storage]
    assert convert_html_to_markdown(storage) == LISTS[storage]
    piece = f"<table><tbody><tr><td>{storage}</td></tr></tbody></table>"
    kept = re.sub('(<[a-z]+) local-id="."', r"\1", piece)
    assert convert_storage_to_markdown(piece) == f"```{{=storage}}\n{kept}\n```"


def test_what_looks_like_an_attribute_stays_in_a_cell() -> None:
    row = '<tr><td local-id="1">set local-id="2" here</td><td><p local-id="3">b</p></td></tr>'
    markdown = convert_storage_to_markdown(f"<table><tbody>{row}</tbody></table>")
    assert markdown.endswith('| set local-id="2" here | b |')
