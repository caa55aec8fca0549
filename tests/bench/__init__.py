"""Speed and memory of the product beside references in the same run: ``python -m tests.bench --help``."""
