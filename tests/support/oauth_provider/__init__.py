"""A company's identity provider (or a vendor's authorization server): npm's certified `oidc-provider` on loopback.

    async with oauth_provider(tmp_path, redirect_uris=[…]) as provider:
        provider.issuer, provider.client_id, provider.client_secret
        await provider.sign_in_as("ada@acme.test", name="Ada")
        await provider.control({"set": {"denyConsent": True}})
        (await provider.told())["counters"]

Nobody is asked anything: whoever `login_hint` names, else the account set last, is signed in and consents. Refresh
tokens rotate and are single use; PKCE is required; `iss` is in every answer (RFC 9207).

Options, as environment variables in lower case: `access_token_ttl`, `refresh_token_ttl`, `rotate`, `grace_seconds`,
`omit_unchanged_refresh_token`, `require_offline_access`, `client_auth`, `client_jwks` (the client's key set, for
``private_key_jwt``), `resource_scopes`, `token_claims`, `scopes`
(those of resources that clients may register with), `dcr_initial_access_token`. Access tokens for a resource (RFC 8707)
are JWTs of RFC 9068, signed by ES256.
The control endpoint takes `set` (settings), `claims` ({sub: claims}), `faults`, `revoke_account`, `cimd` ({client_id:
document}) and `reset_counters`. A fault is ``{"grant": "authorization_code", "kind": …, "times": 1}``; kinds:
`hang_up_before` (after `ms`), `hang_up_after`, `delay_before` and `delay_after` (`ms`), `status` (`status`, `headers`,
`body`), `garbage` (`body`).
"""

import asyncio
import atexit
import contextlib
import itertools
import json
import os
import subprocess
import threading
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.node import NODE, package_file, require_node_packages
from tests.support.reuse import REUSES

SERVER = Path(__file__).with_name("server.mjs")
REUSED = b"refresh_token_reuse_detected\n"


@dataclass(frozen=True, slots=True)
class OauthProvider:
    """A provider that listens."""

    issuer: str
    client_id: str
    client_secret: str

    async def control(self, order: dict[str, Any]) -> dict[str, Any]:
        """Change how it behaves; what it tells of itself afterwards."""
        async with aiohttp.ClientSession() as session, session.post(f"{self.issuer}/__control", json=order) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def told(self) -> dict[str, Any]:
        """Its settings, counters, pending faults and grants."""
        return await self.control({})

    async def sign_in_as(self, account: str, **claims: Any) -> None:
        """Who signs in from now on, in a browser without a session there; `claims` replace the usual ones."""
        await self.control({"set": {"account": account}, "claims": {account: claims}})


class _ProviderProcess:
    """The Node process in which all providers of this test process run: to start Node takes half a second."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def start(self, environment: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Start a provider; its number, and what it says of itself.

        Raises:
            AssertionError: it could not start.
        """
        number = next(self._numbers)
        return number, self._order({"number": number, "start": environment})

    def stop(self, number: int) -> None:
        """Close a provider's port and its connections, and forget all that it knew."""
        self._order({"number": number})

    def _order(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._turn:
            process = self._process = self._process or self._spawn()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        assert line, "the process of the OAuth providers has ended"
        told = json.loads(line)
        assert "error" not in told, told
        return told

    def _spawn(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [NODE, SERVER, package_file("oidc-provider", "lib/index.js")], env={"PATH": os.defpath},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        atexit.register(self._end, process)
        return process

    @staticmethod
    def _end(process: "subprocess.Popen[bytes]") -> None:
        process.communicate()


_PROCESS = _ProviderProcess()


@contextlib.asynccontextmanager
async def oauth_provider(
    folder: Path, *, redirect_uris: Iterable[str], port: int = 0, client_id: str = "mcpist", **options: object
) -> AsyncGenerator[OauthProvider]:
    """Run one until the block is left; `folder` gets its log. Skips the test where the packages are missing."""
    require_node_packages()
    log = folder / f"oauth-provider-{os.urandom(3).hex()}.log"
    log.touch()
    environment = {name.upper(): str(value) for name, value in options.items()}
    environment |= {"PORT": str(port), "CLIENT_ID": client_id, "REDIRECT_URIS": " ".join(redirect_uris)}
    number, told = await asyncio.to_thread(_PROCESS.start, environment | {"LOG": str(log)})
    client = told["clients"][0]
    try:
        with REUSES.counted("oauth_provider", partial(_reuses, log)):
            yield OauthProvider(told["issuer"], client["client_id"], client.get("client_secret", ""))
    finally:
        await asyncio.to_thread(_PROCESS.stop, number)


def _reuses(log: Path) -> int:
    return log.read_bytes().count(REUSED)
