"""A client's own host: serves its client ID metadata document over TLS, with a certificate made for the test."""

import contextlib
import json
import threading
from collections.abc import Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.certificates import self_signed


@dataclass(frozen=True, slots=True)
class MetadataHost:
    """`client_id` is the document's URL, `certificate` the file of the root that vouches for it."""

    address: str
    client_id: str
    certificate: Path


@contextlib.contextmanager
def metadata_host(redirect_uri: str) -> Generator[MetadataHost]:
    """Serve until the block is left."""
    with TemporaryDirectory() as folder:
        signed = self_signed(Path(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        server.socket = signed.server().wrap_socket(server.socket, server_side=True)
        address = f"127.0.0.1:{server.server_address[1]}"
        client_id = f"https://{address}/client.json"
        _Handler.document = json.dumps(
            {
                "client_id": client_id,
                "client_name": "SDK of Python",
                "redirect_uris": [redirect_uri],
                "token_endpoint_auth_method": "none",
            }
        ).encode()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield MetadataHost(address, client_id, signed.certificate)
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    document = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.document)))
        self.end_headers()
        self.wfile.write(self.document)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
