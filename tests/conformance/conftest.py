"""The module of the scenarios is importable, as it is where it is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
