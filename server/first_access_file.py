"""First access of a deployment in a file, for a start whose standard output no person reads: a log would keep it."""

import json
from pathlib import Path

from core.private_file import write_once
from core.secret import Secret

FIRST_ACCESS_FILE = "first-access.json"


def write_first_access(home: Path, api_token: Secret | None, sign_in_link: Secret | None) -> Path | None:
    """Write the API token and the sign-in link of a first start into the data folder (mode 0600); None at any other
    start, which has neither. What an earlier deployment left in the folder is replaced.

    Raises:
        OSError: the file cannot be written.
    """
    if api_token is None or sign_in_link is None:
        return None
    path = home / FIRST_ACCESS_FILE
    path.unlink(missing_ok=True)
    document = {"api_token": api_token.reveal(), "sign_in_link": sign_in_link.reveal()}
    write_once(path, json.dumps(document) + "\n")
    return path
