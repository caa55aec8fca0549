"""What installations have stored stays readable: every label that a stored secret is bound to, written down by hand.

A label that changes makes what was sealed before unreadable in every installation, while everything that is sealed and
opened by the same code goes on working. These values are therefore never taken from the code.
"""

import hashlib
import hmac
import struct
from uuid import UUID

import pytest

from broker.authorization_server.client_authentication import hash_client_secret
from broker.authorization_server.signing_key_store import build_signing_context
from broker.connections.account_snapshot import build_account_context, build_candidate_context, build_client_context
from broker.identity.api_tokens import ApiTokens
from broker.identity.peppers import Peppers
from broker.tenant_keys.key_store import build_tenant_key_context, build_tenant_key_id
from broker.vault.credential_store import build_credential_context
from broker.vault.envelope import CiphertextContext
from broker.vault.kms import KmsKeyProvider
from broker.vault.reencryption import SEALED_COLUMNS
from broker.vault.vault import build_wrap_context
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness

DEPLOYMENT, TENANT = UUID(bytes=bytes([0x11]) * 16), UUID(bytes=bytes([0x22]) * 16)
ROW = UUID("00112233-4455-6677-8899-aabbccddeeff")


def parts(*values: bytes) -> bytes:
    """Each value after its length in four bytes, the most significant first."""
    return b"".join(struct.pack(">I", len(value)) + value for value in values)


def test_what_a_wrapped_data_key_is_bound_to() -> None:
    by_hand = parts(
        b"mcpist.vault.dek.1", b"\x11" * 16, b"\x22" * 16, bytes.fromhex("00112233445566778899aabbccddeeff")
    )
    assert build_wrap_context(DEPLOYMENT, TENANT, ROW) == by_hand


def test_what_a_wrapped_signing_key_is_bound_to() -> None:
    assert build_signing_context(DEPLOYMENT, "kid-1") == parts(b"mcpist.signing-key.1", b"\x11" * 16, b"kid-1")


def test_the_check_of_a_key_that_a_service_keeps() -> None:
    service: object = object()
    check = KmsKeyProvider(service).compute_check_value("aws-kms:key/1")  # type: ignore[arg-type]
    assert check == hashlib.sha256(b"mcpist.vault.key-name.1:aws-kms:key/1").digest()


@pytest.mark.parametrize(
    ("made", "table", "field"),
    [
        (build_credential_context(ROW, 3), b"vault.credentials", b"access"),
        (build_account_context(ROW, "access", 3), b"vault.accounts", b"access"),
        (build_account_context(ROW, "refresh", 3), b"vault.accounts", b"refresh"),
        (build_candidate_context(ROW, "refresh", 3), b"vault.candidates", b"refresh"),
        (build_client_context(ROW, 3), b"vault.oauth_clients", b"client_secret"),
        (build_tenant_key_context(ROW, 3), b"vault.tenant_keys", b"secret"),
    ],
)
def test_what_a_sealed_secret_is_bound_to(made: CiphertextContext, table: bytes, field: bytes) -> None:
    by_hand = parts(b"mcpist.vault.1", b"\x11" * 16, b"\x22" * 16, table, ROW.bytes, field, struct.pack(">Q", 3))
    assert made.build_associated_data(DEPLOYMENT, TENANT) == by_hand


def test_a_tenant_s_key_is_bound_to_its_kind() -> None:
    assert build_tenant_key_id("voyage") == UUID("2ef8516b-a2d7-50b2-8e60-ca9425b35293")
    assert build_tenant_key_id("openai") == UUID("9936ed60-5263-5944-824d-2e3ef66b7c70")


def test_the_list_of_sealed_columns_binds_as_the_rows_are_bound() -> None:
    """Changing the keys reads by this list what was sealed under the places above."""
    assert {(column.table, column.column, column.field, column.version) for column in SEALED_COLUMNS} == {
        ("vault.credentials", "secret", "access", "version"),
        ("vault.oauth_clients", "secret", "client_secret", "version"),
        ("vault.accounts", "access", "access", "version"),
        ("vault.accounts", "refresh", "refresh", "version"),
        ("vault.candidates", "access", "access", "presented_version"),
        ("vault.candidates", "refresh", "refresh", "presented_version"),
        ("vault.connect_flows", "pkce", "pkce", "1::bigint"),
        ("vault.audit_streams", "secret", "secret", "secret_version"),
        ("vault.tenant_keys", "secret", "secret", "version"),
    }


async def test_the_hash_of_an_api_token(app: BrokerHarness) -> None:
    tenant_id = await app.tenant("acme")
    person = await app.person(tenant_id, "ada@acme.test")
    tokens = ApiTokens(app.trusted, Peppers("k1", {"k1": b"p" * 32}), clock=app.clock)
    token_id, token = await tokens.create(ACTOR, tenant_id, person.id, "laptop")
    async with app.database.admin_connection() as admin:
        stored = await admin.fetchval("SELECT secret_hmac FROM auth.api_tokens WHERE id = $1", token_id)
    secret = token.reveal().removeprefix(f"mcpist_{token_id}")[:-6]
    assert hmac.digest(b"p" * 32, f"{token_id}.{secret}".encode(), "sha256") == stored


def test_the_hash_of_an_oauth_client_s_secret() -> None:
    by_hand = hmac.digest(b"p" * 32, b"oauth client made-up-id made-up-secret", "sha256")
    assert hash_client_secret(b"p" * 32, "made-up-id", Secret("made-up-secret")) == by_hand
