"""A vendor proves who it is, or gets no request."""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.http.outbound_addresses import AllowedAddresses
from core.http.tls import create_tls_context
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.vendor_client import VendorClient
from modules.kit import VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, OWNER, Leases
from tests.gateway.vendor_session.doubles import RawVendor
from tests.support.certificates import self_signed


@dataclass(slots=True)
class Secured:
    """A vendor whose certificate is for 127.0.0.1 and signed by nobody but itself."""

    vendor: RawVendor
    certificate: Path

    def client(self, sessions: VendorClientFactory, host: str) -> VendorClient:
        api = VendorApi(f"https://{host}:{self.vendor.port}", NO_ACCOUNT)
        return sessions.create_client(api, VendorSettings(timeout=5), Leases(), OWNER)

    def sessions(self, tls: ssl.SSLContext | None) -> VendorClientFactory:
        hosts = [f"{host}:{self.vendor.port}" for host in ("127.0.0.1", "localhost")]
        return VendorClientFactory(AllowedAddresses.from_hosts(hosts), tls=tls)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    signed = self_signed(tmp_path)
    async with RawVendor(tls=signed.server()) as vendor:
        yield Secured(vendor, signed.certificate)


@pytest.mark.parametrize(
    ("host", "rooted", "reached"), [("127.0.0.1", True, True), ("127.0.0.1", False, False), ("localhost", True, False)]
)
async def test_a_vendor_is_believed_for_its_own_name_only(
    secured: Secured, host: str, rooted: bool, reached: bool
) -> None:
    tls = create_tls_context()
    if rooted:
        tls.load_verify_locations(secured.certificate)
    sessions = secured.sessions(tls)
    await sessions.open()
    if reached:
        assert (await secured.client(sessions, host).request("GET", "/x")).status == 200
    else:
        with pytest.raises(VendorProblem, match="TLS certificate"):
            await secured.client(sessions, host).request("GET", "/x")
    assert len(secured.vendor.requests) == reached
    await sessions.close()


async def test_the_systems_roots_count_where_nothing_else_is_given(secured: Secured) -> None:
    sessions = secured.sessions(None)
    await sessions.open()
    with pytest.raises(VendorProblem, match="TLS certificate") as caught:
        await secured.client(sessions, "127.0.0.1").request("POST", "/x")
    assert (caught.value.kind, secured.vendor.requests) == ("unavailable", [])
    await sessions.close()
