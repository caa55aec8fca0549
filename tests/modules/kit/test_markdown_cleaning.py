"""What a reader of the rendered Markdown does not see never reaches a model; markdown-it renders it for comparison."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import table

from modules.kit.markup.markdown_cleaning import clean_markdown
from modules.kit.results import ResultModel

TAG_CHARACTERS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain *text*, [a link](https://a.test/b)", "plain *text*, [a link](https://a.test/b)"),
        ("a <!-- x --> b", "a  b"),
        ("<!-- \nhid\n\nden -->\nshown", "\nshown"),
        ("- <!-- x -->\n  text", "-\n  text"),
        ("> a <!-- b\n> c --> d\n> e", "> a \n>  d\n> e"),
        ("a <!--\nb\nc --> d\ne", "a \n d\ne"),
        ("text <!-- is shown, as it is not closed", "text <!-- is shown, as it is not closed"),
        ("<!-- is not", ""),
        ("a <? x ?>b<!X y>c<![CDATA[ z ]]>d", "a bcd"),
        ('<img src="https://a.test/b.png" alt="hid" title=\'x\'>', '<img src="https://a.test/b.png">'),
        ('see <a href=/x title="hid">t</a>', 'see <a href="/x">t</a>'),
        ("<p hidden style='display:none'>\ntext\n</p>", "<p>\ntext\n</p>"),
        ('[a](u "hid") ![alt](u \'hid\') [b](<u v> (hid))', "[a](u) ![alt](u) [b](<u v>)"),
        ('[a [b](u "hid") c](v "shown")', '[a [b](u) c](v "shown")'),
        ('no link](u "shown")', 'no link](u "shown")'),
        ('[r][One] [b]\n\n[one]: x "hid"\n[b]: y\n[c]: # (hid)', "[r][One] [b]\n\n[one]: x\n[b]: y"),
        ("[//]: # (hid)\ntext", "text"),
        ("text\n[//]: # (shown)", "text\n[//]: # (shown)"),
        ("a[^1]\n\n[^1]: shown\n[^2]: hid\n    hid\n\n[^3]: hid [^3]", "a[^1]\n\n[^1]: shown"),
        ("```js hid `\nx <!-- y -->\n```", "```js hid `\nx \n```"),
        ("```js hid\nx <!-- y -->\n```\n<!-- z -->", "```js\nx <!-- y -->\n```\n"),
        ("~~~ {.hid}\n<!-- y -->", "~~~\n<!-- y -->"),
        ("1. a\n\n   ```py hid\n   <!-- c -->\n   ```", "1. a\n\n   ```py\n   <!-- c -->\n   ```"),
        ("    <!-- code -->\n\n\t<!-- code -->", "    <!-- code -->\n\n\t<!-- code -->"),
        ("`<!-- code -->` ``<b title='`'>``", "`<!-- code -->` ``<b title='`'>``"),
        ("`no code <!-- hid -->", "`no code "),
        ("\\<!-- shown -->", "\\<!-- shown -->"),
        ("| a | b |\n|--|--|\n| `x | <!-- hid --> ` |", "| a | b |\n|--|--|\n| `x |  ` |"),
        ("a | b\n-|-\nc | d | hid\ne \\| f | g |", "a | b\n-|-\nc | d \ne \\| f | g |"),
        ("<https://a.test/!--> <a@b.test>", "<https://a.test/!--> <a@b.test>"),
        ("a&#8203;&#x200B;&#xE0041;b &#65; &amp;", "ab &#65; &amp;"),
        (f"a{TAG_CHARACTERS}<\u200b!-- x -->\u202e", "a"),
        # A browser reads on where a block of HTML leaves a quote or a comment open.
        ('<div title="a\n\nhid\n\n<p>x" >shown', "\n\n\n\nshown"),
        ("<div><!--\n\nhid -->\n\n<p>--> shown", "<div>\n\n\n\n shown"),
        ("a<i title='hid\nhid' >b", "a<i>\nb"),
        ("> a | b\n-|-\nc | d | shown", "> a | b\n-|-\nc | d | shown"),
        ("a | b\n-|-\n1. \n    <!-- hid -->", "a | b\n-|-\n1. \n"),
        ("a<b>b</b> <obey-this-order>c", "a<b>b</b> c"),
    ],
)  # fmt: skip
def test_what_a_reader_does_not_see_is_taken_out(text: str, shown: str) -> None:
    assert clean_markdown(text) == shown


@pytest.mark.parametrize("end", ["<!-- hid", "<a title='hid", "<?hid", "<![CDATA[hid", "<a hid"])
def test_what_is_not_closed_in_a_text_that_was_cut_may_be_hidden(end: str) -> None:
    assert clean_markdown(f"shown {end}") == f"shown {end}"
    assert clean_markdown(f"shown {end}", is_cut=True) == "shown "


class _Reader(HTMLParser):
    """What a reader sees of HTML: its text and the addresses; and the alternative texts of images."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self.alternative: list[str] = []

    def handle_data(self, data: str) -> None:
        self.seen.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.seen += [f" {named.get(name) or ''} " for name in ("href", "src")]
        self.alternative += [f" {named.get(name) or ''} " for name in ("alt", "class")]


# GitHub's parser looks for quotes, items and HTML first; markdown-it looks for a table first, and would read `> a | b`
# as the head of one whose rule, in the next line, is in no quote.
RENDERER = MarkdownIt("commonmark")
RENDERER.block.ruler.after("heading", "gfm_table", table, {"alt": ["paragraph", "reference"]})


def read(markdown: str) -> tuple[set[str], set[str]]:
    """The words that a reader sees, and those that stand for images and languages."""
    reader = _Reader()
    html = RENDERER.render(markdown)
    reader.feed(re.sub(r"<!--.*?(?:-->|\Z)", "", html, flags=re.DOTALL))  # an open comment hides the rest, in a browser
    reader.close()
    return find_words("".join(reader.seen)), find_words("".join(reader.alternative))


def find_words(text: str) -> set[str]:
    return set(re.findall(r"w[0-9]+w", text))


# Every word of a text is another one, so that each can be looked for.
PIECES: tuple[str, ...] = (
    "W", "W W", "W\n", "\n", "\n\n", "> ", "- ", "  ", "    ", "1. ", "# W\n", "```W W\n", "```\n", "~~~\n", "`", "``",
    "<!-- W -->", "-->", "<!-- W\nW -->", '<b title="W">', "<b>W</b>", "<i title='W'>", '<a href="W" title="W">',
    "\n<div>\n", "</div>", "<? W ?>", "<!X W>", '[W](W "W")', "![", "[W](W)", "[", "]", '](W "W")', '[W]: W "W"\n\n',
    "[W]: W\n\n", "\\", "*", "_", "\n---\n", "\n===\n", "\t", "| W | W |\n|-|-|\n", "| W | W", "\n* W\n", "<W:W>",
    "&lt;", "&#8203;", "(W)",
)  # fmt: skip


def number(pieces: Sequence[str]) -> str:
    count = iter(range(100_000))
    return re.sub("W", lambda _: f"w{next(count)}w", "".join(pieces))


INDENTED_QUOTE = re.compile(r"^[ \t]*(?: {4}|\t)[ \t]*>", re.MULTILINE)
"""Code for CommonMark; a quote that goes on for markdown-it."""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map(number))
def test_a_model_reads_what_a_reader_sees_and_no_more(text: str) -> None:
    assume(not INDENTED_QUOTE.search(text))
    cleaned = clean_markdown(text)
    seen, alternative = read(text)
    unseen = find_words(" ".join(re.findall(r"\]\[[^\]]*\]|\[[^\]]*\]:|\]\([^()]*\)", cleaned)))  # labels and addresses
    assert seen <= find_words(cleaned) <= seen | alternative | unseen


class Bodied(ResultModel):
    longest = {"body": 100}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    body: str = ""
    note: str = ""
    truncated: bool = False


def test_a_field_that_is_declared_as_markdown_is_cleaned_before_it_is_cut() -> None:
    found = Bodied.model_validate({"body": "<!-- " + "x" * 5000 + " -->\nshown", "note": "<!-- kept -->"})
    assert (found.body, found.note, found.truncated) == ("\nshown", "<!-- kept -->", False)


def test_a_comment_that_is_longer_than_what_is_looked_at_stays_hidden() -> None:
    found = Bodied.model_validate({"body": "shown <!-- " + "x" * 50_000 + " --> more"})
    assert (found.body, found.truncated) == ("shown ", True)


def test_a_field_that_is_never_cut_is_cleaned_too() -> None:
    class Whole(ResultModel):
        markdown_fields = frozenset({"body"})
        body: str

    assert Whole.model_validate({"body": "a<!-- b -->"}).body == "a"
