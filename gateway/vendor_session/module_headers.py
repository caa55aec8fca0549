"""The headers that a module may set."""

import re
from collections.abc import Mapping

from core.http.credential_headers import is_reserved
from modules.kit import VendorProblem

# Tokens of RFC 9110 §5.6.2; what a value may hold beside visible ASCII is refused, as no vendor needs it.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_VALUE = re.compile(r"[!-~](?:[ -~]{0,3998}[!-~])?", re.ASCII)


def validate_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Validate a module's headers in lower case.

    Raises:
        VendorProblem: one is not a module's to set, or cannot be sent; its value is not repeated.
    """
    valid: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if not _NAME.fullmatch(name) or lower == "authorization" or is_reserved(lower):
            raise VendorProblem("refused", "the tool sets a header that tools must not set; report this")
        if not _VALUE.fullmatch(value):
            raise VendorProblem("invalid", f"the header {lower} cannot hold such a value; use plain letters")
        valid[lower] = value
    return valid


def format_header_lines(headers: Mapping[str, str]) -> str:
    """Checked headers as they are sent."""
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def format_request_head(method: str, target: str, lines: str) -> bytes:
    """Format the head of a request; `lines` are its headers, each with its line end.

    Raises:
        ValueError: `target` would end its line. Whoever made it has checked that already.
    """
    if " " in target or not target.isprintable():
        raise ValueError
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")
