"""Authorization server metadata (RFC 8414), also served as OpenID Connect Discovery."""

from collections.abc import Mapping
from typing import Any

from broker.authorization_server.client_keys import ALGORITHMS
from broker.authorization_server.client_registry import (
    AUTHORIZATION_CODE,
    CLIENT_CREDENTIALS,
    JWT_BEARER,
    REFRESH_TOKEN,
)
from broker.identity.settings import ClientTrust
from core.scopes import MCP_SCOPES

ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"
_METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]


def build_server_metadata(issuer: str, resource: str, trust: ClientTrust) -> Mapping[str, Any]:
    """The document of RFC 8414 §2. What is switched off is not in it."""
    signing = sorted(ALGORITHMS)
    metadata: dict[str, Any] = {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "revocation_endpoint": f"{issuer}/oauth/revoke",
        "jwks_uri": f"{issuer}/oauth/jwks.json",
        "scopes_supported": sorted(MCP_SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": [AUTHORIZATION_CODE, REFRESH_TOKEN, CLIENT_CREDENTIALS, JWT_BEARER],
        "authorization_grant_profiles_supported": [ID_JAG_PROFILE],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": _METHODS,
        "token_endpoint_auth_signing_alg_values_supported": signing,
        "revocation_endpoint_auth_methods_supported": _METHODS,
        "revocation_endpoint_auth_signing_alg_values_supported": signing,
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": bool(trust.client_metadata_hosts),
        "prompt_values_supported": ["none", "login", "consent"],
        "protected_resources": [resource],
        "ui_locales_supported": ["en", "ja"],
    }
    if trust.dynamic_registration:
        metadata["registration_endpoint"] = f"{issuer}/oauth/register"
    return metadata


def build_openid_configuration(issuer: str, resource: str, trust: ClientTrust) -> Mapping[str, Any]:
    """The same for clients that look there only. We issue no ID tokens; their readers insist on these two names."""
    metadata = build_server_metadata(issuer, resource, trust)
    return {**metadata, "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["RS256"]}
