"""Sealed records open in their own place, with their own keys, unchanged; nowhere else."""

import os
import zlib
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.sealed_records import HANDLE_KEY_BYTES, RecordSealer, UnreadableRecord
from core.secret import Secret

KEY = Secret("the digest key of a deployment in tests")
SEALER = RecordSealer(KEY)
TENANT, RECORD = UUID(int=1), UUID(int=2)
HANDLE_KEY = bytes(range(HANDLE_KEY_BYTES))
TEXT = b'{"title":"Rotate the keys of Falkenberg"}'


def frozen_key(handle_key: bytes) -> tuple[AESGCM, bytes]:
    """The key and the associated data, made by hand from the description."""

    def joined(*parts: bytes) -> bytes:
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    place = joined(b"mcpist.sealed-record.1", TENANT.bytes, b"result", RECORD.bytes)
    secrets = joined(KEY.reveal().encode(), handle_key)
    return AESGCM(HKDF(SHA256(), 32, salt=None, info=place).derive(secrets)), place


@pytest.mark.parametrize("handle_key", [b"", HANDLE_KEY])
@pytest.mark.parametrize("plaintext", [b"", b"x", TEXT, TEXT * 1000, os.urandom(5000)], ids=len)
def test_what_is_sealed_opens(plaintext: bytes, handle_key: bytes) -> None:
    sealed = SEALER.seal(TENANT, "result", RECORD, plaintext, handle_key)
    assert SEALER.open(TENANT, "result", RECORD, sealed, handle_key) == plaintext
    assert SEALER.seal(TENANT, "result", RECORD, plaintext, handle_key) != sealed
    assert len(sealed) <= len(plaintext) + 30


@pytest.mark.parametrize("handle_key", [b"", HANDLE_KEY])
def test_format_1_stays_readable(handle_key: bytes) -> None:
    aead, place = frozen_key(handle_key)
    nonce = bytes(12)
    for content in (b"\x00" + TEXT, b"\x01" + zlib.compress(TEXT)):
        sealed = b"\x01" + nonce + aead.encrypt(nonce, content, place)
        assert SEALER.open(TENANT, "result", RECORD, sealed, handle_key) == TEXT


def test_what_is_written_is_format_1() -> None:
    aead, place = frozen_key(b"")
    sealed = SEALER.seal(TENANT, "result", RECORD, TEXT)
    assert sealed[:1] == b"\x01"
    assert aead.decrypt(sealed[1:13], sealed[13:], place) == b"\x00" + TEXT
    long = SEALER.seal(TENANT, "result", RECORD, TEXT * 100)
    assert zlib.decompress(aead.decrypt(long[1:13], long[13:], place)[1:]) == TEXT * 100


def test_it_opens_in_its_own_place_alone() -> None:
    sealed = SEALER.seal(TENANT, "result", RECORD, TEXT, HANDLE_KEY)
    for tenant, kind, record, handle_key, sealer in (
        (uuid4(), "result", RECORD, HANDLE_KEY, SEALER),
        (TENANT, "job", RECORD, HANDLE_KEY, SEALER),
        (TENANT, "result", uuid4(), HANDLE_KEY, SEALER),
        (TENANT, "result", RECORD, b"", SEALER),
        (TENANT, "result", RECORD, bytes(HANDLE_KEY_BYTES), SEALER),
        (TENANT, "result", RECORD, HANDLE_KEY, RecordSealer(Secret("the digest key of another deployment"))),
    ):
        with pytest.raises(UnreadableRecord):
            sealer.open(tenant, kind, record, sealed, handle_key)


def test_a_changed_bit_or_a_cut_is_noticed() -> None:
    sealed = SEALER.seal(TENANT, "result", RECORD, TEXT)
    for position in range(len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(UnreadableRecord):
            SEALER.open(TENANT, "result", RECORD, bytes(changed))
    for length in range(len(sealed)):
        with pytest.raises(UnreadableRecord):
            SEALER.open(TENANT, "result", RECORD, sealed[:length])


def test_neither_contents_nor_keys_are_in_a_record() -> None:
    sealed = SEALER.seal(TENANT, "result", RECORD, TEXT, HANDLE_KEY)
    assert b"Falkenberg" not in sealed
    assert HANDLE_KEY not in sealed
