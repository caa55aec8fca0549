"""First access of a deployment in a file, for a start whose standard output no person reads: a log would keep it."""

import json
from pathlib import Path

from core.private_file import write_once
from server.ready import ServerReady

FIRST_ACCESS_FILE = "first-access.json"


def write_first_access(ready: ServerReady) -> Path | None:
    """Write the API token and the sign-in link of a first start into the data folder (mode 0600); None at any other
    start. What an earlier deployment left in the folder is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    if ready.api_token is None or ready.sign_in_link is None:
        return None
    path = ready.home / FIRST_ACCESS_FILE
    path.unlink(missing_ok=True)
    document = {"api_token": ready.api_token.reveal(), "sign_in_link": ready.sign_in_link.reveal()}
    write_once(path, json.dumps(document) + "\n")
    return path
