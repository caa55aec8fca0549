"""The second line behind core.secret: mask in a finished log line whatever still looks like a secret.

It works on text, JSON or not: no pattern crosses a quote or takes a backslash off what it escapes.

The running time is linear in the length of the text. To that end quantifiers are possessive, and a pattern that scans a
long run without finding a secret consumes the run; its replacement function then returns it unchanged. Otherwise each
later start in the same run would scan it again.
"""

import re
import string

MASK = "<masked>"
MAX_LENGTH = 65_536
"""Characters of a text; a longer one is cut. Scrubbing as many takes up to 10 ms."""

_HINTS = ("mcpist_", "eyj", "bearer", "basic", "://", "passw", "secret", "token")
_NAMES = re.compile(r"(?i)(^|_)(password|passwd|secret|token|authorization|cookie|api_key)$")
_MAX_SCHEME = 21
_NO_LETTERS = string.digits + "+.-"
# The last four are what Python's IGNORECASE takes for letters from a to z as well.
_SCHEME = string.ascii_letters + _NO_LETTERS + "ſKİı"


def redact(text: str) -> str:
    """Redact the first ``MAX_LENGTH`` characters of `text`, with every likely secret replaced by ``<masked>``."""
    text = text[:MAX_LENGTH]
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text


def is_secret_name(name: str) -> bool:
    """Check whether a field of this name is always masked, whatever its value."""
    return _NAMES.search(name) is not None


def _mask_postgres_password(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}@" if match[2] else match[0]


def _mask_url_password(match: re.Match[str]) -> str:
    """Checks the scheme backwards from ``://``: forwards, every letter of the text could start one."""
    before = match.string[max(0, match.start() - _MAX_SCHEME) : match.start()]
    scheme = before[len(before.rstrip(_SCHEME)) :]
    return f"://{MASK}@" if scheme.strip(_NO_LETTERS) else match[0]


def _mask_signed_token(match: re.Match[str]) -> str:
    return MASK if match[1] else match[0]


# No pattern asks for a word boundary: what stands before a secret may be any sign. URLs come first, because their
# scheme must not be taken for the secret of another pattern.
_PATTERNS = (
    # A password may hold anything but a blank or a quote, so up to the last @.
    (
        re.compile(r"(?i)(postgres(?:ql)?(?:\+\w++)?://)(?:([^\s\"'<>]*@)|[^\s\"'<>]*+)"),
        _mask_postgres_password,
    ),
    (re.compile(r"://[^\s\"'<>/@:]*+:[^\s\"'<>/@]*+@"), _mask_url_password),
    # Our API tokens (core/token_format.py), cut-off ones too: 12 signs of id, which are no secret, and some more.
    (re.compile(r"mcpist_(?:[0-9A-Za-z]{1,16}_)?[0-9A-Za-z]{16,}+"), MASK),
    # JWS and JWE: the header is base64url of {"…
    (re.compile(r"eyJ(?:[0-9A-Za-z_-]{4,}+(\.)[0-9A-Za-z_.-]++|[0-9A-Za-z_-]*+)"), _mask_signed_token),
    # A word such as "bearer authentication" has no digit and is short.
    (
        re.compile(r"(?i)(bearer|basic)(?:\s|%20)++(?=[^\s\"]{20}|[^\s\"]{0,18}[0-9.])[0-9A-Za-z._~+/=-]{6,}+"),
        rf"\1 {MASK}",
    ),
    (re.compile(r"(?i)(password|passwd|secret|token)(\s*+=\s*+)(?:'[^']*+'|[^\s&\"'\\,;]++)"), rf"\1\2{MASK}"),
)
