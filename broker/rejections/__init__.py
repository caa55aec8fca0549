"""Credentials that cannot be renewed and that a vendor answers with 401: asked about again before anybody is told."""
