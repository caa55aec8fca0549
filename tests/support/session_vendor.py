"""The product's vendor session without the gateway before it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.download_client import download_part
from gateway.vendor_session.lease_source import LeaseSource
from gateway.vendor_session.vendor_client import VendorClient
from gateway.vendor_session.vendor_connection import ConnectionOwner
from modules.kit import Download, MultipartBody, RawBody, VendorAnswer, VendorApi, VendorSettings


@dataclass(frozen=True, slots=True)
class SessionVendor:
    """Implements :class:`modules.kit.Vendor` for one lease."""

    sessions: VendorClientFactory
    api: VendorApi
    settings: VendorSettings
    lease: LeaseSource
    owner: ConnectionOwner

    async def get_connection(self) -> Mapping[str, str]:
        return {}

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool | None = None,
        body: RawBody | MultipartBody | None = None,
        host: str = "",
    ) -> VendorAnswer:
        return await self._create_client(host).request(
            method, path, query=query, json=json, headers=headers, repeatable=repeatable, body=body
        )

    async def download(
        self,
        path: str,
        *,
        limit: int,
        offset: int = 0,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        host: str = "",
    ) -> Download:
        client = self._create_client(host)
        return await download_part(client, path, limit=limit, offset=offset, query=query, headers=headers)

    def _create_client(self, host: str) -> VendorClient:
        return self.sessions.create_client(self.api, self.settings, self.lease, self.owner, host=host)
