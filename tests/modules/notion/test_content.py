"""Notion's blocks and rich text as Markdown, and back: nothing is lost on the way."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.notion.block_formatting import format_blocks
from modules.notion.block_parsing import parse_markdown
from modules.notion.rich_text import format_rich_text, make_plain_text, parse_rich_text


def answered(value: Any) -> Any:
    """What was sent as Notion answers it: rich texts with what it derives."""
    if isinstance(value, list):
        return [answered(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: answered(one) for name, one in value.items()}
    match found.get("type"):
        case "text":
            found |= {"plain_text": found["text"]["content"], "href": (found["text"].get("link") or {}).get("url")}
        case "mention":
            found |= {"plain_text": "somebody", "href": None}
        case "equation" if "expression" in found.get("equation", {}) and "children" not in found:
            found |= {"plain_text": found["equation"]["expression"], "href": None}
        case _:
            pass
    return found


ADA, PLAN = "0" * 31 + "a", "00000000-0000-0000-0000-00000000000b"
EVERYTHING = """# One

## [>] A toggle

##### Deep

para **bold** *it* ***both*** `co|de` ~~x~~ <u>u</u> <span color="red">r</span> [l](https://a.test/c_(d)) $x^2$ a_b
next line {color="blue_background"}

- a
- b
  - c

    para in c

1. one
2. two

- [ ] to do
- [x] done
- [>] toggle
  > quote in it

> quote
> - item in quote

> [!💡] callout

| a | b |
| --- | --- |
| 1 \\| 2 | **x** |

```py
x = "```"
```

```math
a
= b
```

![cap](https://a.test/i.png)

[video: v](https://a.test/v.mp4)

[bookmark](https://a.test/)

---

[@Ada](mention:user:ADA) [P](mention:page:PLAN) [d](mention:date:2026-01-01T09:00:00/2026-01-02@Asia/Tokyo)

<br>

```notion
{"type":"column_list","column_list":{"children":[]}}
```
""".replace("ADA", ADA).replace("PLAN", PLAN)


def test_every_kind_of_block_comes_back() -> None:
    blocks = parse_markdown(EVERYTHING)
    assert [block["type"] for block in blocks] == [
        "heading_1", "heading_2", "heading_4", "paragraph", "bulleted_list_item", "bulleted_list_item",
        "numbered_list_item", "numbered_list_item", "to_do", "to_do", "toggle", "quote", "callout", "table", "code",
        "equation", "image", "video", "bookmark", "divider", "paragraph", "paragraph", "column_list",
    ]  # fmt: skip
    assert parse_markdown(format_blocks(answered(blocks))) == blocks


CODE = {"language": "plain text", "rich_text": make_plain_text("x")}


@pytest.mark.parametrize(
    ("markdown", "kind", "content"),
    [
        ("- [x] a", "to_do", {"checked": True, "rich_text": [{"type": "text", "text": {"content": "a"}}]}),
        ("> [!NOTE]\n> a", "callout", {"rich_text": parse_rich_text("**Note** a")}),
        ("```foo\nx\n```", "code", {**CODE, "caption": make_plain_text("foo")}),
        ("    x", "code", CODE),
        ("$$\nx\n$$", "equation", {"expression": "x"}),
        ("a\n=", "heading_1", {"rich_text": make_plain_text("a")}),
        ("# a #", "heading_1", {"rich_text": make_plain_text("a")}),
        ("2 ** 3 and **open", "paragraph", {"rich_text": make_plain_text("2 ** 3 and **open")}),
        ("<https://a.test/>", "paragraph", {"rich_text": parse_rich_text("[https://a.test/](https://a.test/)")}),
        ("は**「語」**です", "paragraph", {"rich_text": parse_rich_text("は<b>「語」</b>です")}),
        ("<sub>2</sub> &amp;", "paragraph", {"rich_text": make_plain_text("<sub>2</sub> &")}),
        ("a_b_c __d__", "paragraph", {"rich_text": parse_rich_text("a\\_b_c **d**")}),
    ],
)  # fmt: skip
def test_what_a_model_may_write(markdown: str, kind: str, content: dict[str, Any]) -> None:
    assert parse_markdown(markdown) == [{"type": kind, kind: content}]


@pytest.mark.parametrize(
    ("markdown", "reason"),
    [
        ('```notion\n{"type":"child_page","child_page":{}}\n```', "cannot be made of Markdown: create the page"),
        ('```notion\n{"id":"1","type":"column","column":{}}\n```', "has children that are not in it"),
        ("```notion\nnothing\n```", "holds no JSON"),
        ("```notion\n[]\n```", "holds no block"),
        ("![x](https://prod-files-secure.s3.us-west-2.amazonaws.com/a)", "Notion's own storage"),
        ("![x](file.png)", "begins with https://"),
        ("```math\n" + "x" * 1001 + "\n```", "1001 characters"),
        ("**a** b " * 60, "divide it"),
        ("x" * 500_001, "500000"),
    ],
)  # fmt: skip
def test_what_notion_does_not_take_is_said(markdown: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        parse_markdown(markdown)


@pytest.mark.parametrize(
    "kind", ["breadcrumb", "table_of_contents", "synced_block", "child_page", "unsupported", "tab"]
)
def test_what_markdown_cannot_say_stays(kind: str) -> None:
    text = format_blocks([{"object": "block", "id": "b1", "type": kind, "has_children": True, kind: {"x": None}}])
    assert text == f'```notion\n{{"id":"b1","type":"{kind}","{kind}":{{"x":null}}}}\n```'


def test_a_long_text_is_divided_as_notion_counts() -> None:
    [block] = parse_markdown("😀" * 1500)
    pieces = [item["text"]["content"] for item in block["paragraph"]["rich_text"]]
    assert [len(piece) for piece in pieces] == [1000, 500]


def test_invisible_characters_are_taken_out() -> None:
    item = {"type": "text", "plain_text": "a\u200b\u202eb", "annotations": {}}
    assert format_rich_text([item]) == "ab"


def test_two_mentions_beside_each_other_stay_two() -> None:
    ada = f"[@Ada](mention:user:{ADA})"
    items = answered(parse_rich_text(ada + ada))
    assert len(items) == 2
    assert parse_rich_text(format_rich_text(items)) == parse_rich_text(ada + ada)


FLAGS = ("bold", "italic", "strikethrough", "underline", "code")
WORDS = st.text("aB1 .,;*_~`$[]()<>{}|\\#-+!&\n日", min_size=1, max_size=8)


@st.composite
def rich_texts(draw: st.DrawFn) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for text in draw(st.lists(WORDS, min_size=1, max_size=5)):
        flags = dict.fromkeys(draw(st.sets(st.sampled_from(FLAGS), max_size=2)), True)
        link = {"link": {"url": "https://a.test/x_(y)"}} if draw(st.integers(0, 5)) == 0 else {}
        made.append({"type": "text", "text": {"content": text, **link}, "annotations": flags})
    return answered(made)


def seen(items: list[dict[str, Any]]) -> list[tuple[str, frozenset[str], str]]:
    """Each character that is seen, with its marks: those of a space that show nothing are left out."""
    found: list[tuple[str, frozenset[str], str]] = []
    for item in items:
        flags = frozenset(name for name in FLAGS if item.get("annotations", {}).get(name))
        link = (item["text"].get("link") or {}).get("url", "")
        found += [
            (one, flags, link) if not one.isspace() else (one, frozenset[str](), "") for one in item["text"]["content"]
        ]
    return found


@settings(max_examples=100, deadline=None)
@given(rich_texts())
def test_any_rich_text_comes_back(items: list[dict[str, Any]]) -> None:
    assert seen(parse_rich_text(format_rich_text(items))) == seen(items)


@given(st.text("aB1 .*_~`[]()<>{}|\\#-+!\n>", max_size=60))
def test_no_letter_of_any_markdown_is_lost(text: str) -> None:
    made = "".join(
        item["text"]["content"] + item["text"].get("link", {}).get("url", "") for item in parse_rich_text(text)
    )
    assert [one for one in text if one.isalnum()] == [one for one in made if one.isalnum()]


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_a_paragraph_of_anything_stays_one_paragraph(words: list[str]) -> None:
    text = " ".join("".join(words).split())
    block = {"type": "paragraph", "paragraph": {"rich_text": answered(make_plain_text(text))}}
    made = parse_markdown(format_blocks([block]))
    assert [("".join(one["text"]["content"] for one in each["paragraph"]["rich_text"])) for each in made] == [text]
