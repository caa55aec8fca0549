"""Where a browser comes back from a vendor, and where a vendor reads who we are."""

from uuid import UUID


def build_redirect_uri(public_url: str, provider: str) -> str:
    """The one redirect URI of a provider, which its answers alone come to (broker-security.md §2, row 7)."""
    return f"{public_url}/connect/callback/{provider}"


def build_client_document_url(public_url: str, tenant_id: UUID, provider: str) -> str:
    """The URL of our client metadata document for a tenant at a provider, which is our client id there. Each tenant has
    its own: a vendor that ends a person's older grants to the same client must not end another tenant's."""
    return f"{public_url}/connect/-/clients/{tenant_id}/{provider}.json"
