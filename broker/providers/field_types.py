"""The forms of values in a provider's document. Every text that says what is wrong names what is allowed, no value."""

import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_URL = 1000
NAME_PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")

_URL_SIGNS = re.compile(r"[0-9A-Za-z\-._~:/?@!$&'()*+,;=%\[\]{}]*")
_HEADER_SIGNS = re.compile(r"[\x20-\x7e]+")
# Those that the request sets itself, that frame it, or that would be a second way to hand over a secret.
_HEADERS_OF_OURS = re.compile(
    "accept-encoding|authorization|connection|content-encoding|content-length|content-type|cookie|expect|host|"
    "keep-alive|proxy-authorization|te|trailer|transfer-encoding|upgrade|"
    "(x-)?api-?key|(x-|private-)?(access-|auth-)?token|x-secret|x-password",
    re.IGNORECASE,
)
# Those that the request sets itself (RFC 6749, RFC 7636), and what could only be a secret: a document has none.
_PARAMETERS_OF_OURS = re.compile(
    "client_id|client_secret|code|code_challenge|code_challenge_method|code_verifier|grant_type|redirect_uri|"
    "refresh_token|response_type|scope|state|"
    "access_token|api_?key|assertion|client_assertion|client_assertion_type|password|secret|token"
)


class Table(BaseModel):
    """A table of a document: frozen, and with no key that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _check_url(text: str) -> str:
    """An absolute URL; it may hold placeholders, and be one as a whole."""
    if not _URL_SIGNS.fullmatch(text):
        raise ValueError("give a URL of ASCII characters, without blanks and fragment")
    if PLACEHOLDER.match(text):
        return text
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or "{" in parts.netloc:
        raise ValueError("give a URL that begins with https:// and a host, or with a placeholder such as {base_url}")
    return text


def _check_pointer(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("give a JSON pointer (RFC 6901), which begins with a slash")
    return text


def _check_headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", name) or _HEADERS_OF_OURS.fullmatch(name):
            raise ValueError(
                "a header's name must be of letters, digits and hyphens, none that MCPist sets or that carries a secret"
            )
        if not _HEADER_SIGNS.fullmatch(value):
            raise ValueError("a header's value must be one line of ASCII characters")
    return headers


def _check_parameters(parameters: dict[str, str]) -> dict[str, str]:
    if any(_PARAMETERS_OF_OURS.fullmatch(name) for name in parameters):
        raise ValueError(
            "MCPist sets some parameters itself (client_id, scope, state and the like), and secrets belong to the "
            "OAuth client: leave them out"
        )
    return parameters


Word = Annotated[str, Field(pattern=NAME_PATTERN)]
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Scope = Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,200}$")]
"""A scope token (RFC 6749 §3.3)."""
Scopes = Annotated[tuple[Scope, ...], Field(max_length=200, strict=False)]
Url = Annotated[str, Field(max_length=LONGEST_URL), AfterValidator(_check_url)]
"""An absolute URL, perhaps with placeholders; whether it may be reached is checked when it is filled."""
Pointer = Annotated[str, Field(min_length=2, max_length=200), AfterValidator(_check_pointer)]
Headers = Annotated[
    dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=10), AfterValidator(_check_headers)
]
Parameters = Annotated[
    dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")], Annotated[str, Field(max_length=500)]],
    Field(max_length=20),
    AfterValidator(_check_parameters),
]


def as_table(value: object) -> dict[str, Any] | None:
    """`value` as a table of a document, None if it is none."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]
