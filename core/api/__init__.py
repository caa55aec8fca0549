"""Shared kit of the two applications behind ``/api/v1``: the control plane's and the trust zone's.

Neither may import the other, so it stands here; nothing else of core imports it, and FastAPI is loaded by those
applications alone (it costs half a second).
"""
