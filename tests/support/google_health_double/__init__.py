"""A Google Health of its own."""

from tests.support.google_health_double.server import (
    ROUTES,
    GoogleHealthDouble,
    HealthAccount,
    HealthRefused,
    HealthToken,
    google_health_double,
)

__all__ = [
    "ROUTES",
    "GoogleHealthDouble",
    "HealthAccount",
    "HealthRefused",
    "HealthToken",
    "google_health_double",
]
