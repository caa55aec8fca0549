"""What this repository demands of its own source text, beyond ruff, the type checker and the import contracts."""
