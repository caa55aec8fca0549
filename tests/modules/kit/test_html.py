"""HTML of strangers as Markdown, Markdown as HTML, and both together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.markup.html_writing import convert_markdown_to_html
from tests.linear.growth import MOST_RATIO, Input, ratio

SAME = [
    ("<p>Call <strong>Ada</strong></p>", "Call **Ada**"),
    ("<p><em><strong>x</strong></em> <del>y</del> <u>z</u></p>", "***x*** ~~y~~ <u>z</u>"),
    ("<p>「<strong>日本語</strong>」です</p>", "「**日本語**」です"),
    ("<p>שלום <strong>עולם</strong></p>", "שלום **עולם**"),
    ("<p>a*b_c `d` [e] &lt;f&gt; 1 &amp; 2</p>", "a\\*b_c \\`d\\` \\[e\\] \\<f> 1 & 2"),
    ("<p># x</p>", "\\# x"),
    ("<p>1. x</p>", "1\\. x"),
    ("<p>a<br/>b</p>", "a<br>b"),
    ('<p><a href="https://x.test/a?b=1&amp;c=2">l</a></p>', "[l](https://x.test/a?b=1&c=2)"),
    ('<p><a href="https://x.test/">https://x.test/</a></p>', "<https://x.test/>"),
    ('<p><a href="https://x.test/a b">l</a></p>', "[l](<https://x.test/a b>)"),
    ('<p><img src="https://x.test/i.png" alt="an [x]"/></p>', "![an \\[x\\]](https://x.test/i.png)"),
    ("<p><code>a`b</code></p>", "``a`b``"),
    ("<h2>T</h2>", "## T"),
    ("<h6>T #</h6>", "###### T \\#"),
    ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
    ('<ol start="3"><li>a</li><li>b</li></ol>', "3. a\n4. b"),
    ("<ul><li>a</li></ul><ul><li>b</li></ul>", "- a\n\n* b"),
    ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
    ('<pre><code class="language-py">x = "`"\n\ny</code></pre>', '```py\nx = "`"\n\ny\n```'),
    ("<hr/>", "---"),
    (
        "<table><tbody><tr><th>a|b</th><th>c</th></tr><tr><td>1<br/>2</td><td></td></tr></tbody></table>",
        "| a\\|b | c |\n| --- | --- |\n| 1<br>2 |  |",
    ),
    ('<p><span style="color: red;">x</span></p>', '<span color="red">x</span>'),
]


@pytest.mark.parametrize(("html", "markdown"), SAME)
def test_what_both_can_say_goes_both_ways(html: str, markdown: str) -> None:
    assert convert_html_to_markdown(html) == markdown
    assert convert_markdown_to_html(markdown) == html


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("a<!-- hid -->b", "ab"),
        ("a<!-- hid", "a"),
        ("a<script>hid</script><style>hid</style>b", "ab"),
        ('a<p style="color:red; DISPLAY : none">hid</p>', "a"),
        ('a<i hidden>hid</i><b style="font-size:0px">hid</b>', "a"),
        ('<span style="font-size:0.9em">shown</span>', "shown"),
        ('<p title="hid" data-x="hid">a</p>', "a"),
        ("a\u200b\U000e0041&#8203;b", "ab"),
        ('<a href="javascript:hid()">a</a>', "a"),
        ('a<img src="data:image/png;base64,hid">', "a"),
        ("a <b>x </b>b", "a **x** b"),
        ("<b>a</b><b>b</b>", "**ab**"),
        ("<b>a<i>b</i></b><i>c</i>", "**a*b**c*"),
        ("<p>a<p>b<ul><li>c<li>d</ul>", "a\n\nb\n\n- c\n- d"),
        ("<div>a<div>b</div></div>", "a\n\nb"),
        ("a < b && c <3", "a < b && c <3"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "| a | b |\n| --- | --- |\n| c |  |"),
        ("wow!<a href=https://x.test>l</a>", "wow\\![l](https://x.test)"),
        ("&bogus; &#99999999999; &amp;lt;", "\\&bogus; \\&#99999999999; \\&lt;"),
        ("", ""),
    ],
)
def test_html_of_any_kind_is_read_as_it_is_shown(html: str, markdown: str) -> None:
    assert convert_html_to_markdown(html) == markdown


def test_line_feeds_of_plain_text_are_kept_where_asked() -> None:
    assert convert_html_to_markdown("a\r\nb\nc", keep_line_breaks=True) == "a<br>b<br>c"
    assert convert_html_to_markdown("a\nb") == "a b"


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a\nb", "<p>a b</p>"),
        ("a  \nb\\\nc", "<p>a<br/>b<br/>c</p>"),
        ("T\n=", "<h1>T</h1>"),
        ("- [ ] a\n- [x] b", "<ul><li>☐ a</li><li>☑ b</li></ul>"),
        ("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>"),
        ("[a](javascript:x)", "<p>a</p>"),
        ("[a](JavaScript&#58;x)", "<p>a</p>"),
        ('[a](<"x>)', '<p><a href="&quot;x">a</a></p>'),
        ("*a **b* c**", "<p><em>a <strong>b</strong></em><strong> c</strong></p>"),
        ("[a [b](https://x.test) c](https://y.test)", '<p>[a <a href="https://x.test">b</a> c](https://y.test)</p>'),
        ("a\x00\ud800b", "<p>ab</p>"),
        ("    code", "<pre><code>code</code></pre>"),
        (
            "| a |\n| --- |\n| b | c |",
            "<table><tbody><tr><th>a</th><th></th></tr><tr><td>b</td><td>c</td></tr></tbody></table>",
        ),
    ],
)
def test_markdown_is_written_as_safe_html(markdown: str, html: str) -> None:
    assert convert_markdown_to_html(markdown) == html


WORDS = st.text(st.sampled_from("ab *_~`[]()<>&!#-+.1|\\\"'{}=:/日ש\xa0"), max_size=12)
INLINE = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["strong", "em", "del", "u", "sub"]), st.lists(inner, max_size=3)).map(
            lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
        ),
        WORDS.map(lambda text: f"<code>{text}</code>"),
    ),
    max_leaves=8,
)
PARAGRAPH = st.lists(INLINE, max_size=4).map(lambda parts: f"<p>{''.join(parts)}</p>")
BLOCK = st.recursive(
    PARAGRAPH,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["ul", "ol"]), st.lists(st.lists(inner, max_size=3), max_size=3)).map(
            lambda pair: f"<{pair[0]}>{''.join(f'<li>{chr(0).join(one)}</li>' for one in pair[1])}</{pair[0]}>".replace(
                "\0", ""
            )
        ),
        st.lists(inner, max_size=3).map(lambda parts: f"<blockquote>{''.join(parts)}</blockquote>"),
        st.just("<hr/>"),
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(BLOCK, max_size=4).map("".join))
def test_what_was_read_and_written_is_read_as_the_same(html: str) -> None:
    markdown = convert_html_to_markdown(html)
    assert convert_html_to_markdown(convert_markdown_to_html(markdown)) == markdown


@pytest.mark.parametrize(
    "unit",
    ["<", "</", "<!--", "<!", "<a ", '<a "', "<a b='", "<p>", "<div>", "<b>", "<li><ul>", "<td>", "&", "&#", "&#9",
     "<script>", "<blockquote>x", "*", "**a", "`", "[", "](", "[a](", "<u>", "_a", "~~", "![", "\\",
     "| ", "- ", "> ", "[[a](b)"],
)  # fmt: skip
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def run(text: str) -> None:
        convert_html_to_markdown(text)
        convert_markdown_to_html(text)

    times, seconds = ratio(run, Input("", unit, ""), whole_size=20_000)
    assert times <= MOST_RATIO, f"20 kB take {seconds:.3f} s, {times:.1f} times as long as half of it"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<pre><p>a <b>c</b></p></pre>", "```\na c\n```"),
        ("<h2><li>a <b>c</b> d</li></h2>", "## a **c** d"),
        ('<a href="https://x.test/"><p>a <i>c</i></p></a>', "a *c*"),
        ("<pre><table><tr><td>a</td><td><p>b <i>c</i></p></td></tr></table></pre>", "```\nab c\n```"),
    ],
)
def test_a_line_is_a_tree_for_who_asks(html: str, markdown: str) -> None:
    assert convert_html_to_markdown(html) == markdown
