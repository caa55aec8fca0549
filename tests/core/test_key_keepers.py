"""MCPIST_KEYS: who keeps the vault's keys."""

import pytest

from core.config.settings import Settings
from core.errors import Invalid

AWS = "aws-kms:arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
ALIAS = "aws-kms:arn:aws-us-gov:kms:us-gov-west-1:123456789012:alias/mcpist/vault"
GCP = "gcp-kms:projects/acme-1/locations/europe-west3/keyRings/mcpist/cryptoKeys/vault"
TRANSIT = "vault-transit:https://vault.internal:8200/transit/mcpist"


def read(text: str) -> tuple[str, ...]:
    return Settings.from_environment({"HOME": "/users/kei", "MCPIST_KEYS": text}, user_id=1000).keys


@pytest.mark.parametrize("one", ["file", AWS, ALIAS, GCP, TRANSIT, "vault-transit:http://127.0.0.1:8100/ns/transit/a"])
def test_each_keeper(one: str) -> None:
    assert read(one) == (one,)


def test_several_keep_their_order_and_each_counts_once() -> None:
    assert read("") == ("file",)
    assert read(f"{GCP}, file,{AWS}, {GCP}") == (GCP, "file", AWS)


@pytest.mark.parametrize(
    "wrong",
    [
        "none",
        ",",
        "File",
        "file:/etc/key",
        "aws-kms:alias/vault",
        "aws-kms:arn:aws:s3:eu-central-1:123456789012:key/1",
        f"{GCP}/cryptoKeyVersions/1",
        "gcp-kms:vault",
        "vault-transit:https://vault.internal:8200/mcpist",
        "vault-transit:https://user:password@vault.internal/transit/mcpist",
        "vault-transit:https://vault.internal/transit/mcpist?x=1",
        "vault-transit:https://vault.internal/transit/../sys/mcpist ",
        "vault-transit:ftp://vault.internal/transit/mcpist",
    ],
)
def test_other_forms_are_refused(wrong: str) -> None:
    with pytest.raises(Invalid, match="MCPIST_KEYS must be"):
        read(wrong)


def test_plain_http_goes_to_this_machine_only() -> None:
    with pytest.raises(Invalid, match="https"):
        read("vault-transit:http://vault.internal:8200/transit/mcpist")
