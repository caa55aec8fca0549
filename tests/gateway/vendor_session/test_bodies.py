"""Bodies that are not JSON, as the vendor gets them; and that a write with one is sent once."""

import email
import email.message
import email.policy
from typing import Any

import pytest

from modules.kit import OUTCOME_UNKNOWN, BodyPart, MultipartBody, RawBody, ToolError, VendorProblem
from modules.kit.bodies import MAX_PARTS, MAX_REQUEST_BYTES, encode_body
from tests.gateway.vendor_session.conftest import VendorSessionApp
from tests.gateway.vendor_session.doubles import answering, hanging_up


def parse_form(media_type: str, content: bytes) -> list[email.message.EmailMessage]:
    """The parts as a mail parser, which is none of ours, reads them."""
    message = email.message_from_bytes(b"Content-Type: %b\r\n\r\n%b" % (media_type.encode(), content), policy=POLICY)
    assert message.is_multipart()
    assert not message.defects
    parts = list(message.iter_parts())
    assert not any(part.defects for part in parts)
    return parts


POLICY: Any = email.policy.HTTP


async def test_a_raw_body_is_sent_as_it_is(app: VendorSessionApp) -> None:
    content = bytes(range(256)) * 1000
    body = RawBody(content, "application/zip")
    await app.client().request("POST", "/assets", body=body, headers={"Content-Type": "text/x", "X-Own": "1"})
    (seen,) = app.vendor.requests
    assert seen.body == content
    assert seen.headers["content-type"] == "application/zip"
    assert seen.headers["content-length"] == str(len(content))
    assert seen.headers["x-own"] == "1"


async def test_a_form_is_read_by_another_parser(app: VendorSessionApp) -> None:
    parts = [
        BodyPart("metadata", '{"name": "größe"}', media_type="application/json"),
        BodyPart("file", b"\r\n--x\r\n\0", file_name="日本 a;b.ts", media_type="text/plain; charset=utf-8"),
        BodyPart("empty", b""),
    ]
    await app.client().request("POST", "/deploy", body=MultipartBody(parts))
    (seen,) = app.vendor.requests
    read = parse_form(seen.headers["content-type"], seen.body)
    assert [part.get_payload(decode=True) for part in read] == ['{"name": "größe"}'.encode(), b"\r\n--x\r\n\0", b""]
    assert [part.get_content_type() for part in read] == ["application/json", "text/plain", "text/plain"]
    assert [part.get_filename() for part in read] == [None, "日本 a;b.ts", None]
    assert int(seen.headers["content-length"]) == len(seen.body)


def test_the_boundary_is_in_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(["a" * 32, "b" * 32])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
    content = b"\r\n--MCPist-" + b"a" * 32 + b"--\r\n"
    encoded = encode_body(MultipartBody([BodyPart("f", content)]))
    assert encoded.media_type.endswith("b" * 32)
    (part,) = parse_form(encoded.media_type, encoded.content)
    assert part.get_payload(decode=True) == content


@pytest.mark.parametrize("name", ['a"; filename="b', "a\\", '"', '\\"\\'])
def test_a_name_keeps_to_its_quotes(name: str) -> None:
    encoded = encode_body(MultipartBody([BodyPart(name, b"x", file_name=name)]))
    line = next(line for line in encoded.content.split(b"\r\n") if line.startswith(b"Content-Disposition"))
    assert line.count(b'"') == 4
    assert b"\\" not in line


BAD_BODIES = {
    "line break in a file name": MultipartBody([BodyPart("f", b"", file_name="a\r\nX-Evil: 1")]),
    "line feed in a name": MultipartBody([BodyPart("f\nX-Evil: 1", b"")]),
    "nul": MultipartBody([BodyPart("f", b"", file_name="a\0b")]),
    "line separator": MultipartBody([BodyPart("f", b"", file_name="a\u2028b")]),
    "surrogate": MultipartBody([BodyPart("f", b"", file_name="a\ud800")]),
    "surrogate in a text": MultipartBody([BodyPart("f", "\ud800")]),
    "no name": MultipartBody([BodyPart("", b"")]),
    "long name": MultipartBody([BodyPart("f", b"", file_name="x" * 501)]),
    "media type of a part": MultipartBody([BodyPart("f", b"", media_type="text/plain\r\nX-Evil: 1")]),
    "media type": RawBody(b"", "text/plain\r\nX-Evil: 1"),
    "no media type": RawBody(b"", ""),
    "half a media type": RawBody(b"", "text"),
    "parameter": RawBody(b"", 'text/plain; a="b\\"'),
    "no part": MultipartBody([]),
    "too many parts": MultipartBody([BodyPart("f", b"")] * (MAX_PARTS + 1)),
    "too large": RawBody(bytes(MAX_REQUEST_BYTES + 1), "application/zip"),
    "parts too large": MultipartBody([BodyPart("f", bytes(MAX_REQUEST_BYTES // 2 + 1))] * 2),
    "too large with its boundaries": MultipartBody([BodyPart("f", bytes(MAX_REQUEST_BYTES))]),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
async def test_bodies_that_are_not_sent(app: VendorSessionApp, body: RawBody | MultipartBody) -> None:
    with pytest.raises(ToolError) as caught:
        await app.client().request("POST", "/x", body=body)
    assert "Evil" not in str(caught.value)
    assert app.vendor.accepted == 0


async def test_the_largest_body_is_sent(app: VendorSessionApp) -> None:
    await app.client().request("POST", "/x", body=RawBody(bytes(MAX_REQUEST_BYTES), "application/zip"))
    assert len(app.vendor.requests[0].body) == MAX_REQUEST_BYTES


async def test_two_bodies_are_not_sent(app: VendorSessionApp) -> None:
    with pytest.raises(VendorProblem, match="two bodies"):
        await app.client().request("POST", "/x", json={}, body=RawBody(b"", "text/plain"))
    assert app.vendor.accepted == 0


@pytest.mark.parametrize("body", [RawBody(b"x", "text/plain"), MultipartBody([BodyPart("f", b"x")])])
async def test_a_write_is_never_sent_twice(app: VendorSessionApp, body: RawBody | MultipartBody) -> None:
    for script in (hanging_up, answering(502), answering(503, retry_after="1"), answering(201, b"<html>")):
        app.vendor.scripts = [script]
        sent = len(app.vendor.requests)
        with pytest.raises(VendorProblem) as caught:
            (await app.client().request("POST", "/x", body=body)).json()
        assert OUTCOME_UNKNOWN in str(caught.value)
        assert len(app.vendor.requests) == sent + 1


async def test_after_a_refused_credential_the_body_goes_with_the_new_one(app: VendorSessionApp) -> None:
    app.leases.versions = [1, 2]
    app.vendor.scripts = [answering(401), answering()]
    await app.client().request("POST", "/x", body=RawBody(b"abc", "text/plain"))
    assert [request.body for request in app.vendor.requests] == [b"abc", b"abc"]
    assert app.vendor.requests[1].headers["authorization"].endswith("-2")
