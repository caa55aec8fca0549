"""A vendor on loopback, and clients that are allowed to reach it."""

from collections.abc import AsyncIterator, Callable, Container
from dataclasses import dataclass, field

import pytest

from core.http.credential_headers import BEARER, CredentialScheme
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.retry_policy import LimitReader
from gateway.vendor_session.vendor_client import VendorClient
from gateway.vendor_session.vendor_connection import ConnectionOwner
from modules.kit import AccountRequest, ToolError, VendorAnswer, VendorApi, VendorSettings
from tests.gateway.vendor_session.doubles import RawVendor

TOKEN = "canary-token-3f9d"


OWNER = ConnectionOwner("k", "k")
NO_ACCOUNT = AccountRequest("/me", name="/name")


@dataclass(slots=True)
class Anywhere:
    def __contains__(self, origin: object) -> bool:
        return True


@dataclass(slots=True)
class FakeLease:
    version: int
    access_token: Secret
    origins: Container[str] = field(default_factory=Anywhere)
    scheme: CredentialScheme = BEARER


@dataclass(slots=True)
class Leases:
    """Gives leases in turn, the last for ever, and remembers which versions were reported as refused."""

    versions: list[int] = field(default_factory=lambda: [1])
    asked: list[int | None] = field(default_factory=list[int | None])
    broken_after: int = 1000
    scheme: CredentialScheme = BEARER

    async def lease(self, rejected_version: int | None = None) -> FakeLease:
        self.asked.append(rejected_version)
        if len([version for version in self.asked if version is not None]) > self.broken_after:
            raise ToolError("the credential is broken; ask an administrator")
        version = self.versions.pop(0) if len(self.versions) > 1 else self.versions[0]
        return FakeLease(version, Secret(f"{TOKEN}-{version}"), scheme=self.scheme)


class Time:
    """A clock that moves only when somebody waits for it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@dataclass(slots=True)
class VendorSessionApp:
    """A vendor, the session that may reach it, and what belongs to both."""

    vendor: RawVendor
    sessions: VendorClientFactory
    time: Time
    leases: Leases = field(default_factory=Leases)

    def client(
        self,
        *,
        base: str = "",
        deadline: float | None = None,
        key: str = "k",
        tenant: str = "",
        rate_limit: LimitReader | None = None,
        lacks_scope: Callable[[VendorAnswer], bool] | None = None,
        rejects_credential: Callable[[VendorAnswer], bool] | None = None,
        **settings: float,
    ) -> VendorClient:
        headers = {"accept": "application/json"}
        api = VendorApi(
            self.vendor.url + base,
            NO_ACCOUNT,
            headers=headers,
            rate_limit=rate_limit,
            lacks_scope=lacks_scope,
            rejects_credential=rejects_credential,
        )
        return self.sessions.create_client(
            api, VendorSettings.model_validate(settings), self.leases, ConnectionOwner(tenant or key, key), deadline
        )


@pytest.fixture
async def vendor() -> AsyncIterator[RawVendor]:
    async with RawVendor() as made:
        yield made


@pytest.fixture
async def app(vendor: RawVendor) -> AsyncIterator[VendorSessionApp]:
    time = Time()
    allow = AllowedAddresses.from_hosts([f"127.0.0.1:{vendor.port}"])
    sessions = VendorClientFactory(
        allow, clock=time, wall_clock=lambda: 1_700_000_000.0, pause=time.pause, chance=lambda: 0.5
    )
    await sessions.open()
    yield VendorSessionApp(vendor, sessions, time)
    await sessions.close()
