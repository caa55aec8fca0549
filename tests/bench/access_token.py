"""An access token of the product's own authorization server, for measuring what JWTs cost beside API tokens."""

import base64
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

LONGEST_LIFE = "[authorization_server]\naccess_token_minutes = 60\n"


def prepare(home: Path) -> None:
    """Before the start: tokens that outlive a run of the benchmark."""
    home.mkdir(mode=0o700)
    file = home / "identity.toml"
    file.touch(mode=0o600)
    file.write_text(LONGEST_LIFE)


def access_token(home: Path, port: int) -> str:
    """By the client credentials of a machine that acts as the first administrator.

    Raises:
        subprocess.CalledProcessError, RuntimeError: there is none.
    """
    client = _machine(home)
    proof = base64.b64encode(f"{client['client_id']}:{client['client_secret']}".encode()).decode()
    headers = {"Authorization": f"Basic {proof}", "Content-Type": "application/x-www-form-urlencoded"}
    form = {"grant_type": "client_credentials", "resource": f"http://127.0.0.1:{port}/mcp"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/oauth/token", urlencode(form), headers)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    if response.status != 200:
        raise RuntimeError(f"no access token: {response.status} {answer}")
    return answer["access_token"]


def _machine(home: Path) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MCPIST_")}
    argv = [str(Path(sys.executable).with_name("mcpist")), "client", "add", "bench", "--acts-as", "admin@localhost"]
    ran = subprocess.run(
        [*argv, "--json"], env={**plain, "MCPIST_HOME": str(home)}, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(ran.stdout)
