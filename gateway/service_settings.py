"""The settings of a service: checked against the form that its module's vendor declares."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from core.errors import Invalid
from gateway.argument_validation import find_closest_match
from gateway.vendor_session.reachability import parse_base_url
from modules.kit import VendorApi, VendorSettings

MAX_PROBLEMS = 5


def apply_changes(api: VendorApi, stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored settings with `changes`, where None is back to the default; defaults are left out.

    Raises:
        Invalid: names each setting that is unknown or has the wrong form, and what was expected; never its value.
    """
    form = api.settings
    unset = {name for name, value in changes.items() if value is None}
    unknown = [name for name in changes if name in unset and name not in form.model_fields and name not in stored]
    if unknown:
        raise Invalid(_explain_unknown(form, unknown[0]))
    remaining = {name: value for name, value in stored.items() if name not in unset}
    settings = parse_settings(
        form, {**remaining, **{name: value for name, value in changes.items() if name not in unset}}
    )
    host_settings = [f"{host}_url" for host in api.hosts]
    for name in ("base_url", *host_settings):
        url: str | None = getattr(settings, name)
        if url is not None and name in changes:
            parse_base_url(url, name)
        if url is not None and settings.base_url is None:
            raise Invalid(f"{name}: it is only for a service with a base_url of its own; set both, or unset both")
    return settings.model_dump(mode="json", exclude_unset=True)


def parse_settings(form: type[VendorSettings], stored: Mapping[str, Any]) -> VendorSettings:
    """Stored settings as the module's own form.

    Raises:
        Invalid: names what does not fit, such as a setting that an earlier version of the module had.
    """
    try:
        return form.model_validate(stored)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
        raise Invalid("; ".join(_explain_problem(form, problem) for problem in problems)) from None


def parse_typed_value(text: str) -> Any:
    """Parse a value that was typed. Lists and objects are written as JSON; everything else is read by its field."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _explain_problem(form: type[VendorSettings], problem: Any) -> str:
    location: tuple[str | int, ...] = problem["loc"]
    name = str(location[0]) if location else "settings"
    if problem["type"] == "extra_forbidden" and len(location) == 1:
        return _explain_unknown(form, name)
    field = form.model_fields.get(name)
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{name}: {message}" + (f" ({field.description})" if field and field.description else "")


def _explain_unknown(form: type[VendorSettings], name: str) -> str:
    closest = find_closest_match(name, list(form.model_fields))
    hint = f"did you mean {closest}?" if closest else f"there are: {', '.join(form.model_fields)}"
    return f"there is no setting {name[:63]!r}; {hint}"
