"""Google Health, the successor of Fitbit's Web API, through its API version 4 at health.googleapis.com."""

from modules.google_health import account, daily_totals, sessions
from modules.google_health.error_messages import read_rate_limit
from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi

TOOLS = (*daily_totals.TOOLS, *sessions.TOOLS, *account.TOOLS)

MODULE = Module(
    name="google_health",
    title="Google Health",
    description="Google Health, also from Fitbit devices: steps, sleep, exercises, heart rate, weight; reading only.",
    scopes=frozenset(scope for one in TOOLS for scope in one.scopes),
    tools=TOOLS,
    icon=Icon("#0b8043", "M12 20C5 15 4 10 6.5 7.5S12 8 12 8s3-3 5.5-.5S19 15 12 20ZM7 12h3l1-2 2 4 1-2h3"),
    vendor=VendorApi(
        base_url="https://health.googleapis.com",
        account=AccountRequest("/v4/users/me/identity", name="/healthUserId"),
        rate_limit=read_rate_limit,
    ),
    samples={
        "start_date": ParameterSample("2026-02-02"),
        "end_date": ParameterSample("2026-02-08"),
    },
)
