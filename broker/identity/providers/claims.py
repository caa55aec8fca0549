"""Normalization of claims about a person, before they are stored and compared."""

from collections.abc import Mapping
from typing import Any

from broker.identity.providers.identity_provider import MAX_NAME_LENGTH, SignInFailed, VerifiedAccount
from core.email_address import normalize_address
from core.errors import Invalid


def build_openid_account(issuer: str, claims: Mapping[str, Any], *, trusted: bool = True) -> VerifiedAccount:
    """The account that checked claims tell of; its address counts only if it is verified, and `trusted`."""
    email = normalize_email(claims.get("email")) if trusted and is_true(claims.get("email_verified")) else ""
    return VerifiedAccount(issuer, str(claims["sub"]), email, bool(email), clean_person_name(claims.get("name")))


def normalize_email(value: object) -> str:
    """An e-mail address in its normal form; empty where it is none."""
    if not isinstance(value, str) or len(value) > 320:
        return ""
    try:
        return normalize_address(value)
    except Invalid:
        return ""


def clean_person_name(value: object) -> str:
    """A name of at most 200 characters, all of them visible; empty where there is none."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value[:MAX_NAME_LENGTH]).split())


def is_true(value: object) -> bool:
    """Some providers send the text."""
    return value is True or value == "true"


def raise_for_error(query: Mapping[str, str]) -> None:
    """An error answer (RFC 6749 §4.1.2.1) becomes one of ours; of its text nothing is used.

    Raises:
        SignInFailed: it is one.
    """
    if "error" in query:
        said_no = query["error"] == "access_denied"
        raise SignInFailed("cancelled" if said_no else "provider", "denied" if said_no else "error answer")
