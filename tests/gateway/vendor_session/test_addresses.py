"""No request reaches an address that is not allowed (G12): a live listener stays silent in every spelling."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import unquote

import pytest

from core.config.settings import Settings
from core.errors import Invalid
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, GuardedResolver, is_public
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.target import VendorTarget
from modules.kit import VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, OWNER, Leases, VendorSessionApp
from tests.gateway.vendor_session.doubles import RawVendor, answering

PUBLIC = "93.184.215.14"


@dataclass(slots=True)
class Names:
    """A name server whose answers come in turn, the last for ever."""

    answers: list[list[str] | socket.gaierror] = field(default_factory=list["list[str] | socket.gaierror"])
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, host: str, port: int) -> list[tuple[int, str]]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, socket.gaierror):
            raise answer
        return [(socket.AF_INET6 if ":" in address else socket.AF_INET, address) for address in answer]


@dataclass(slots=True)
class Guarded:
    """A listener on every loopback address, and sessions for which its port is an ordinary one."""

    port: int
    accepted: int
    names: Names
    sessions: VendorClientFactory

    async def ask(self, url: str) -> VendorProblem:
        api = VendorApi("https://unused.example", NO_ACCOUNT)
        try:
            client = self.sessions.create_client(api, VendorSettings(base_url=url, timeout=5), Leases(), OWNER)
            answer = await client.request("POST", "/x")
        except VendorProblem as problem:
            return problem
        raise AssertionError(answer)


@pytest.fixture
async def guarded() -> AsyncIterator[Guarded]:
    server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    port = server.getsockname()[1]
    names = Names([["127.0.0.1"]])
    sessions = VendorClientFactory(AllowedAddresses(ports=frozenset({443, port})), lookup=names)
    made = Guarded(port, 0, names, sessions)

    def accepted(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.accepted += 1
        writer.close()

    listener = await asyncio.start_server(accepted, sock=server)
    await sessions.open()
    yield made
    await sessions.close()
    listener.close()


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_the_listener_would_hear(guarded: Guarded, host: str) -> None:
    shown = f"[{host}]" if ":" in host else host
    open_door = VendorClientFactory(AllowedAddresses.from_hosts([f"{shown}:{guarded.port}"]))
    await open_door.open()
    client = open_door.create_client(
        VendorApi(f"http://{shown}:{guarded.port}", NO_ACCOUNT), VendorSettings(), Leases(), OWNER
    )
    with pytest.raises(VendorProblem):
        await client.request("POST", "/x")
    assert guarded.accepted == 1
    await open_door.close()


HOSTS = [
    "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7F.1", "017700000001",
    "0177.0.0.1", "127.0.0.01", "00000127.0.0.1", "127.0.0.1.0x", "0", "0.0.0.0", "localhost", "LOCALHOST",
    "localhost.", "a.localhost", "①②⑦.⓪.⓪.①", "127。0。0。1", "１２７.0.0.1", "ⓛocalhost", "localhoſt",
    "%31%32%37.0.0.1", "127.0.0.1%00",
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
    "[fc00::1]", "[fd00::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "169.254.169.254", "100.64.0.1",
    "10.0.0.1", "172.16.0.1", "192.168.0.1", "192.0.0.9", "192.0.2.1", "192.88.99.1", "198.18.0.1", "203.0.113.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "127.255.255.254",
]  # fmt: skip


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("host", HOSTS)
async def test_a_literal_address_in_any_spelling(guarded: Guarded, host: str) -> None:
    caught = await guarded.ask(f"https://{host}:{guarded.port}")
    assert caught.kind == "refused"
    assert (guarded.accepted, guarded.names.asked) == (0, [])


@pytest.mark.parametrize(
    "answer",
    [["127.0.0.1"], ["::1"], [PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], [PUBLIC, "::1"], ["::ffff:127.0.0.1"],
     ["64:ff9b::7f00:1"], ["10.0.0.1"], ["169.254.169.254"], ["100.64.0.1"], ["2002:7f00:1::"], ["fe80::1%eth0"],
     ["0.0.0.0"], ["not an address"], []],
)  # fmt: skip
async def test_a_name_of_which_one_address_is_not_public(guarded: Guarded, answer: list[str]) -> None:
    guarded.names.answers = [answer]
    caught = await guarded.ask(f"https://vendor.example:{guarded.port}")
    assert caught.kind == "refused"
    assert (guarded.accepted, len(guarded.names.asked)) == (0, 1)


async def test_a_name_that_does_not_exist_reads_as_one_that_is_private(guarded: Guarded) -> None:
    private = await guarded.ask(f"https://private.example:{guarded.port}")
    guarded.names.answers = [socket.gaierror(socket.EAI_NONAME, "canary")]
    unknown = await guarded.ask(f"https://unknown.example:{guarded.port}")
    assert (private.kind, str(private)) == (unknown.kind, str(unknown))
    assert "is not allowed to reach" in str(private)
    assert "MCPIST_ALLOWED_PRIVATE_HOSTS" in str(private)


async def test_a_name_server_that_is_away_is_asked_again(guarded: Guarded) -> None:
    guarded.names.answers = [socket.gaierror(socket.EAI_AGAIN, "canary")]
    caught = await guarded.ask(f"https://vendor.example:{guarded.port}")
    assert caught.kind == "unavailable"
    assert len(guarded.names.asked) == 3


@pytest.mark.guarantee("G12")
async def test_a_name_that_changes_its_mind_has_no_window(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[str] = []

    async def connect(addr_infos: list[tuple[object, object, object, object, tuple[str, int]]], **_: object) -> None:
        connected.extend(info[4][0] for info in addr_infos)
        raise OSError("no way out of a test")

    monkeypatch.setattr("core.http.single_exchange.start_connection", connect)
    guarded.names.answers = [[PUBLIC], ["127.0.0.1"]]
    caught = await guarded.ask(f"https://rebinding.example:{guarded.port}")
    assert caught.kind == "unavailable"
    assert set(connected) == {PUBLIC}  # what was checked, not the name again
    assert len(guarded.names.asked) == 1  # and for a moment nobody asks again
    connected.clear()
    caught = await guarded.ask(f"https://rebinding-2.example:{guarded.port}")
    assert (caught.kind, connected, guarded.accepted) == ("refused", [], 0)


@pytest.mark.parametrize(
    "url",
    ["ftp://vendor.example", "file:///etc/passwd", "unix:///run/x", "//vendor.example", "vendor.example", "https://",
     "https:///x", "https://user@vendor.example", "https://user:pass@vendor.example", "https://vendor.example?x=1",
     "https://vendor.example#x", "https://vendor.example/..", "https://vendor.example/a/../b", "https://vendor.example//a",
     "https://vendor.example\\@127.0.0.1", "https:\\\\vendor.example", "https://vendor.example/%2e%2e",
     "https://vendor.example:0", "https://vendor.example:65536", "https://vendor.example:99999", "https://vendor.example:",
     "https://vendor.example\n", " https://vendor.example", "https://vendor.example/a b", "https://-vendor.example",
     "https://vendor.example:8443", "https://vendor.example:22", "http://vendor.example", "http://vendor.example:443",
     "https://\u212aelvin.example", "https://[::1", "https://[vendor.example]", f"https://{'a.' * 150}example"],
)  # fmt: skip
async def test_base_urls_that_are_refused(guarded: Guarded, url: str) -> None:
    assert (await guarded.ask(url)).kind == "refused"
    assert guarded.names.asked == []


async def test_a_label_that_no_name_has(guarded: Guarded) -> None:
    sessions = VendorClientFactory(AllowedAddresses())
    await sessions.open()
    client = sessions.create_client(
        VendorApi(f"https://{'a' * 64}.example", NO_ACCOUNT), VendorSettings(), Leases(), OWNER
    )
    with pytest.raises(VendorProblem) as caught:
        await client.request("GET", "/x")
    assert caught.value.kind == "refused"
    await sessions.close()


async def test_the_operators_list_lets_a_private_host_through() -> None:
    async with RawVendor() as vendor:
        names = Names([["127.0.0.1"]])
        listed = [f"ghe.internal:{vendor.port}", f"127.0.0.1:{vendor.port}"]
        sessions = VendorClientFactory(AllowedAddresses.from_hosts(listed), lookup=names)
        await sessions.open()
        for host in ("ghe.internal", "GHE.internal.", "127.0.0.1"):
            api = VendorApi(f"http://{host}:{vendor.port}/", NO_ACCOUNT)
            await sessions.create_client(api, VendorSettings(), Leases(), OWNER).request("GET", "/x")
        assert len(vendor.requests) == 3
        for url in (f"http://other.internal:{vendor.port}", f"http://ghe.internal:{vendor.port + 1}"):
            with pytest.raises(VendorProblem):
                sessions.create_client(VendorApi(url, NO_ACCOUNT), VendorSettings(), Leases(), OWNER)
        await sessions.close()


def test_a_listed_ipv6_address_in_any_spelling() -> None:
    allow = AllowedAddresses.from_hosts(["[::1]:8443"])
    assert allow.allows("::1", 8443, secure=False)
    assert not allow.allows("::1", 443, secure=True)


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"])
async def test_public_addresses(address: str) -> None:
    assert is_public(address)
    resolver = GuardedResolver(AllowedAddresses(), Names([[address]]))
    ((_, found, port),) = await resolver.resolve("vendor.example", 443)
    assert (found, port) == (address, 443)


async def test_the_system_resolver_behind_the_guard() -> None:
    sessions = VendorClientFactory(AllowedAddresses())
    await sessions.open()
    assert sessions._system is not None
    assert "127.0.0.1" in [address for _, address in await sessions._system("localhost", 443)]
    with pytest.raises(AddressNotAllowed):
        await GuardedResolver(AllowedAddresses(), sessions._system).resolve("localhost", 443)
    await sessions.close()


PATHS = [
    "x", "https://127.0.0.1/x", "//127.0.0.1/x", "///x", "/\\127.0.0.1", "\\\\127.0.0.1", "/a//b", "/..", "/../x",
    "/a/../b", "/a/..", "/./a", "/a/.", "/%2e%2e/x", "/%2E./x", "/.%2e/x", "/a/%2e%2e%2fb", "/a%2f..%2fb",
    "/a%2F%2e%2e",
    "/a%5c..%5cb", "/%252e%252e/x", "/%25252e%25252e/x", "/..;/x", "/..;a=b/x", "/%2e%2e;/x", "/a\\..\\b", "/a?b=c",
    "/a#b", "/a b", "/a\tb", "/a\r\nX: y", "/a%0d%0aX:y", "/a%00b", "/ä", "/a%", "/a%2", "/a%zz", "/@127.0.0.1\\x",
    "@evil", ".evil.example", ":80/x", "/a\u2028b",
]  # fmt: skip


@pytest.mark.parametrize("target", PATHS)
async def test_paths_that_might_lead_elsewhere(app: VendorSessionApp, target: str) -> None:
    with pytest.raises(VendorProblem) as caught:
        await app.client(base="/api/v3").request("GET", target)
    assert caught.value.kind == "refused"
    assert app.vendor.accepted == 0


@pytest.mark.parametrize(
    "target", ["", "/", "/a", "/a/", "/.github", "/a/.env", "/a/...", "/a%2Fb", "/v1.2/..x/x..", "/a;b", "/%E3%81%82",
               "/@me", "/a:b/$batch", "/%25"],
)  # fmt: skip
async def test_paths_that_stay_as_they_are(app: VendorSessionApp, target: str) -> None:
    await app.client(base="/api/v3").request("GET", target)
    assert app.vendor.requests[0].target == f"/api/v3{target}"


@pytest.mark.parametrize("around", ["{}", "{}.", "{}..", ".{}", "..{}", "a{}..", "..{}b", "a{}../b", "{}.{}", ".{}{}."])
def test_no_encoded_character_makes_a_dot_segment(around: str) -> None:
    """An oracle of its own, for each byte: what a path says once it is decoded."""
    base = VendorTarget.from_base_url("https://vendor.example/api", AllowedAddresses())
    passed = 0
    for number in range(256):
        path = "/" + around.replace("{}", f"%{number:02x}")
        with contextlib.suppress(VendorProblem):
            base.build_target(path, None)
            passed += 1
            read = unquote(path, errors="replace")
            assert not any(part.partition(";")[0] in {".", ".."} for part in re.split(r"[/\\]", read)), path
            assert all(character.isprintable() or ord(character) >= 0x80 for character in read), path
    assert passed > 200, "nearly all of them are harmless"


@pytest.mark.parametrize(
    ("location", "then"),
    [("/api/v3/y", "/api/v3/y"), ("y?a=%20b", "/api/v3/y?a=%20b"),
     ("{url}/api/v3/repositories/1", "/api/v3/repositories/1"),
     ("/api/v3/y#f", "/api/v3/y")],
)  # fmt: skip
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_below_the_base_url(app: VendorSessionApp, status: int, location: str, then: str) -> None:
    app.vendor.scripts = [answering(status, location=location.format(url=app.vendor.url)), answering(200)]
    await app.client(base="/api/v3").request("GET", "/x")
    assert app.vendor.requests[1].target == then


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.1:{other}/api/v3/x", "https://127.0.0.1:{port}/api/v3/x", "//127.0.0.1:{other}/api/v3/x", "/x",
     "/", "/api/v3/../x", "/api/v3/%2e%2e/x", "/api/v3/..%2fx", "/api/v33/x", "/api/v3x", "http://localhost:{port}/api/v3/x",
     "http://user@127.0.0.1:{port}/api/v3/x", "http://127.1:{port}/api/v3/x", "http://[::1]:{port}/api/v3/x",
     "file:///x", "/\\127.0.0.1:{other}/api/v3/x", "http://127.0.0.1:{port}@127.0.0.1:{other}/api/v3/x", "http://[", "",
     "/api/v3/\tx", "http://127.0.0.1:{port}:{other}/api/v3/x", "/api/v3/ä", "javascript:x"],
)  # fmt: skip
async def test_redirects_anywhere_else(app: VendorSessionApp, location: str) -> None:
    async with RawVendor() as other:
        made = location.format(port=app.vendor.port, other=other.port)
        app.vendor.scripts = [answering(302, location=made)]
        with pytest.raises(VendorProblem) as caught:
            await app.client(base="/api/v3").request("GET", "/x")
        assert caught.value.kind == "refused"
        assert (len(app.vendor.requests), other.accepted) == (1, 0)


async def test_a_redirect_to_another_listed_host_is_not_followed_either() -> None:
    async with RawVendor() as vendor, RawVendor() as other:
        allow = AllowedAddresses.from_hosts([f"127.0.0.1:{vendor.port}", f"127.0.0.1:{other.port}"])
        sessions = VendorClientFactory(allow)
        await sessions.open()
        vendor.scripts = [answering(302, location=f"{other.url}/x")]
        with pytest.raises(VendorProblem):
            await sessions.create_client(VendorApi(vendor.url, NO_ACCOUNT), VendorSettings(), Leases(), OWNER).request(
                "GET", "/x"
            )
        assert other.accepted == 0
        await sessions.close()


async def test_redirects_end(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(302, location="/x")]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request("GET", "/x")
    assert caught.value.kind == "refused"
    assert len(app.vendor.requests) == 4


@pytest.mark.parametrize("repeatable", [None, False, True])
async def test_a_write_follows_no_redirect(app: VendorSessionApp, repeatable: bool | None) -> None:
    """Not even one that may be sent twice: the method decides."""
    app.vendor.scripts = [answering(307, location="/y")]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request("POST", "/x", repeatable=repeatable)
    assert caught.value.kind == "refused"
    app.vendor.scripts = [answering(303, location="/y")]
    assert (await app.client().request("POST", "/x", repeatable=repeatable)).status == 303
    assert [request.target for request in app.vendor.requests] == ["/x", "/x"]


async def test_a_read_that_may_not_be_repeated_follows_redirects(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(307, location="/y"), answering(200)]
    await app.client().request("GET", "/x", repeatable=False)
    assert [request.target for request in app.vendor.requests] == ["/x", "/y"]


@pytest.mark.parametrize(
    ("text", "read"),
    [("GHE.Example.:443", ("ghe.example:443",)), ("a:1, [0:0::1]:2", ("a:1", "[::1]:2")), ("none", ()), ("", ())],
)
def test_the_setting(text: str, read: tuple[str, ...]) -> None:
    settings = Settings.from_environment({"HOME": "/users/kei", "MCPIST_ALLOWED_PRIVATE_HOSTS": text}, user_id=1000)
    assert settings.allowed_private_hosts == read


@pytest.mark.parametrize(
    "text", ["ghe.example", "a:0", "a:65536", "a:x", ":80", "http://a:80", "a b:80", "[::1:80", "*:80"]
)
def test_the_setting_in_a_wrong_form(text: str) -> None:
    with pytest.raises(Invalid, match="MCPIST_ALLOWED_PRIVATE_HOSTS"):
        Settings.from_environment({"HOME": "/users/kei", "MCPIST_ALLOWED_PRIVATE_HOSTS": text}, user_id=1000)
