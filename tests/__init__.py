"""Tests mirror the source folders; `path/` tells one story per request."""
