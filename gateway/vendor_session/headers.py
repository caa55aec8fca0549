"""The headers of a request: whose they are, and which a module may set."""

import re
from collections.abc import Mapping

from core.secret import Secret
from modules.kit import VendorProblem

# Tokens of RFC 9110 §5.6.2; what a value may hold beside visible ASCII is refused, as no vendor needs it.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_VALUE = re.compile(r"[!-~](?:[ -~]{0,3998}[!-~])?", re.ASCII)
_CREDENTIAL = re.compile(r"[!-~]{1,8000}", re.ASCII)

_OURS = frozenset({
    "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "cookie", "cookie2",
    "expect", "forwarded", "host", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "via",
})  # fmt: skip
_OURS_BY_PREFIX = ("proxy-", "x-forwarded-", "sec-")


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """A module's headers in lower case.

    Raises:
        VendorProblem: one is not a module's to set, or cannot be sent; its value is not repeated.
    """
    checked: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.fullmatch(name) or lower in _OURS or lower.startswith(_OURS_BY_PREFIX):
            raise VendorProblem("refused", "the tool sets a header that is not a tool's to set; report this")
        if not _VALUE.fullmatch(value):
            raise VendorProblem("invalid", f"the header {lower} cannot hold such a value; use plain letters")
        checked[lower] = value
    return checked


def lines_of(headers: Mapping[str, str]) -> str:
    """Checked headers as they are sent."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def authorization(scheme: str, credential: Secret) -> str:
    """The value of Authorization (RFC 9110 §11.6.2). It goes into the request and nowhere else.

    Raises:
        VendorProblem: the credential has characters that would end the header.
    """
    revealed = credential.reveal()
    if not _CREDENTIAL.fullmatch(revealed):
        raise VendorProblem(
            "unauthorized", "the stored credential is not of a form that can be sent; store it again without spaces"
        )
    return f"{scheme} {revealed}"


def head_of(method: str, target: str, lines: str) -> bytes:
    """The head of a request; `lines` are its headers, each with its line end.

    Raises:
        ValueError: `target` would end its line. Whoever made it has checked that already.
    """
    if " " in target or not target.isprintable():
        raise ValueError
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")
