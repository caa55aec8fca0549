"""A broker behind a real socket, in the test's own loop, and a client with a key that it knows."""

import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from broker.interface import Broker
from broker.rpc.app import BrokerApp, WorkerBrokerApp
from broker.rpc.codec import WORKER_PATHS
from broker.rpc.gateway_keys import TrustedGateways, load_private_key, make_key_pair
from broker.rpc.rpc_client import HttpBroker, WorkerHttpBroker, open_http_broker, open_worker_broker
from broker.rpc.service_token import ServiceTokenSigner, ServiceTokenVerifier
from core.http_server.asgi import PathDispatcher
from core.http_server.server import HttpServer, run_http_server
from server.listener import open_unix_listener


@dataclass(slots=True)
class Served:
    """A broker that listens, a gateway's client of it and a worker's."""

    url: str
    key: ServiceTokenSigner
    client: HttpBroker
    worker_key: ServiceTokenSigner
    worker: WorkerHttpBroker


@contextlib.asynccontextmanager
async def served_over_http(broker: Broker, folder: Path, *, unix: bool = False) -> AsyncIterator[Served]:
    """Serve `broker` on loopback, or on a socket in `folder`, with fresh keys."""
    key, gateways = _make_key(folder / "gateway.pem", folder / "gateways.pem")
    worker_key, workers = _make_key(folder / "worker.pem", folder / "workers.pem")
    app = PathDispatcher(dict.fromkeys(WORKER_PATHS, WorkerBrokerApp(broker, workers)))
    app.otherwise = BrokerApp(broker, gateways)
    with contextlib.ExitStack() as stack:
        if unix:
            listener = stack.enter_context(open_unix_listener(folder / "b.sock"))
            url = f"unix:{folder / 'b.sock'}"
        else:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with (
            run_http_server(HttpServer(app), listener),
            open_http_broker(url, key) as client,
            open_worker_broker(url, worker_key) as worker,
        ):
            yield Served(url, key, client, worker_key, worker)


def _make_key(private: Path, public: Path) -> tuple[ServiceTokenSigner, ServiceTokenVerifier]:
    make_key_pair(private, public)
    return ServiceTokenSigner(load_private_key(private)), ServiceTokenVerifier(TrustedGateways(public))
