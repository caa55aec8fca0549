"""A server of client metadata documents on loopback, and a finder of clients that may ask it."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from broker.authorization_server.client_metadata import ClientMetadataResolver
from broker.authorization_server.client_trust import FixedClientTrust
from broker.identity.settings import ClientTrust
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.authorization_server.client_registry_app import Clock
from tests.gateway.vendor_session.doubles import RawVendor, Script, answering

JSON = "application/json"
PATIENCE = 0.5  # seconds that a whole fetch may take here


def document(url: str, **changed: Any) -> dict[str, Any]:
    whole = {
        "client_id": url,
        "client_name": "App",
        "redirect_uris": ["http://127.0.0.1/cb", "https://app.example.com/cb"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return {name: value for name, value in {**whole, **changed}.items() if value is not ...}


@dataclass(slots=True)
class Site:
    """A server of documents on loopback, which the operator allows, and a finder of clients that may ask it."""

    server: RawVendor
    clock: Clock
    metadata: ClientMetadataResolver
    documents: JsonDocumentFetcher

    @property
    def url(self) -> str:
        return f"{self.server.url}/client.json"

    def serves(self, *scripts: Script) -> None:
        self.server.scripts = list(scripts)

    def says(self, *, url: str = "", more: str = "", **changed: Any) -> Script:
        headers = {"cache_control": more} if more else {}
        body = json.dumps(document(url or self.url, **changed)).encode()
        return answering(200, body, content_type=JSON, **headers)

    @property
    def asked(self) -> int:
        return len(self.server.requests)


@contextlib.asynccontextmanager
async def finding(
    allow: AllowedAddresses, **options: Any
) -> AsyncIterator[tuple[Clock, ClientMetadataResolver, JsonDocumentFetcher]]:
    clock, hosts = Clock(), options.pop("hosts", ("*",))
    documents = JsonDocumentFetcher(allow, seconds=PATIENCE, **options)
    await documents.open()
    yield (
        clock,
        ClientMetadataResolver(
            documents, trust=FixedClientTrust(ClientTrust(client_metadata_hosts=hosts)), clock=clock.seconds
        ),
        documents,
    )
    await documents.close()


@contextlib.asynccontextmanager
async def site_of_documents() -> AsyncIterator[Site]:
    async with RawVendor() as server, finding(AllowedAddresses.from_hosts([f"127.0.0.1:{server.port}"])) as found:
        yield Site(server, *found)
