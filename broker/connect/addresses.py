"""Where a browser comes back from a vendor."""


def redirect_uri(public_url: str, provider: str) -> str:
    """The one redirect URI of a provider, which its answers alone come to (broker-security.md §2, row 7)."""
    return f"{public_url}/connect/callback/{provider}"
