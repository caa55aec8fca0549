"""The headers that make a browser take a page for nothing but what we wrote (threat-model.md §2, row 37)."""

from collections.abc import Mapping

DEFAULT_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    # `no-referrer` would have browsers send `Origin: null` with our own forms, and those need it.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""For whatever an answer does not set itself."""


def build_page_headers(nonce: str, *, alone: bool) -> Mapping[str, str]:
    """Build the headers of an HTML page whose one style element has this nonce; no page has scripts.

    `alone` cuts the page off from whoever opened it. The pages on the way of an authorization must not be: many
    clients open them in a window and wait for that to come back.
    """
    policy = (
        f"default-src 'none'; style-src 'nonce-{nonce}'; img-src data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Vary": "Accept-Language"}
    return headers | ({"Cross-Origin-Opener-Policy": "same-origin"} if alone else {})
