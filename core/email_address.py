"""E-mail addresses and mail domains in the one form that is stored and compared."""

import re

import idna

from core.errors import Invalid

MAX_ADDRESS_LENGTH = 320
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_LOCAL_PART = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}")


def normalize_address(text: str) -> str:
    """Normalize an address in lower case; a domain of other scripts in its ASCII form (IDNA 2008, RFC 5891, mapped by
    UTS 46).

    Raises:
        Invalid: it is no address. Those with quotes or with other scripts before the @ (RFC 6531) are none here.
    """
    local, _, domain = text.strip().rpartition("@")
    ascii_domain = _to_ascii_domain(domain.lower())
    # Before it is lowered: the Kelvin sign would become a k, and somebody else's address this one.
    if not local.isascii() or not _LOCAL_PART.fullmatch(local.lower()) or ascii_domain is None:
        raise Invalid(f"not an e-mail address: {text[:80]!r}")
    return f"{local.lower()}@{ascii_domain}"


def normalize_domain(text: str) -> str:
    """Normalize a domain in the same form.

    Raises:
        Invalid: it is none.
    """
    domain = _to_ascii_domain(text.strip().lower())
    if domain is None:
        raise Invalid(f"not a domain: {text[:80]!r}")
    return domain


def _to_ascii_domain(domain: str) -> str | None:
    if not 1 <= len(domain) <= 253:
        return None
    try:
        encoded = domain if domain.isascii() else idna.encode(domain, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None
    return encoded if _DOMAIN.fullmatch(encoded) else None
