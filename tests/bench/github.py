"""GitHub as the vendor of the benchmark: a credential in the vault, and a trivial call that the upstream answers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TOOL = "get_latest_release"
MOST_AT_ONCE = 100


def connect_github(home: Path, upstream: int) -> None:
    """Point the running product's GitHub at the upstream, and store a token of the first administrator's.

    Raises:
        subprocess.CalledProcessError: a command failed; its own words went to standard error.
    """
    enable_service(home, upstream, "github")
    _mcpist(home, upstream, "credential", "set", "github", "--user", "admin@localhost", "--stdin", secret="bench-token")


def enable_service(home: Path, upstream: int, module: str) -> None:
    """Switch on a module, and point it at the upstream.

    Raises:
        subprocess.CalledProcessError: see :func:`connect_github`.
    """
    given = (f"base_url=http://127.0.0.1:{upstream}", f"concurrency={MOST_AT_ONCE}")
    _mcpist(home, upstream, "service", "set", module, *given)
    _mcpist(home, upstream, "service", "enable", module)


def asking(text: str, owner: str = "now") -> dict[str, Any]:
    """Arguments of the meta-tool `call` whose answer holds `text`; the upstream waits as its `owner` says."""
    return {"module": "github", "tool_name": TOOL, "params": {"owner": owner, "repo": text}}


def _mcpist(home: Path, upstream: int, *words: str, secret: str = "") -> None:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MCPIST_")}
    here = {"MCPIST_HOME": str(home), "MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{upstream}"}
    argv = [str(Path(sys.executable).with_name("mcpist")), *words]
    subprocess.run(argv, env={**plain, **here}, input=secret, text=True, stdout=subprocess.DEVNULL, check=True)
