"""The account: its profile, its settings, its devices."""

from modules.google_health.parameters import READ_PROFILE, READ_SETTINGS
from modules.google_health.rest_client import PAGING, fetch_page, send_request
from modules.google_health.results import HealthProfile, HealthSettings, PairedDevice, PairedDevices
from modules.kit import Context, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, PerPage
from modules.kit.results import read_object

DEVICES = "/v4/users/me/pairedDevices"


@tool(hints=READ_HINTS, scopes=[READ_PROFILE])
async def get_health_profile(context: Context) -> HealthProfile:
    """Age, stride and first day of the account."""
    return read_object(await send_request(context, "GET", "/v4/users/me/profile"), HealthProfile)


@tool(hints=READ_HINTS, scopes=[READ_SETTINGS])
async def get_health_settings(context: Context) -> HealthSettings:
    """Time zone, language and units of the account."""
    return read_object(await send_request(context, "GET", "/v4/users/me/settings"), HealthSettings)


@tool(hints=READ_HINTS, scopes=[READ_SETTINGS], keywords="battery, tracker, watch, fitbit")
async def list_paired_devices(context: Context, per_page: PerPage = 25, cursor: CursorText = None) -> PairedDevices:
    """Trackers, watches and scales, with their battery and last sync."""
    page = await fetch_page(
        context, PairedDevice, DEVICES, parse_cursor(cursor, PAGING, DEVICES, per_page), "pairedDevices", {}
    )
    return PairedDevices(devices=page.rows, **page.fields)


TOOLS = (get_health_profile, get_health_settings, list_paired_devices)
