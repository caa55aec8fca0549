"""Where a page may send a browser."""

import pytest
from starlette.requests import Request

from broker.web.pages import Pages

REQUEST = Request({"type": "http", "headers": []})


@pytest.mark.parametrize(
    "url", ["https://claude.ai/cb?code=a&state=b", "http://127.0.0.1:1/cb", "cursor://x/cb", "com.example.app:/cb"]
)
def test_going_on(url: str) -> None:
    text = bytes(Pages().render_forward_page(REQUEST, url).body).decode()
    escaped = url.replace("&", "&amp;")
    assert f'<meta http-equiv="refresh" content="0; url={escaped}">' in text
    assert f'href="{escaped}"' in text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "/relative",
        "file:///etc/passwd",
        "java\nscript:x",
        "https://a b/",
    ],
)
def test_never_going_on(url: str) -> None:
    with pytest.raises(ValueError, match="not for a browser"):
        Pages().render_forward_page(REQUEST, url)
