"""URLs of this deployment that vendors use: redirect URIs and client ID metadata documents."""

from uuid import UUID


def build_redirect_uri(public_url: str, provider: str) -> str:
    """Build the redirect URI of a provider; each has its own (threat-model.md §2, row 7)."""
    return f"{public_url}/connect/callback/{provider}"


def build_client_document_url(public_url: str, tenant_id: UUID, provider: str) -> str:
    """The URL of our client metadata document for a tenant at a provider, which is our client id there. Each tenant has
    its own: a vendor that ends a person's older grants to the same client must not end another tenant's."""
    return f"{public_url}/connect/-/clients/{tenant_id}/{provider}.json"
