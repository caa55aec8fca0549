"""The keepers of keys that a deployment names: from the texts of MCPIST_KEYS to something that wraps and unwraps."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from broker.vault import aws_kms, gcp_kms, vault_transit
from broker.vault.file_key_provider import FileKeyProvider
from broker.vault.key_provider_chain import KeyProviderChain
from broker.vault.key_wrapping import KeyProvider
from broker.vault.kms import KmsClient, KmsKeyProvider

FILE_PROVIDER = "file"


@contextlib.asynccontextmanager
async def open_key_providers(
    names: Sequence[str], file: Path, transit_token: Path, *, make: bool = True
) -> AsyncGenerator[KeyProvider]:
    """The keepers of these names, the first of which wraps. No service is asked yet.

    `file` is where the keeper ``file`` has its keys; with `make` it is made where it is missing.

    Raises:
        core.errors.Invalid: the key file can be read by others or is damaged, or a package is missing.
    """
    async with contextlib.AsyncExitStack() as stack:
        keepers: list[KeyProvider] = []
        for name in names:
            if name == FILE_PROVIDER:
                keepers.append(FileKeyProvider(file, make=make))
            else:
                service = KmsKeyProvider(_build_kms_client(name, transit_token))
                stack.push_async_callback(service.close)
                keepers.append(service)
        yield KeyProviderChain(keepers)


def _build_kms_client(name: str, transit_token: Path) -> KmsClient:
    if name.startswith(aws_kms.SCHEME):
        return aws_kms.AwsKms(name.removeprefix(aws_kms.SCHEME))
    if name.startswith(gcp_kms.SCHEME):
        return gcp_kms.GcpKms(name.removeprefix(gcp_kms.SCHEME))
    return vault_transit.VaultTransit(name.removeprefix(vault_transit.SCHEME), transit_token)
