"""A vendor proves who it is, or gets no request."""

import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from core.outbound.addresses import AllowedAddresses
from gateway.vendor_session.session import VendorSessions, tls_context
from modules.kit import Vendor, VendorApi, VendorProblem, VendorSettings
from tests.gateway.vendor_session.conftest import Leases, no_account
from tests.gateway.vendor_session.doubles import RawVendor


@dataclass(slots=True)
class Secured:
    """A vendor whose certificate is for 127.0.0.1 and signed by nobody but itself."""

    vendor: RawVendor
    certificate: Path

    def client(self, sessions: VendorSessions, host: str) -> Vendor:
        api = VendorApi(f"https://{host}:{self.vendor.port}", no_account)
        return sessions.client(api, VendorSettings(timeout=5), Leases(), "k")

    def sessions(self, tls: ssl.SSLContext | None) -> VendorSessions:
        hosts = [f"{host}:{self.vendor.port}" for host in ("127.0.0.1", "localhost")]
        return VendorSessions(AllowedAddresses.of(hosts), tls=tls)


@pytest.fixture
async def secured(tmp_path: Path) -> AsyncIterator[Secured]:
    certificate = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")
    async with RawVendor(tls=context) as vendor:
        yield Secured(vendor, certificate)


def _self_signed(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "vendor")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    return folder / "certificate.pem"


@pytest.mark.parametrize(
    ("host", "rooted", "reached"), [("127.0.0.1", True, True), ("127.0.0.1", False, False), ("localhost", True, False)]
)
async def test_a_vendor_is_believed_for_its_own_name_only(
    secured: Secured, host: str, rooted: bool, reached: bool
) -> None:
    tls = tls_context()
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
