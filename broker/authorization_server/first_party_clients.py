"""Clients that come with the product: known to every deployment, to every tenant, and to nobody else's server.

They are public, as every program on a person's machine is: any other program there can take their place. So people are
asked each time before one gets to administer (broker.authorization_server.consents), and
issuing credentials needs a new sign-in.
"""

from broker.authorization_server.client_registry import Client
from core.scopes import ALL_SCOPES

CLI_CLIENT = Client(
    id="mcpist-cli",
    name="MCPist command line",
    kind="registered",
    redirect_uris=("http://127.0.0.1/callback",),
    scopes=ALL_SCOPES,
)
FIRST_PARTY_CLIENTS = (CLI_CLIENT,)
