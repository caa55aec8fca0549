"""Report of a server that is ready."""

from dataclasses import dataclass
from pathlib import Path

from core.secret import Secret


@dataclass(frozen=True, slots=True)
class ServerReady:
    """Addresses and first access of the product; `api_token` and `sign_in_link` are set at the first start only.
    `tenant` is the one to name in commands, "" where there is one only."""

    mcp_url: str
    console_url: str | None
    home: Path
    admin_email: str
    api_token: Secret | None
    sign_in_link: Secret | None
    tenant: str = ""
