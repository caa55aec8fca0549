#!/opt/mcpist/bin/python -I
"""Ask the process in this container whether it is ready: exit code 0 or 1, and its answer. `mcpist-probe /healthz` asks
whether it lives.

It asks the port of MCPIST_PORT on this machine. The standard library is enough, so that it takes a tenth of a second.
"""

import http.client
import os
import sys

TIMEOUT = 4.0  # seconds; the image's HEALTHCHECK gives 5
MOST_SHOWN = 2_000  # characters


def main(arguments: list[str]) -> int:
    """Print the answer of `/readyz`, or of the path that is named; 0 if its status is 200."""
    path = arguments[0] if arguments else "/readyz"
    host, port = os.environ.get("MCPIST_HOST", ""), int(os.environ.get("MCPIST_PORT") or 8080)
    connection = http.client.HTTPConnection(_get_local_address(host), port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        print(answer.read(MOST_SHOWN).decode("utf-8", "replace"))
    except OSError as error:
        print(f"nothing answers on port {port}: {error.strerror or 'no answer in time'}", file=sys.stderr)
        return 1
    return 0 if answer.status == 200 else 1


def _get_local_address(host: str) -> str:
    """Return where a process that listens on `host` is reached from the same machine."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 compared, not listened on


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
