"""The second line behind core.secret: mask in a finished log line whatever still looks like a secret.

It works on text, JSON or not: no pattern crosses a quote or takes a backslash off what it escapes.
"""

import re

MASK = "<masked>"

# No pattern asks for a word boundary: what stands before a secret may be any sign. URLs come first, because their
# scheme must not be taken for the secret of another pattern.
_PATTERNS = (
    # A password may hold anything but a blank or a quote, so up to the last @.
    (re.compile(r"(?i)(postgres(?:ql)?(?:\+\w+)?://)[^\s\"'<>]*@"), rf"\1{MASK}@"),
    (re.compile(r"(?i)([a-z][a-z0-9+.-]{0,20}://)[^\s\"'<>/@]*:[^\s\"'<>/@]*@"), rf"\1{MASK}@"),
    # Our API tokens (core/token_format.py), cut-off ones too: 12 signs of id, which are no secret, and some more.
    (re.compile(r"mcpist_(?:[0-9A-Za-z]{1,16}_)?[0-9A-Za-z]{16,}"), MASK),
    # JWS and JWE: the header is base64url of {"…
    (re.compile(r"eyJ[0-9A-Za-z_-]{4,2000}\.[0-9A-Za-z_.-]+"), MASK),
    # A word such as "bearer authentication" has no digit and is short.
    (re.compile(r"(?i)(bearer|basic)(?:\s|%20)+(?=[^\s\"]*[0-9.]|[^\s\"]{20})[0-9A-Za-z._~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"(?i)(password|passwd|secret|token)(\s*=\s*)(?:'[^']*'|[^\s&\"'\\,;]+)"), rf"\1\2{MASK}"),
)
_HINTS = ("mcpist_", "eyj", "bearer", "basic", "://", "passw", "secret", "token")
_NAMES = re.compile(r"(?i)(^|_)(password|passwd|secret|token|authorization|cookie|api_key)$")


def scrub(text: str) -> str:
    """`text` with every likely secret replaced by ``<masked>``."""
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text


def names_secret(name: str) -> bool:
    """Whether a field of this name is never written, whatever is in it."""
    return _NAMES.search(name) is not None
