"""The double on a socket: days, sleeps, exercises and devices of two accounts, by scope, as Google describes them."""

import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from aiohttp import web

from modules.google_health.parameters import (
    READ_ACTIVITY,
    READ_MEASUREMENTS,
    READ_PROFILE,
    READ_SETTINGS,
    READ_SLEEP,
)
from tests.support.google_health_double.points import (
    HealthRefused,
    get_day,
    read_civil,
    read_filter,
    write_civil,
    write_interval,
)
from tests.support.vendor_contract import contract
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, serve_double

Json = dict[str, Any]
USERS = "/v4/users/{usersId}"
POINTS = f"{USERS}/dataTypes/{{dataTypesId}}/dataPoints"
ALL_SCOPES = frozenset({READ_ACTIVITY, READ_MEASUREMENTS, READ_PROFILE, READ_SETTINGS, READ_SLEEP})
SCOPES = {
    "sleep": READ_SLEEP,
    "heart-rate": READ_MEASUREMENTS,
    "weight": READ_MEASUREMENTS,
    "daily-resting-heart-rate": READ_MEASUREMENTS,
    **dict.fromkeys(
        ("steps", "distance", "floors", "active-minutes", "active-zone-minutes", "total-calories", "exercise"),
        READ_ACTIVITY,
    ),
}
FIELDS = {
    "steps": "steps", "distance": "distance", "floors": "floors", "active-minutes": "activeMinutes",
    "active-zone-minutes": "activeZoneMinutes", "total-calories": "totalCalories", "heart-rate": "heartRate",
    "weight": "weight",
}  # fmt: skip
DENSE = frozenset({"active-minutes", "total-calories", "heart-rate"})
"""Of these one request may have 14 days, of the others 90."""
SESSIONS = frozenset({"sleep", "exercise"})


@dataclass
class HealthAccount:
    """What one person has: rolled-up values by data type and day, points by data type, devices."""

    id: str
    time_zone: str = "Europe/Berlin"
    days: dict[str, dict[date, Json]] = field(default_factory=dict[str, dict[date, Json]])
    points: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    devices: list[Json] = field(default_factory=list[Json])


@dataclass(frozen=True)
class HealthToken:
    account: HealthAccount
    scopes: frozenset[str] = ALL_SCOPES


class GoogleHealthDouble(VendorDouble):
    """`account` is that of most tokens, `stranger` that of the token `stranger`."""

    def __init__(self) -> None:
        super().__init__(contract("google-health"), {one: getattr(self, name) for one, name in ROUTES.items()})
        self.account, self.stranger = HealthAccount("ada1"), HealthAccount("eve2")
        self._numbers = itertools.count(1)
        self.tokens = {
            "full": HealthToken(self.account),
            "reader": HealthToken(self.account),
            "stranger": HealthToken(self.stranger),
        }

    def reset(self) -> None:
        """Take away all that was measured."""
        for account in (self.account, self.stranger):
            account.days.clear()
            account.points.clear()
            account.devices.clear()

    def add_day(self, day: date, *, account: HealthAccount | None = None, **values: Any) -> None:
        """Add what was measured on a day: ``steps=…, meters=…, active=…, light=…, kcal=…, beats=…, grams=…``."""
        made: dict[str, Json] = {}
        if "steps" in values:
            made["steps"] = {"countSum": str(values["steps"])}
        if "meters" in values:
            made["distance"] = {"millimetersSum": str(values["meters"] * 1_000)}
        if "floors" in values:
            made["floors"] = {"countSum": str(values["floors"])}
        if "active" in values:
            levels = {"VIGOROUS": values["active"], "LIGHT": values.get("light", 0)}
            listed = [{"activityLevel": name, "activeMinutesSum": str(one)} for name, one in levels.items()]
            made["active-minutes"] = {"activeMinutesRollupByActivityLevel": listed}
        if "zone" in values:
            made["active-zone-minutes"] = {"sumInCardioHeartZone": str(values["zone"])}
        if "kcal" in values:
            made["total-calories"] = {"kcalSum": float(values["kcal"])}
        if "beats" in values:
            low, middle, high = values["beats"]
            made["heart-rate"] = {
                "beatsPerMinuteMin": float(low), "beatsPerMinuteAvg": float(middle), "beatsPerMinuteMax": float(high),
            }  # fmt: skip
        if "grams" in values:
            made["weight"] = {"weightGramsAvg": float(values["grams"])}
        for kind, value in made.items():
            (account or self.account).days.setdefault(kind, {})[day] = value

    def add_sleep(
        self, start: datetime, end: datetime, asleep: int, *, account: HealthAccount | None = None, **metadata: Any
    ) -> Json:
        """Add a sleep with its minutes; start and end have the offset of the person's clock."""
        stages = [{"type": name, "minutes": str(one), "count": "3"} for name, one in (("DEEP", 60), ("REM", 90))]
        sleep: Json = {
            "interval": write_interval(start, end), "type": "STAGES", "metadata": metadata,
            "summary": {"minutesAsleep": str(asleep), "minutesAwake": "12", "stagesSummary": stages},
        }  # fmt: skip
        return self._add_point("sleep", {"dataPointName": self._name("sleep"), "sleep": sleep}, account)

    def add_exercise(
        self, start: datetime, end: datetime, title: str, *, account: HealthAccount | None = None, **more: Any
    ) -> Json:
        """Add an exercise."""
        exercise: Json = {
            "interval": write_interval(start, end), "displayName": title, "exerciseType": "WALKING",
            "activeDuration": f"{int((end - start).total_seconds())}s",
            "metricsSummary": {"caloriesKcal": 210.4, "distanceMillimeters": 4_200_500.0, "steps": "5100"}, **more,
        }  # fmt: skip
        return self._add_point("exercise", {"name": self._name("exercise"), "exercise": exercise}, account)

    def add_resting_heart_rate(self, day: date, beats: int, *, account: HealthAccount | None = None) -> Json:
        """Add the resting heart rate of a day."""
        value: Json = {"date": write_civil(day)["date"], "beatsPerMinute": str(beats)}
        return self._add_point("daily-resting-heart-rate", {"dailyRestingHeartRate": value}, account)

    def add_device(self, model: str, *, account: HealthAccount | None = None) -> Json:
        made: Json = {
            "name": f"users/me/pairedDevices/{next(self._numbers)}", "deviceVersion": model, "deviceType": "TRACKER",
            "batteryStatus": "High", "batteryLevel": 80, "lastSyncTime": "2026-03-01T08:00:00Z",
        }  # fmt: skip
        (account or self.account).devices.append(made)
        return made

    def _name(self, kind: str) -> str:
        return f"users/me/dataTypes/{kind}/dataPoints/{next(self._numbers)}"

    def _add_point(self, kind: str, point: Json, account: HealthAccount | None) -> Json:
        (account or self.account).points.setdefault(kind, []).append(point)
        return point

    def authenticate(self, request: web.Request) -> HealthToken:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        token = self.tokens.get(secret) if scheme == "Bearer" else None
        if token is None:
            raise HealthRefused(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        return token

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return HealthRefused(status, "NOT_FOUND" if status == 404 else "INVALID_ARGUMENT", reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        if call.values["usersId"] not in ("me", call.caller.account.id):
            raise HealthRefused(404, "NOT_FOUND", "No such user.")
        kind = call.values.get("dataTypesId")
        if kind is not None and kind not in SCOPES:
            raise HealthRefused(400, "INVALID_ARGUMENT", "Unsupported data type.")
        needed = SCOPES[kind] if kind else NEEDED.get(operation[1])
        granted: frozenset[str] = call.caller.scopes
        if needed not in granted if needed else not granted:
            raise HealthRefused(403, "PERMISSION_DENIED", reason="ACCESS_TOKEN_SCOPE_INSUFFICIENT")

    def get_identity(self, call: VendorCall) -> Json:
        return {"name": "users/me/identity", "healthUserId": call.caller.account.id, "legacyUserId": "ABC123"}

    def get_profile(self, call: VendorCall) -> Json:
        return {
            "name": "users/me/profile", "age": 36, "membershipStartDate": write_civil(date(2020, 5, 4))["date"],
            "autoWalkingStrideLengthMm": 740, "userConfiguredRunningStrideLengthMm": 1_010,
        }  # fmt: skip

    def get_settings(self, call: VendorCall) -> Json:
        return {
            "name": "users/me/settings", "timeZone": call.caller.account.time_zone, "languageLocale": "de_DE",
            "distanceUnit": "DISTANCE_UNIT_KILOMETERS", "weightUnit": "WEIGHT_UNIT_KILOGRAMS",
        }  # fmt: skip

    def list_devices(self, call: VendorCall) -> Json:
        return self._cut(call.query, call.caller.account.devices, "pairedDevices", 100)

    def list_points(self, call: VendorCall) -> Json:
        kind = call.values["dataTypesId"]
        start, end = read_filter(kind, call.query.get("filter", ""))
        points = call.caller.account.points.get(kind, [])
        found = [one for one in points if start <= get_day(kind, one) < end]
        found.sort(key=lambda one: get_day(kind, one), reverse=True)
        return self._cut(call.query, found, "dataPoints", 25 if kind in SESSIONS else 10_000)

    def roll_up(self, call: VendorCall) -> Json:
        kind, body = call.values["dataTypesId"], call.body
        start, end = (read_civil(body["range"][name]) for name in ("start", "end"))
        most = 14 if kind in DENSE else 90
        if kind not in FIELDS or not start < end or (end - start).days > most or body.get("pageSize", 1) > most:
            raise HealthRefused(400, "INVALID_ARGUMENT", "The range is not supported for this data type.")
        known = call.caller.account.days.get(kind, {})
        rows = [
            {
                "civilStartTime": write_civil(day), "civilEndTime": write_civil(day + timedelta(days=1)),
                FIELDS[kind]: known[day],
            }
            for day in sorted(known) if start <= day < end
        ]  # fmt: skip
        return {"rollupDataPoints": rows} if rows else {}

    def _cut(self, query: dict[str, str], found: list[Json], name: str, most: int) -> Json:
        """The page that was asked for; what is empty is left out. A token is good for the same filter only."""
        size, token = min(int(query.get("pageSize", most)), most), query.get("pageToken", "")
        mark = str(sum(query.get("filter", "").encode()))
        if size < 1 or (token and token.partition("-")[2] != mark):
            raise HealthRefused(400, "INVALID_ARGUMENT", "Invalid page token.")
        place = int(token.partition("-")[0]) if token else 0
        more = {"nextPageToken": f"{place + size}-{mark}"} if place + size < len(found) else {}
        rows = found[place : place + size]
        return {name: rows, **more} if rows else {}


NEEDED = {
    f"{USERS}/profile": READ_PROFILE,
    f"{USERS}/settings": READ_SETTINGS,
    f"{USERS}/pairedDevices": READ_SETTINGS,
}
ROUTES: dict[Operation, str] = {
    ("get", f"{USERS}/identity"): "get_identity",
    ("get", f"{USERS}/profile"): "get_profile",
    ("get", f"{USERS}/settings"): "get_settings",
    ("get", f"{USERS}/pairedDevices"): "list_devices",
    ("get", POINTS): "list_points",
    ("get", f"{POINTS}:reconcile"): "list_points",
    ("post", f"{POINTS}:dailyRollUp"): "roll_up",
}


@contextlib.asynccontextmanager
async def google_health_double() -> AsyncIterator[GoogleHealthDouble]:
    """Serve a double with the tokens `full` and `reader` of one account, and `stranger` of another."""
    async with serve_double(GoogleHealthDouble()) as double:
        yield double
