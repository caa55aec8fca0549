"""Put checkov into .venv-policy, as requirements/policy.txt locks it: `python -m tools.policy`.

Beside .venv, because it pins what the product has in other versions. Where the registry is out of reach, this says so
and ends well: the test that needs it skips, and says so.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "policy.txt"
FOLDER = ROOT / ".venv-policy"
CHECKOV = FOLDER / "bin" / "checkov"
STAMP = FOLDER / "lock"


def main() -> int:
    """Install it, unless it is there."""
    if CHECKOV.exists() and STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes():
        return 0
    print("mcpist: installing the policy check of the chart", file=sys.stderr)
    pip = [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCK)]
    for command in ([sys.executable, "-m", "venv", "--clear", str(FOLDER)], [*pip, *locked]):
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            print("mcpist: it cannot be installed (see above); its test will skip", file=sys.stderr)
            return 0
    STAMP.write_bytes(LOCK.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
