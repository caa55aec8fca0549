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
import contextlib
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.node import NODE, package_file, require_node_packages
from tests.support.reuse import REUSES

SERVER = Path(__file__).with_name("server.mjs")
START_SECONDS = 30
REUSED = b"refresh_token_reuse_detected\n"


@dataclass(frozen=True, slots=True)
class OauthProvider:
    """A provider that has said that it is ready."""

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


@contextlib.asynccontextmanager
async def oauth_provider(
    folder: Path, *, redirect_uris: Iterable[str], port: int = 0, client_id: str = "mcpist", **options: object
) -> AsyncGenerator[OauthProvider]:
    """Run one until the block is left; `folder` gets its log. Skips the test where the packages are missing."""
    require_node_packages()
    environment = {name.upper(): str(value) for name, value in options.items()}
    environment |= {"PORT": str(port), "CLIENT_ID": client_id, "REDIRECT_URIS": " ".join(redirect_uris)}
    with (folder / f"oauth-provider-{os.urandom(3).hex()}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            NODE, SERVER, package_file("oidc-provider", "lib/index.js"),
            env={"PATH": os.defpath, "HOME": str(folder), **environment},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            with REUSES.counted("oauth_provider", partial(_reuses, Path(log.name))):
                yield await _ready(process, Path(log.name))
        finally:
            await _ended(process)


def _reuses(log: Path) -> int:
    return log.read_bytes().count(REUSED)


async def _ready(process: asyncio.subprocess.Process, log: Path) -> OauthProvider:
    assert process.stdout is not None
    async with asyncio.timeout(START_SECONDS):
        line = await process.stdout.readline()
    assert line, f"the provider ended before it was ready:\n{log.read_text()[-2000:]}"
    told = json.loads(line)
    client = told["clients"][0]
    return OauthProvider(told["issuer"], client["client_id"], client.get("client_secret", ""))


async def _ended(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(5):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
