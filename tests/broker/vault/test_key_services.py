"""Keys that a service keeps: bound to their context, named by version, patient, and away without harm.

AWS KMS is tried over the real wire (moto); Google Cloud KMS and HashiCorp Vault against doubles.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.vault import aws_kms, gcp_kms
from broker.vault.aws_kms import AwsKms
from broker.vault.envelope import DecryptionError, KeyMissing, WrappedKey
from broker.vault.gcp_kms import GcpKms
from broker.vault.key_checks import check_keys, list_key_states, retire_key
from broker.vault.key_providers import FileKeyProvider, KeyProviderChain, open_key_providers
from broker.vault.key_rewrap import DataKeyRows, rewrap_keys
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.kms import (
    COOLDOWN_SECONDS,
    MAX_ATTEMPTS,
    KmsKeyProvider,
    KmsThrottled,
    KmsUnavailable,
    KmsUnreachable,
)
from broker.vault.vault import Vault
from broker.vault.vault_transit import VaultTransit
from core.errors import Invalid, Unavailable
from core.secret import Secret
from tests.broker.broker_harness import ACTOR, BrokerHarness
from tests.support.key_services import google
from tests.support.key_services.aws import AwsAccount, aws_account
from tests.support.key_services.google import GoogleKms, google_kms
from tests.support.key_services.transit import Transit, transit

PLAIN = bytes(range(32))
FREE_PORT = "http://127.0.0.1:9"  # discard: nobody listens there


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsAccount]:
    with aws_account() as account:
        yield account


@pytest.fixture
def signed_in(aws: AwsAccount, monkeypatch: pytest.MonkeyPatch) -> AwsAccount:
    aws.set_environment(monkeypatch)
    return aws


@pytest.fixture
async def gcp() -> AsyncIterator[GoogleKms]:
    async with google_kms() as kms:
        yield kms


@pytest.fixture
async def hashicorp(tmp_path: Path) -> AsyncIterator[Transit]:
    async with transit() as engine:
        (tmp_path / "token").write_text(engine.token + "\n")
        yield engine


async def nothing(_seconds: float) -> None:
    """Waits for no time at all."""


def gcp_keys(kms: GoogleKms, **options: Any) -> KmsKeyProvider:
    return KmsKeyProvider(GcpKms(google.KEY, endpoint=kms.url, token=google.token), sleep=nothing, **options)


def transit_keys(engine: Transit, folder: Path, **options: Any) -> KmsKeyProvider:
    return KmsKeyProvider(VaultTransit(engine.url, folder / "token"), sleep=nothing, **options)


async def check_binding(keys: KmsKeyProvider) -> WrappedKey:
    """What every keeper has to keep: it opens for its own context, unchanged, and for nothing else."""
    wrapped = await keys.wrap(PLAIN, b"context")
    assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == PLAIN
    assert PLAIN not in wrapped.blob
    assert keys.has(wrapped.kek_id)
    assert await keys.get_active_id() == wrapped.kek_id
    assert keys.kek_ids == {wrapped.kek_id}
    assert await keys.find_problem() == ""
    with pytest.raises(DecryptionError):
        await keys.unwrap(wrapped.kek_id, wrapped.blob, b"other")
    with pytest.raises(KeyMissing):
        await keys.unwrap("k1", wrapped.blob, b"context")
    return wrapped


async def check_bits(keys: KmsKeyProvider, wrapped: WrappedKey) -> None:
    for place in range(0, len(wrapped.blob), max(1, len(wrapped.blob) // 16)):
        changed = bytearray(wrapped.blob)
        changed[place] ^= 1
        with pytest.raises((DecryptionError, Unavailable)):
            await keys.unwrap(wrapped.kek_id, bytes(changed), b"context")
        keys._failing = False


async def test_aws_binds_to_the_context(signed_in: AwsAccount) -> None:
    arn = signed_in.key()
    keys = KmsKeyProvider(AwsKms(arn), sleep=nothing)
    wrapped = await check_binding(keys)
    assert wrapped.kek_id == f"aws-kms:{arn}"
    other = KmsKeyProvider(AwsKms(signed_in.key()), sleep=nothing)
    with pytest.raises(KeyMissing):
        await other.unwrap(wrapped.kek_id, wrapped.blob, b"context")
    for opened in (keys, other):
        await opened.close()


async def test_aws_by_an_alias_that_moves_on_to_another_key(signed_in: AwsAccount) -> None:
    first, second = signed_in.key(), signed_in.key()
    alias = signed_in.alias("vault", first)
    keys = KmsKeyProvider(AwsKms(alias), sleep=nothing)
    old = await keys.wrap(PLAIN, b"context")
    signed_in.kms.update_alias(AliasName="alias/vault", TargetKeyId=second)
    new = await keys.wrap(PLAIN, b"context")
    assert (old.kek_id, new.kek_id) == (f"aws-kms:{first}", f"aws-kms:{second}")
    for wrapped in (old, new):
        assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == PLAIN
    await keys.close()


async def test_aws_refusals_are_told_without_what_aws_says(signed_in: AwsAccount) -> None:
    gone = f"arn:aws:kms:eu-central-1:123456789012:key/{'0' * 8}-0000-0000-0000-{'0' * 12}"
    now = 1000.0
    keys = KmsKeyProvider(AwsKms(gone), sleep=nothing, monotonic=lambda: now)
    with pytest.raises(Unavailable, match="there is no such key") as refused:
        await keys.wrap(PLAIN, b"context")
    assert gone in str(refused.value)
    assert "is away" in await keys.find_problem(), "it is not asked again at once"
    now += COOLDOWN_SECONDS
    assert "there is no such key" in await keys.find_problem()
    await keys.close()


async def test_aws_without_credentials_says_what_to_do(aws: AwsAccount, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.set_environment(monkeypatch)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    keys = KmsKeyProvider(AwsKms(aws.key()), sleep=nothing)
    with pytest.raises(Unavailable, match="give this machine a role"):
        await keys.wrap(PLAIN, b"context")
    await keys.close()


async def test_aws_out_of_reach_is_away(aws: AwsAccount, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.set_environment(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL_KMS", FREE_PORT)
    keys = KmsKeyProvider(AwsKms(aws.key()), sleep=nothing)
    with pytest.raises(KmsUnavailable):
        await keys.wrap(PLAIN, b"context")
    await keys.close()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 400, KmsThrottled),
        ("LimitExceededException", 400, KmsThrottled),
        ("KMSInternalException", 500, KmsUnreachable),
        ("KeyUnavailableException", 500, KmsUnreachable),
        ("InvalidCiphertextException", 400, DecryptionError),
        ("IncorrectKeyException", 400, DecryptionError),
    ],
)
def test_aws_errors_are_sorted(code: str, status: int, kind: type[Exception]) -> None:
    arn = "arn:aws:kms:eu-central-1:123456789012:key/1"
    response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    assert isinstance(AwsKms(arn)._classify_error(response), kind)


async def test_google_binds_to_the_context_and_names_the_version(gcp: GoogleKms) -> None:
    keys = gcp_keys(gcp)
    wrapped = await check_binding(keys)
    assert wrapped.kek_id == f"gcp-kms:{google.KEY}/cryptoKeyVersions/1"
    await check_bits(keys, wrapped)
    gcp.versions.append(type(gcp.versions[0])(b"v" * 32))
    assert (await keys.wrap(PLAIN, b"context")).kek_id.endswith("/2")
    assert await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context") == PLAIN
    await keys.close()


@pytest.mark.parametrize("spoiled", ["ciphertext", "plaintext"])
async def test_what_was_changed_on_the_way_back_is_not_believed(gcp: GoogleKms, spoiled: str) -> None:
    keys = gcp_keys(gcp)
    wrapped = await keys.wrap(PLAIN, b"context")
    gcp.spoils = {spoiled}
    with pytest.raises(KmsUnavailable):
        await (
            keys.wrap(PLAIN, b"context")
            if spoiled == "ciphertext"
            else keys.unwrap(wrapped.kek_id, wrapped.blob, b"context")
        )
    await keys.close()


async def test_what_was_changed_on_the_way_there_is_tried_again(
    gcp: GoogleKms, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = gcp_keys(gcp)
    gcp.loses = True
    with pytest.raises(KmsUnavailable):
        await keys.wrap(PLAIN, b"context")
    assert gcp.faults.asked == MAX_ATTEMPTS
    gcp.loses = False
    keys._failing = False
    wrapped = await keys.wrap(PLAIN, b"context")
    monkeypatch.setattr(keys._service, "_crc32c", lambda value: 1)
    with pytest.raises(KmsUnavailable):  # never taken for a secret that was changed: that would break accounts
        await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context")
    await keys.close()


async def test_a_disabled_key_is_the_operator_s(gcp: GoogleKms) -> None:
    keys = gcp_keys(gcp)
    wrapped = await keys.wrap(PLAIN, b"context")
    gcp.enabled = False
    with pytest.raises(Unavailable, match="disabled or destroyed"):
        await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context")
    await keys.close()


async def test_transit_binds_to_the_context_and_names_the_version(hashicorp: Transit, tmp_path: Path) -> None:
    keys = transit_keys(hashicorp, tmp_path)
    wrapped = await check_binding(keys)
    assert wrapped.kek_id == "vault-transit:transit/mcpist:v1"
    assert wrapped.blob.startswith(b"vault:v1:")
    await check_bits(keys, wrapped)
    hashicorp.rotate()
    newer = await keys.wrap(PLAIN, b"context")
    assert newer.kek_id.endswith(":v2")
    with pytest.raises(DecryptionError):
        await keys.unwrap(newer.kek_id, wrapped.blob, b"context")  # the row names another version than the blob
    hashicorp.least = 2
    with pytest.raises(Unavailable, match="too old to decrypt"):
        await keys.unwrap(wrapped.kek_id, wrapped.blob, b"context")
    await keys.close()


async def test_transit_reads_the_token_each_time(hashicorp: Transit, tmp_path: Path) -> None:
    keys = transit_keys(hashicorp, tmp_path)
    hashicorp.token = "hvs.another"
    with pytest.raises(Unavailable, match="may not use it") as refused:
        await keys.wrap(PLAIN, b"context")
    assert "hvs." not in str(refused.value)
    (tmp_path / "token").write_text("hvs.another")
    keys._rests_until = 0.0
    assert (await keys.wrap(PLAIN, b"context")).kek_id
    (tmp_path / "token").unlink()  # an agent on this machine would add its own
    with pytest.raises(Unavailable, match="may not use it"):
        await keys.wrap(PLAIN, b"context")
    await keys.close()


@pytest.mark.parametrize("status", [429, 500, 503, 473])
async def test_throttling_and_faults_are_waited_for(hashicorp: Transit, tmp_path: Path, status: int) -> None:
    keys = transit_keys(hashicorp, tmp_path)
    hashicorp.faults.next = [status] * (MAX_ATTEMPTS - 1)
    assert await keys.wrap(PLAIN, b"context")
    hashicorp.faults.next = [status] * MAX_ATTEMPTS
    with pytest.raises(KmsUnavailable):
        await keys.wrap(PLAIN, b"context")
    await keys.close()


class Scripted:
    """A service that answers when it is told to. Implements KmsClient."""

    title = "a service"

    def __init__(self) -> None:
        self.answer = asyncio.Event()
        self.asked = 0

    def owns(self, kek_id: str) -> bool:
        return kek_id.startswith("s:")

    async def encrypt(self, plain: bytes, context: bytes) -> WrappedKey:
        return WrappedKey("s:1", await self.decrypt("s:1", plain, context))

    async def decrypt(self, kek_id: str, wrapped: bytes, context: bytes) -> bytes:
        self.asked += 1
        await self.answer.wait()
        return wrapped

    async def close(self) -> None: ...


async def test_one_at_a_time_while_it_hangs() -> None:
    """The first to wait may fill the broker's connections for five seconds; then one does."""
    now, service = 100.0, Scripted()
    keys = KmsKeyProvider(service, monotonic=lambda: now, sleep=nothing, seconds=0.05)
    results = await asyncio.gather(*[keys.unwrap("s:1", b"x", b"") for _ in range(4)], return_exceptions=True)
    assert all(isinstance(result, KmsUnavailable) for result in results)
    asked = service.asked
    with pytest.raises(KmsUnavailable):
        await keys.unwrap("s:1", b"x", b"")
    assert service.asked == asked, "it rests"
    now += COOLDOWN_SECONDS
    results = await asyncio.gather(*[keys.unwrap("s:1", b"x", b"") for _ in range(4)], return_exceptions=True)
    assert all(isinstance(result, KmsUnavailable) for result in results)
    assert service.asked == asked + 1
    now += COOLDOWN_SECONDS
    service.answer.set()
    assert await keys.unwrap("s:1", b"x", b"") == b"x"
    assert await asyncio.gather(*[keys.unwrap("s:1", b"x", b"") for _ in range(4)]) == [b"x"] * 4


async def test_no_lease_with_a_data_key_in_memory_asks_the_service(
    app: BrokerHarness, hashicorp: Transit, tmp_path: Path
) -> None:
    keys = transit_keys(hashicorp, tmp_path)
    deployment = await app.trusted.call("SELECT id FROM core.deployment")
    vault = Vault(keys, deployment, clock=app.clock)
    app.credentials._vault = app.leases._vault = vault
    tenant = await app.tenant("one")
    role = await app.role(tenant, "team", allow=["github.*"])
    person = await app.person(tenant, "ada@example.test", "team")
    await app.put(tenant, role, "secret-1")
    await app.leases.lease(person.asks())
    asked = hashicorp.faults.asked
    hashicorp.faults.next = [503] * 100
    for _ in range(20):
        lease: Any = await app.leases.lease(person.asks())
        assert lease.access_token == Secret("secret-1")
    await app.put(tenant, role, "secret-2")  # writing needs no new data key either
    assert hashicorp.faults.asked == asked
    cold = Vault(keys, deployment, clock=app.clock)
    app.leases._vault = cold
    with pytest.raises(KmsUnavailable):
        await app.leases.lease(person.asks())
    listed = await app.stored(tenant)
    assert [one.state for one in listed] == ["connected"], "an outage breaks no account"
    await keys.close()


async def move(app: BrokerHarness, tenant: Any, old: InMemoryKeyProvider, new: KmsKeyProvider) -> None:
    """From a file to a key service: both are named, the new one first, until nothing hangs on the file's key."""
    ring = KeyProviderChain([new, old])
    deployment = await app.trusted.call("SELECT id FROM core.deployment")
    await check_keys(app.trusted, ring)
    assert await rewrap_keys(app.trusted, ring, DataKeyRows(deployment, tenant), lambda: None) == 1
    states = await list_key_states(app.trusted, ring)
    assert [(state.kek_id == "k1", state.active, state.is_genuine) for state in states if state.in_use].count(
        (True, False, True)
    ) == 1
    await retire_key(app.trusted, ring, ACTOR, "k1", app.clock())
    await check_keys(app.trusted, KeyProviderChain([new]))


@pytest.fixture
def services(
    signed_in: AwsAccount, gcp: GoogleKms, hashicorp: Transit, tmp_path: Path
) -> dict[str, Callable[[], KmsKeyProvider]]:
    return {
        "aws": lambda: KmsKeyProvider(AwsKms(signed_in.key()), sleep=nothing),
        "gcp": lambda: gcp_keys(gcp),
        "transit": lambda: transit_keys(hashicorp, tmp_path),
    }


@pytest.mark.parametrize("kind", ["aws", "gcp", "transit"])
async def test_a_deployment_moves_from_a_file_to_a_service(
    app: BrokerHarness, services: dict[str, Callable[[], KmsKeyProvider]], kind: str
) -> None:
    tenant = await app.tenant("one")
    role = await app.role(tenant, "team")
    await app.put(tenant, role, "secret-1")
    keys = services[kind]()
    await move(app, tenant, app.keys, keys)
    app.credentials._vault = Vault(
        KeyProviderChain([keys]), await app.trusted.call("SELECT id FROM core.deployment"), clock=app.clock
    )
    assert await app.credentials.get_secret(tenant, "github", role) == Secret("secret-1")
    await keys.close()


async def test_another_key_service_than_the_one_in_use_stops_the_start(
    app: BrokerHarness, hashicorp: Transit, tmp_path: Path
) -> None:
    tenant = await app.tenant("one")
    await app.put(tenant, await app.role(tenant, "team"), "secret-1")
    with pytest.raises(Invalid, match=r"k1 is missing.*MCPIST_KEYS"):
        await check_keys(app.trusted, KeyProviderChain([transit_keys(hashicorp, tmp_path)]))


async def test_the_keepers_that_settings_name(tmp_path: Path) -> None:
    names = (
        "vault-transit:https://vault.internal:8200/transit/mcpist",
        "aws-kms:arn:aws:kms:eu-central-1:123456789012:alias/vault",
        f"gcp-kms:{google.KEY}",
        "file",
    )
    async with open_key_providers(names, tmp_path / "kek.json", tmp_path / "token") as ring:
        assert ring.has("vault-transit:transit/mcpist:v12")
        assert ring.has("aws-kms:arn:aws:kms:eu-central-1:123456789012:key/1")
        assert ring.has(f"gcp-kms:{google.KEY}/cryptoKeyVersions/3")
        (own,) = FileKeyProvider(tmp_path / "kek.json").kek_ids
        assert ring.has(own)
        assert not ring.has("vault-transit:transit/other:v1")
        assert not ring.has("aws-kms:arn:aws:kms:eu-central-1:999999999999:key/1")
    async with open_key_providers(("file",), tmp_path / "none.json", tmp_path / "token", make=False) as empty:
        assert empty.kek_ids == frozenset()
        with pytest.raises(KeyMissing):
            await empty.wrap(PLAIN, b"")


@pytest.mark.parametrize(("module", "make"), [(aws_kms, lambda: AwsKms("arn:aws:kms:r:1:key/1")),
                                              (gcp_kms, lambda: GcpKms(google.KEY))])  # fmt: skip
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, module: Any, make: Callable[[], object]) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    with pytest.raises(Invalid, match=r"pip install 'mcpist\["):
        make()
