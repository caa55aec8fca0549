"""Normalization of claims about a person, before they are stored and compared."""

from collections.abc import Mapping
from typing import Any

from broker.identity.providers.identity_provider import MAX_NAME_LENGTH, SignInFailed, VerifiedAccount
from core.email_address import normalize_address
from core.errors import Invalid


def build_openid_account(issuer: str, claims: Mapping[str, Any], *, trusted: bool = True) -> VerifiedAccount:
    """Build the account of verified claims; its address is used only if it is verified and `trusted`."""
    email = normalize_email(claims.get("email")) if trusted and is_true(claims.get("email_verified")) else ""
    return VerifiedAccount(issuer, str(claims["sub"]), email, bool(email), clean_person_name(claims.get("name")))


def normalize_email(value: object) -> str:
    """Normalize an e-mail address; empty where it is none."""
    if not isinstance(value, str) or len(value) > 320:
        return ""
    try:
        return normalize_address(value)
    except Invalid:
        return ""


def clean_person_name(value: object) -> str:
    """Return a name of at most 200 visible characters; empty where there is none."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value[:MAX_NAME_LENGTH]).split())


def is_true(value: object) -> bool:
    """Check for true or the text "true", which some providers send."""
    return value is True or value == "true"


def raise_for_error(query: Mapping[str, str]) -> None:
    """Raise for an error response (RFC 6749 §4.1.2.1); its texts are never used.

    Raises:
        SignInFailed: it is one.
    """
    if "error" in query:
        said_no = query["error"] == "access_denied"
        raise SignInFailed("cancelled" if said_no else "provider", "denied" if said_no else "error answer")
