"""Redirect URIs and what becomes of them; the same table is put to another authorization server.

`provider` is the verdict of npm `oidc-provider` where it differs from ours, with the reason beside it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """What a client has registered, what it asks for, and whether an answer may go there."""

    registered: str
    asked: str
    allowed: bool
    provider: bool | None = None

    @property
    def provider_allows(self) -> bool:
        return self.allowed if self.provider is None else self.provider


@dataclass(frozen=True, slots=True)
class Registered:
    """What a native (or, where `web`, a web) client wants to register, and whether it may."""

    uri: str
    allowed: bool
    provider: bool | None = None
    web: bool = False

    @property
    def provider_allows(self) -> bool:
        return self.allowed if self.provider is None else self.provider


WEB = "https://app.example.com/cb"
LOOP4, LOOP6, LOOPN = "http://127.0.0.1/cb", "http://[::1]/cb", "http://localhost/cb"
APP = "com.example.app:/cb"

PAIRS = (
    Pair(WEB, WEB, True),
    Pair(WEB, "https://app.example.com/cb/", False),
    Pair(WEB, "https://app.example.com/cB", False),
    Pair(WEB, "https://app.example.com/cb?x=1", False),
    Pair(WEB, "https://app.example.com/cb#", False),
    Pair(WEB, "https://app.example.com/cb#x", False),
    Pair(WEB, "https://app.example.com:443/cb", False),
    Pair(WEB, "https://app.example.com:8443/cb", False),
    Pair(WEB, "https://APP.example.com/cb", False),
    Pair(WEB, "HTTPS://app.example.com/cb", False),
    Pair(WEB, "http://app.example.com/cb", False),
    Pair(WEB, "https://app.example.com./cb", False),
    Pair(WEB, "https://evil.example/cb", False),
    Pair(WEB, "https://app.example.com.evil.example/cb", False),
    Pair(WEB, "https://app.example.com@evil.example/cb", False),
    Pair(WEB, "https://user@app.example.com/cb", False),
    Pair(WEB, "https://app.example.com/x/../cb", False),
    Pair(WEB, "https://app.example.com/./cb", False),
    Pair(WEB, "https://app.example.com/%63b", False),
    Pair(WEB, "https://app.example.com\\cb", False),
    Pair(WEB, "https:/app.example.com/cb", False),
    Pair(WEB, "//app.example.com/cb", False),
    Pair(WEB, " https://app.example.com/cb", False),
    Pair(WEB, "https://app.example.com/cb\r\nX: y", False),
    Pair(WEB, "https://app.example.com/cb\x00", False),
    Pair(WEB, "https://app．example.com/cb", False),
    Pair(WEB, "javascript:alert(1)", False),
    Pair(WEB, "", False, provider=True),  # it takes the only one that is registered
    Pair("https://app.example.com/cb?a=1", "https://app.example.com/cb?a=1", True),
    Pair("https://app.example.com/cb?a=1", "https://app.example.com/cb?a=1&b=2", False),
    Pair("https://app.example.com:8443/cb", "https://app.example.com:8443/cb", True),
    Pair("https://app.example.com:8443/cb", "https://app.example.com:9443/cb", False),
    Pair(LOOP4, LOOP4, True),
    Pair(LOOP4, "http://127.0.0.1:1/cb", True),
    Pair(LOOP4, "http://127.0.0.1:65535/cb", True),
    Pair(LOOP4, "http://127.0.0.1:65536/cb", False),
    Pair(LOOP4, "http://127.0.0.1:99999/cb", False),
    Pair("http://127.0.0.1:8080/cb", "http://127.0.0.1:54321/cb", True),
    Pair("http://127.0.0.1:8080/cb", LOOP4, True),
    Pair("http://127.0.0.1:8080/cb?x=1", "http://127.0.0.1:9/cb?x=1", True),
    Pair("http://127.0.0.1:8080/cb?x=1", "http://127.0.0.1:9/cb?x=2", False),
    Pair(LOOP4, "http://127.0.0.1:8080/other", False),
    Pair(LOOP4, "http://127.0.0.1:8080/cb/", False),
    Pair(LOOP4, "http://127.0.0.1:8080/cb?x", False),
    Pair(LOOP4, "http://127.0.0.1:8080/cb#x", False),
    Pair(LOOP4, "https://127.0.0.1:8080/cb", False),
    Pair(LOOP4, "http://localhost:8080/cb", False),
    Pair(LOOP4, "http://[::1]:8080/cb", False),
    Pair(LOOP4, "http://127.0.0.2:8080/cb", False),
    Pair(LOOP4, "http://127.0.0.1.evil.example:8080/cb", False),
    Pair(LOOP4, "http://127.0.0.1:80@evil.example/cb", False),
    Pair(LOOP4, "http://evil.example:8080/cb", False),
    Pair(LOOP4, "http://127.0.0.1:x/cb", False),
    Pair(LOOP6, "http://[::1]:50000/cb", True),
    Pair(LOOP6, "http://[::2]:50000/cb", False),
    Pair(LOOPN, "http://localhost:50000/cb", True),
    Pair(LOOPN, "http://127.0.0.1:50000/cb", False),
    Pair(LOOPN, "http://localhost.evil.example:50000/cb", False),
    Pair(LOOPN, "http://localhost.:50000/cb", False),
    Pair(APP, APP, True),
    Pair(APP, "com.example.app:/other", False),
    Pair(APP, "com.example.app://cb", False),
    Pair("com.example.app://host/cb", "com.example.app://host:99/cb", False),
    # Spelled in another way, but the same to a URL parser.
    Pair(LOOP4, "http://127.0.0.1:8080/./cb", False),
    Pair(LOOP4, "http://127.0.0.1:8080/x/../cb", False),
    Pair(LOOP4, "http://127.0.0.1:08080/cb", False, provider=True),  # it reads the port as a number
    Pair(LOOP4, "http://127.1:8080/cb", False),
    Pair(LOOP4, "http://2130706433:8080/cb", False),
    Pair(LOOP4, "HTTP://127.0.0.1:8080/cb", False),
    Pair(LOOP4, "http:\\\\127.0.0.1:8080\\cb", False),
    Pair(LOOP6, "http://[0:0:0:0:0:0:0:1]:8080/cb", False),
    Pair(LOOPN, "http://LOCALHOST:8080/cb", False),
)

# What it takes and we do not: another parser, or a person, may read it in another way, or the scheme has no dot.
LAXER = True

REGISTRATIONS = (
    Registered(WEB, True, web=True),
    Registered("https://app.example.com", True, web=True),
    Registered("https://app.example.com?x=1", True, web=True),
    Registered("https://app.example.com:8443/cb?x=%20y", True, web=True),
    Registered("https://xn--bcher-kva.example/cb", True, web=True),
    Registered("https://[2001:db8::1]/cb", True, web=True),
    Registered(LOOP4, True),
    Registered(LOOP6, True),
    Registered(LOOPN, True),
    Registered("http://127.0.0.1:33418/", True),
    Registered("http://127.0.0.1", True),
    Registered(APP, True),
    Registered("com.example.app://oauth/cb", True),
    Registered("", False),
    Registered("cb", False),
    Registered("/cb", False),
    Registered("//app.example.com/cb", False),
    Registered("https:///cb", False, provider=LAXER, web=True),
    Registered("https:app.example.com/cb", False, provider=LAXER, web=True),
    Registered("https:/app.example.com/cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/cb#x", False, web=True),
    Registered("https://app.example.com/cb#", False, web=True),
    Registered("com.example.app:/cb#x", False),
    Registered("https://user@app.example.com/cb", False, provider=LAXER, web=True),
    Registered("https://user:pw@app.example.com/cb", False, provider=LAXER, web=True),
    Registered("com.example.app://user@host/cb", False, provider=LAXER),
    Registered("https://app.example.com:0/cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com:65536/cb", False, web=True),
    Registered("https://app.example.com:port/cb", False, web=True),
    Registered("https://app.example.com/../cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/%2e%2E/cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/%252e%252e/cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/a%2f..%2fcb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/a/./cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com\\cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/a%5ccb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/a b", False, provider=LAXER, web=True),
    Registered("https://app.example.com/%zz", False, provider=LAXER, web=True),
    Registered("https://app.example.com/%0d%0aX:y", False, provider=LAXER, web=True),
    Registered("https://app.example.com/%00", False, provider=LAXER, web=True),
    Registered("https://app.example.com/cb\r\n", False, provider=LAXER, web=True),
    Registered("https://app.example.com/\tcb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/<script>", False, provider=LAXER, web=True),
    Registered('https://app.example.com/"', False, provider=LAXER, web=True),
    Registered("https://bücher.example/cb", False, provider=LAXER, web=True),
    Registered("https://app．example．com/cb", False, provider=LAXER, web=True),
    Registered("HTTPS://app.example.com/cb", False, provider=LAXER, web=True),
    Registered("https://app.example.com/" + "a" * 2000, False, provider=LAXER, web=True),
    Registered("http://app.example.com/cb", False),
    Registered("http://192.168.0.1/cb", False),
    Registered("http://127.0.0.2/cb", False),
    Registered("http://127.1/cb", False, provider=LAXER),
    Registered("http://0.0.0.0/cb", False),
    Registered("http://localhost.evil.example/cb", False),
    Registered("http://127.0.0.1:0/cb", False, provider=LAXER),
    Registered("http://127.0.0.1:99999/cb", False),
    Registered("http://127.0.0.1@evil.example/cb", False),
    Registered("javascript:alert(1)", False),
    Registered("javascript://app.example.com/%0aalert(1)", False),
    Registered("JavaScript:alert(1)", False),
    Registered("java\tscript:alert(1)", False),
    Registered("data:text/html,x", False),
    Registered("file:///etc/passwd", False),
    Registered("vbscript:x", False),
    Registered("blob:https://app.example.com/x", False),
    Registered("view-source:https://app.example.com/x", False, provider=LAXER),
    Registered("about:blank", False),
    Registered("ftp://app.example.com/cb", False, provider=LAXER),
    Registered("ws://app.example.com/cb", False, provider=LAXER),
    Registered("myapp:/cb", False, provider=LAXER),
    Registered("cursor://other/oauth/callback", False, provider=LAXER),
    Registered("com.example.app:cb", False, provider=LAXER),
    Registered("com.example.app:", False, provider=LAXER),
    Registered(".app:/cb", False),
    Registered("COM.example.app:/cb", False, provider=LAXER),
    # Its callback is known word for word.
    Registered("cursor://anysphere.cursor-mcp/oauth/callback", True),
)
