"""The source of the example package is importable, as it is for its author after an editable installation."""

import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("raindrop")

sys.path.insert(0, str(SOURCE))
