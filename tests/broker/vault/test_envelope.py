"""The format of stored secrets: readable for ever, and bound to one place, bit by bit."""

import struct
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from broker.vault.envelope import (
    OVERHEAD_BYTES,
    CiphertextContext,
    DecryptionError,
    decrypt_blob,
    encrypt_blob,
    join_length_prefixed,
    read_dek_id,
)

KEY = AESGCM(bytes(range(32)))
DEK = UUID("00112233-4455-6677-8899-aabbccddeeff")
DEPLOYMENT, TENANT, ROW = (UUID(bytes=bytes([byte]) * 16) for byte in (0x11, 0x22, 0x33))
PLACE = CiphertextContext("vault.credentials", ROW, "access", 1)
CONTEXT = PLACE.build_associated_data(DEPLOYMENT, TENANT)

# Format 1 as it was first written, made by hand from the description and not by our code. These stay readable.
FROZEN = [
    (
        "access",
        1,
        "ghp_example",
        "0100112233445566778899aabbccddeeff0102030405060708090a0b0c62822a8a89ec91eb3cce0643145a25dfbd5edbb498baf22d8bd5b2",
    ),
    (
        "access",
        2**40,
        "トークン",
        "0100112233445566778899aabbccddeeff0102030405060708090a0b0ce669d2366f281304e341e0f410fb7c2a74c5b07ed9463dd31f813c16",
    ),
    (
        "refresh",
        7,
        "x" * 64,
        "0100112233445566778899aabbccddeeff0102030405060708090a0b0c7d9222ad94ec88fe34da1b3f686b92503a3b9986ef1528bdd92781"
        "5ce6ce0ebdfc9ce3a716cd94e7c8d4c29dbda38025e68e3798ace14e094e0574b517794c74e28b666dba7f5b62b2e2d59a6a80e1de",
    ),
]


@pytest.mark.parametrize(("field", "version", "plain", "blob"), FROZEN)
def test_format_1_stays_readable(field: str, version: int, plain: str, blob: str) -> None:
    context = CiphertextContext("vault.credentials", ROW, field, version).build_associated_data(DEPLOYMENT, TENANT)
    assert read_dek_id(bytes.fromhex(blob)) == DEK
    assert decrypt_blob(KEY, bytes.fromhex(blob), context).decode() == plain


def test_what_is_written_is_format_1() -> None:
    """Taken apart by hand: the layout and the associated data are those of the description."""
    blob = encrypt_blob(KEY, DEK, b"secret", CONTEXT)
    parts = [
        b"mcpist.vault.1",
        DEPLOYMENT.bytes,
        TENANT.bytes,
        b"vault.credentials",
        ROW.bytes,
        b"access",
        struct.pack(">Q", 1),
    ]
    data = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    assert (blob[:1], blob[1:17], len(blob)) == (b"\x01", DEK.bytes, 45 + 6)
    assert KEY.decrypt(blob[17:29], blob[29:], data) == b"secret"


@pytest.mark.guarantee("G7")
def test_every_bit_counts() -> None:
    blob = encrypt_blob(KEY, DEK, b"secret", CONTEXT)
    for bit in range(len(blob) * 8):
        changed = bytearray(blob)
        changed[bit // 8] ^= 1 << bit % 8
        if 8 <= bit < 17 * 8:  # the data key's id is no part of what the key protects: it names another key
            assert read_dek_id(bytes(changed)) != DEK
            continue
        with pytest.raises(DecryptionError):
            decrypt_blob(KEY, bytes(changed), CONTEXT)


@pytest.mark.parametrize("cut", [0, 1, 16, OVERHEAD_BYTES - 1, OVERHEAD_BYTES])
def test_no_length_is_taken_for_plain_text(cut: int) -> None:
    blob = encrypt_blob(KEY, DEK, b"x", CONTEXT)
    for piece in (blob[:cut], b"ghp_plain_text_of_some_length_that_is_long_enough_for_a_blob"):
        with pytest.raises(DecryptionError):
            decrypt_blob(KEY, piece, CONTEXT)


@pytest.mark.guarantee("G7")
@pytest.mark.parametrize(
    "context",
    [
        PLACE.build_associated_data(TENANT, TENANT),
        PLACE.build_associated_data(DEPLOYMENT, DEPLOYMENT),
        CiphertextContext("vault.other", ROW, "access", 1).build_associated_data(DEPLOYMENT, TENANT),
        CiphertextContext("vault.credentials", TENANT, "access", 1).build_associated_data(DEPLOYMENT, TENANT),
        CiphertextContext("vault.credentials", ROW, "refresh", 1).build_associated_data(DEPLOYMENT, TENANT),
        CiphertextContext("vault.credentials", ROW, "access", 2).build_associated_data(DEPLOYMENT, TENANT),
        b"",
    ],
)
def test_it_opens_in_its_own_place_only(context: bytes) -> None:
    blob = encrypt_blob(KEY, DEK, b"secret", CONTEXT)
    with pytest.raises(DecryptionError):
        decrypt_blob(KEY, blob, context)


def test_another_key_opens_nothing() -> None:
    with pytest.raises(DecryptionError):
        decrypt_blob(AESGCM(bytes(32)), encrypt_blob(KEY, DEK, b"secret", CONTEXT), CONTEXT)


def test_a_moved_boundary_gives_other_bytes() -> None:
    assert (
        join_length_prefixed(b"ab", b"c")
        != join_length_prefixed(b"a", b"bc")
        != join_length_prefixed(b"abc")
        != join_length_prefixed(b"abc", b"")
    )


def test_equal_secrets_look_different_and_nothing_is_not_sealed() -> None:
    assert len({encrypt_blob(KEY, DEK, b"secret", CONTEXT) for _ in range(100)}) == 100
    with pytest.raises(ValueError, match="is empty"):
        encrypt_blob(KEY, DEK, b"", CONTEXT)
