"""Write the console's types of the admin API (admin_ui/console/src/api/schema.d.ts) from the OpenAPI document.

    python -m tools.console_types            # after a change of the API; commit the file
    python -m tools.console_types --check    # does the committed file belong to the API as it is? Needs no Node

Its first lines hold the digests of the document and of what follows them, so that a drift is seen without Node.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import console
from tools.openapi_document import build_openapi_document

TYPES = console.SOURCES / "src" / "api" / "schema.d.ts"
COMMAND = "make console-types"


def find_drift() -> str:
    """Tell why the committed file is not that of the API, "" if it is."""
    document, body, _ = _read_head()
    if document != _compute_digest(_dump_document()):
        return f"the admin API has changed: run `{COMMAND}` and commit {TYPES.relative_to(console.ROOT)}"
    if body != _compute_digest(_read_head()[2]):
        return f"{TYPES.relative_to(console.ROOT)} was edited by hand: run `{COMMAND}`"
    return ""


def write_types() -> None:
    """Generate the file with openapi-typescript.

    Raises:
        tools.console.BuildError: it failed, or its packages cannot be installed.
    """
    tools = console.install()
    text = _dump_document()
    with tempfile.TemporaryDirectory() as folder:
        document, types = Path(folder) / "openapi.json", Path(folder) / "schema.d.ts"
        document.write_text(text)
        options = ["-o", str(types), "--root-types", "--alphabetize"]
        console.run_script(tools, "openapi-typescript", str(document), *options)
        body = types.read_text()
    head = f"// Made by `{COMMAND}`.\n// document {_compute_digest(text)}\n// body {_compute_digest(body)}\n"
    TYPES.write_text(head + body)


def main(arguments: Sequence[str]) -> int:
    """Write the file, or check it."""
    if "--check" not in arguments:
        write_types()
        return 0
    drift = find_drift()
    print(drift or "the console's types are those of the API")
    return 1 if drift else 0


def _read_head() -> tuple[str, str, str]:
    """Read the two digests and the rest of the committed file."""
    _, document, body, rest = TYPES.read_text().split("\n", 3)
    return document.rpartition(" ")[2], body.rpartition(" ")[2], rest


def _dump_document() -> str:
    return json.dumps(build_openapi_document(), sort_keys=True)


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
