"""What several test folders share; fixtures reach the tests through ``tests/conftest.py``."""
