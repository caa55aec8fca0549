"""The product in a process of its own, whose authorization server lets clients in by every way there is."""

import contextlib
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from pathlib import Path

import httpx2

from tests.clients.browser_person import BrowserPerson
from tests.clients.metadata_document import MetadataHost, metadata_host
from tests.support.fork_server import ForkedProcess
from tests.support.running_product import MCPIST, START_SECONDS, command, data_folder, environment, free_port

REDIRECT = "http://127.0.0.1:3456/callback"
IDENTITY = "[authorization_server]\ndynamic_registration = true\n"


@dataclass(frozen=True, slots=True)
class ClientsDeployment:
    """The running product."""

    home: Path
    port: int
    mcp_url: str
    host: MetadataHost

    @property
    def issuer(self) -> str:
        return self.mcp_url.removesuffix("/mcp")


@contextlib.contextmanager
def running_deployment() -> Generator[ClientsDeployment]:
    """`mcpist up`, until the block is left."""
    with data_folder() as home, metadata_host(REDIRECT) as host:
        identity = home.with_name("identity.toml")
        identity.write_text(IDENTITY)
        identity.chmod(0o600)
        port = free_port()
        variables = {
            "MCPIST_IDENTITY_FILE": str(identity),
            "MCPIST_ALLOWED_PRIVATE_HOSTS": host.address,
            "SSL_CERT_FILE": str(host.certificate),
        }
        with ForkedProcess(
            [str(MCPIST), "up", "--json"],
            env=environment(home, port, **variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as server:
            assert server.stdout is not None
            ready = json.loads(server.stdout.readline())
            yield ClientsDeployment(home, port, ready["mcp_url"], host)
            server.send_signal(signal.SIGTERM)
            server.wait(START_SECONDS)


@contextlib.asynccontextmanager
async def signed_in(deployment: ClientsDeployment) -> AsyncIterator[BrowserPerson]:
    """The administrator in a browser of theirs."""
    made = await command(deployment.home, deployment.port, "user", "link", "admin@localhost")
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as browser:
        person = BrowserPerson(deployment.issuer, made["sign_in_link"], browser)
        await person.sign_in()
        yield person
