"""Names that somebody else chose cannot pass for anything but a name."""

import pytest

from broker.identity.browser_names import get_browser_name
from broker.web.i18n import describe_destination, isolate_name, render_contact

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
)


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("Claude Code", "Claude Code"),
        ("<script>", "&lt;script&gt;"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("two\n\nlines\tand\u2003blanks ", "two lines and blanks"),
        ("\x00\x1b[31m", "[31m"),
        ("\U000e0041tag", "tag"),
        ("日本語のクライアント", "日本語のクライアント"),
        ("x" * 500, "x" * 119 + "…"),
        ("", ""),
    ],
)
def test_shown(name: str, seen: str) -> None:
    assert isolate_name(name) == f"<bdi>{seen}</bdi>"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "claude.ai"),
        ("http://127.0.0.1:33418/callback", "127.0.0.1:33418"),
        ("http://[::1]:1/", "[::1]:1"),
        ("cursor://anysphere.cursor-mcp/oauth", "cursor:"),
        ("com.example.app:/done", "com.example.app:"),
    ],
)
def test_where_an_answer_goes(url: str, place: str) -> None:
    assert describe_destination(url) == place


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (CHROME, "Chrome, Windows"),
        (CHROME + " Edg/142.0", "Edge, Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox, Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/1 Safari/604.1", "Safari, iPhone"),
        ("Mozilla/5.0 something", ""),
        ("curl/8.1 (x)", "curl/8.1"),
        ("", ""),
    ],
)
def test_what_a_browser_calls_itself(agent: str, name: str) -> None:
    assert get_browser_name(agent) == name


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("it@acme.example", '<a href="mailto:it@acme.example">it@acme.example</a>'),
        ("https://help.acme.example/?a=1&b=2",
         '<a href="https://help.acme.example/?a=1&amp;b=2" rel="noreferrer">https://help.acme.example/?a=1&amp;b=2</a>'),
        ("Ada, room 5", "<bdi>Ada, room 5</bdi>"),
        ("http://help.acme.example", "<bdi>http://help.acme.example</bdi>"),
        ("javascript:alert(1)", "<bdi>javascript:alert(1)</bdi>"),
        ("https://x.example/ <b>", "<bdi>https://x.example/ &lt;b&gt;</bdi>"),
        ('https://x.example/"onclick="x',
         '<a href="https://x.example/&#34;onclick=&#34;x" rel="noreferrer">https://x.example/&#34;onclick=&#34;x</a>'),
        ("a@b.example?subject=x", "<bdi>a@b.example?subject=x</bdi>"),
    ],
)  # fmt: skip
def test_whom_to_ask_is_a_link_where_it_can_be_one(text: str, html: str) -> None:
    assert render_contact(text) == html
