"""The header that carries a vendor's credential. Everything that sends one, to check a key or to call a tool, makes the
header here, from a scheme that the provider's data names: what has passed its check is sent in the same way ever after.
"""

import base64
import re
from typing import Literal

import msgspec

from core.secret import Secret

_CREDENTIAL = re.compile(r"[!-~]{1,16384}", re.ASCII)
# RFC 7617 §2: a colon ends the user name. What is neither printable nor ASCII is read differently by different servers.
_USER = re.compile(r"[ -9;-~]{0,320}", re.ASCII)

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)

# Hop-by-hop headers, those that frame a message or name its host (RFC 9110 §7.6.1, RFC 9112 §6), and those that say
# for whom a proxy speaks: a value in one of them could make two requests of one, or go to another host.
_RESERVED = frozenset({
    "accept-encoding", "connection", "content-encoding", "content-length", "cookie", "cookie2", "expect", "forwarded",
    "host", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "via",
})  # fmt: skip
_RESERVED_PREFIXES = ("proxy-", "x-forwarded-", "sec-")

SchemeKind = Literal["bearer", "basic_user", "basic_password", "basic_pair", "header"]


class InvalidCredentialForm(Exception):
    """The credential has not the form that its scheme needs. `part` is which half of it is wrong."""

    def __init__(self, part: Literal["user", "secret"] = "secret") -> None:
        super().__init__(part)
        self.part = part


class QuotaRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a vendor tells that the requests of a credential are used up, where it does not say 429: a `status`, and in
    lower case the headers with the requests that are left and with the seconds until there are new ones."""

    status: int
    resets_in: str
    remaining: str = ""


class CredentialScheme(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Scheme by which a credential is sent, and the `quota` that is told to whoever sends it.

    ``bearer``: RFC 6750. ``basic_user``: the user name of Basic (RFC 7617), with `fixed` as the password.
    ``basic_password``: the password of Basic, with `fixed` as the user name. ``basic_pair``: Basic with a user name and
    a key that belong together (:func:`join_user`). ``header``: the value of the header `name`, behind `word` if there
    is one.
    """

    kind: SchemeKind = "bearer"
    fixed: str = ""
    name: str = ""
    word: str = ""
    quota: QuotaRule | None = None


BEARER = CredentialScheme()
"""How every OAuth access token is sent."""


def build_credential_header(scheme: CredentialScheme, secret: Secret) -> tuple[str, str]:
    """Name (in lower case) and value of the header that carries `secret`. The value goes into the request and nowhere
    else.

    Raises:
        Unsendable: it has characters that would end the header, or a form that is not the scheme's.
    """
    text = secret.reveal()
    match scheme.kind:
        case "bearer":
            return "authorization", f"Bearer {_check_credential(text)}"
        case "header":
            if not _TOKEN.fullmatch(scheme.name) or is_reserved(scheme.name):
                raise InvalidCredentialForm
            return scheme.name.lower(), f"{_check_scheme_word(scheme.word)}{_check_credential(text)}"
        case "basic_user":
            if ":" in text:
                raise InvalidCredentialForm
            return "authorization", _encode_basic(_check_credential(text), scheme.fixed)
        case "basic_password":
            return "authorization", _encode_basic(scheme.fixed, _check_credential(text))
        case "basic_pair":
            user, colon, key = text.partition(":")
            if not colon or not user or not _USER.fullmatch(user):
                raise InvalidCredentialForm("user")
            return "authorization", _encode_basic(user, _check_credential(key))


def join_user(scheme: CredentialScheme, secret: Secret, user: str) -> Secret:
    """Return the stored form of a key and the user name given beside it; only ``basic_pair`` has a user name.

    Raises:
        Unsendable: there is a user name and the scheme has none, or the other way round, or one has the wrong form.
    """
    if scheme.kind != "basic_pair":
        if user:
            raise InvalidCredentialForm("user")
        combined = secret
    elif ":" in user:
        raise InvalidCredentialForm("user")
    else:
        combined = Secret(f"{user}:{secret.reveal()}")
    build_credential_header(scheme, combined)
    return combined


def is_reserved(header: str) -> bool:
    """Check whether no credential and no module may set the header of this name, whatever its case."""
    lower = header.lower()
    return lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES)


def _check_credential(text: str) -> str:
    if not _CREDENTIAL.fullmatch(text):
        raise InvalidCredentialForm
    return text


def _check_scheme_word(scheme: str) -> str:
    if scheme and not _TOKEN.fullmatch(scheme):
        raise InvalidCredentialForm
    return f"{scheme} " if scheme else ""


def _encode_basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
