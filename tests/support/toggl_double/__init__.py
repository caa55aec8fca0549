"""A Toggl Track of its own."""

from tests.support.toggl_double.server import (
    ROUTES,
    TOGGL_SCHEME,
    TogglAccount,
    TogglDouble,
    TogglToken,
    build_quota_refusal,
    load_toggl_description,
    toggl_double,
)

__all__ = [
    "ROUTES",
    "TOGGL_SCHEME",
    "TogglAccount",
    "TogglDouble",
    "TogglToken",
    "build_quota_refusal",
    "load_toggl_description",
    "toggl_double",
]
