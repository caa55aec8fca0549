"""Tests of the observability of every process."""
