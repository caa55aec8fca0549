"""Which addresses MCPist may reach outside: the guard against server-side request forgery.

The address that is checked is the address that is connected to, so a name that changes its mind has no window.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

HTTPS_PORT = 443
MAX_CONCURRENT_LOOKUPS = 16

Lookup = Callable[[str, int], Awaitable[list[tuple[int, str]]]]
"""A name and a port → families and numeric addresses. Raises socket.gaierror."""

CheckedAddress = tuple[int, str, int]
"""Family, numeric address and port of what may be connected to."""

_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 that is handed out (IANA); mapped, NAT64 and local addresses lie outside of it."""
_NEVER = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "2001::/23",  # Teredo and other protocol assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address inside
        "3fff::/20",
    )
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class AddressNotAllowed(OSError):
    """The host has an address that MCPist may not reach, or none at all: the caller does not learn which."""


class HostNotFound(AddressNotAllowed):
    """The host has no address at all. Only where the caller may know whether a name exists is it told apart."""


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Addresses that outgoing requests may use: any of a private host, else only public ones, by TLS on `ports`."""

    private_hosts: frozenset[tuple[str, int]] = frozenset()
    ports: frozenset[int] = frozenset({HTTPS_PORT})

    @classmethod
    def from_hosts(cls, hosts: Iterable[str]) -> "AllowedAddresses":
        """Create from ``host:port`` texts in the form of the setting MCPIST_ALLOWED_PRIVATE_HOSTS."""
        pairs = (text.rpartition(":") for text in hosts)
        return cls(frozenset((host.strip("[]"), int(port)) for host, _, port in pairs))

    def allows(self, host: str, port: int, *, secure: bool) -> bool:
        """Check whether requests to `host`, a lower-case name or an address without brackets, are allowed; a name's
        addresses are checked on connecting."""
        if (host, port) in self.private_hosts:
            return True
        return secure and port in self.ports and _is_possibly_public(host)


def is_public(text: str) -> bool:
    """Check whether an address in its usual form is a public one; of an IPv4-mapped address the inner one is
    checked."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return _is_global(address.ipv4_mapped)
        if address.scope_id is not None or address not in _UNICAST:
            return False
    return _is_global(address)


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in _NEVER)


def _is_possibly_public(host: str) -> bool:
    if ":" in host or _NUMBER.fullmatch(host.rpartition(".")[2]):
        # A last label that is a number makes it an IPv4 address to every C library, in whatever spelling
        # (WHATWG URL §3.5); only the usual spelling is read here.
        return is_public(host)
    return host != "localhost" and not host.endswith(".localhost")


class GuardedResolver:
    """Resolves a name and gives its addresses only if all of them may be reached."""

    def __init__(self, allow: AllowedAddresses, lookup: Lookup) -> None:
        self._allow = allow
        self._lookup = lookup

    async def resolve(self, host: str, port: int) -> list[CheckedAddress]:
        """Resolve the addresses to connect to.

        Raises:
            HostNotFound: there is none.
            AddressNotAllowed: one of them is not public and the host is not listed.
            socket.gaierror: the name server cannot be asked now.
        """
        addresses = await self._resolve_checked(host, port)
        is_listed = (host, port) in self._allow.private_hosts
        if not addresses:
            raise HostNotFound
        if not (is_listed or all(is_public(address) for _, address in addresses)):
            raise AddressNotAllowed
        return [(family, address, port) for family, address in addresses]

    async def _resolve_checked(self, host: str, port: int) -> list[tuple[int, str]]:
        try:
            return await self._lookup(host, port)
        except UnicodeError:  # a label that is too long or empty
            return []
        except socket.gaierror as error:
            if error.errno == socket.EAI_AGAIN:
                raise
            return []


class SystemLookup:
    """The operating system's resolver on threads of its own: a slow name server of one tenant's host keeps no other
    work of the process waiting."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_LOOKUPS, thread_name_prefix="vendor-names")

    async def __call__(self, host: str, port: int) -> list[tuple[int, str]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, _look_up, host, port)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> list[tuple[int, str]]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(int(family), str(address[0])) for family, _, _, _, address in infos]
