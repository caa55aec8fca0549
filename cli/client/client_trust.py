"""The deployment's trust in clients, as the operator sees it."""

from collections.abc import Sequence

import msgspec

from cli.client.admin_api import AdminApiClient

PATH = "/deployment/client-trust"


class ClientTrustEntry(msgspec.Struct, frozen=True):
    """Which clients come in that no administrator has registered, and where that is set."""

    dynamic_registration: bool
    client_metadata_hosts: list[str]
    source: str
    in_effect: bool = True


def fetch_client_trust(api: AdminApiClient) -> ClientTrustEntry:
    """Fetch what counts now."""
    return api.get(PATH, ClientTrustEntry)


def put_client_trust(api: AdminApiClient, *, dynamic_registration: bool, hosts: Sequence[str]) -> ClientTrustEntry:
    """Store another trust."""
    body = {"dynamic_registration": dynamic_registration, "client_metadata_hosts": list(hosts)}
    return msgspec.convert(api.change("PUT", PATH, body).json(), ClientTrustEntry)


def remove_client_trust(api: AdminApiClient) -> None:
    """Go back to the default."""
    api.change("DELETE", PATH, None, missing="the database has no trust in clients: the default counts")
