"""A broker behind a real socket, in the test's own loop, and a client with a key that it knows."""

import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from broker.http.app import BrokerApp
from broker.http.client import HttpBroker, http_broker
from broker.http.gateway_keys import Gateways, load_private, make_pair
from broker.http.service_token import ServiceKey, ServiceTokens
from broker.interface import Broker
from gateway.http_server.server import HttpServer, serving
from gateway.single.serving import listening_at


@dataclass(slots=True)
class Served:
    """A broker that listens."""

    url: str
    key: ServiceKey
    client: HttpBroker


@contextlib.asynccontextmanager
async def served_over_http(broker: Broker, folder: Path, *, unix: bool = False) -> AsyncIterator[Served]:
    """Serve `broker` on loopback, or on a socket in `folder`, with a fresh key."""
    private, public = folder / "gateway.pem", folder / "gateways.pem"
    make_pair(private, public)
    key = ServiceKey(load_private(private))
    app = BrokerApp(broker, ServiceTokens(Gateways(public)))
    with contextlib.ExitStack() as stack:
        if unix:
            listener = stack.enter_context(listening_at(folder / "b.sock"))
            url = f"unix:{folder / 'b.sock'}"
        else:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with serving(HttpServer(app), listener), http_broker(url, key) as client:
            yield Served(url, key, client)
