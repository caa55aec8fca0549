"""The settings of a service: checked against the form that its module's vendor declares."""

from collections.abc import Collection, Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from core.errors import Invalid
from gateway.arguments import nearest
from modules.kit import VendorSettings

MOST_PROBLEMS = 5


def changed(
    form: type[VendorSettings], stored: Mapping[str, Any], given: Mapping[str, str], unset: Collection[str]
) -> dict[str, Any]:
    """The stored settings with those that are `given` as text, without those that are `unset`; defaults are left out.

    Raises:
        Invalid: names each setting that is unknown or has the wrong form, and what was expected; never its value.
    """
    return applied(form, stored, {**dict.fromkeys(unset), **{name: read_value(value) for name, value in given.items()}})


def applied(form: type[VendorSettings], stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of JSON values; None is back to the default.

    Raises:
        Invalid: see :func:`changed`.
    """
    unset = {name for name, value in changes.items() if value is None}
    unknown = [name for name in changes if name in unset and name not in form.model_fields and name not in stored]
    if unknown:
        raise Invalid(_unknown(form, unknown[0]))
    kept = {name: value for name, value in stored.items() if name not in unset}
    made = parsed(form, {**kept, **{name: value for name, value in changes.items() if name not in unset}})
    return made.model_dump(mode="json", exclude_unset=True)


def parsed(form: type[VendorSettings], stored: Mapping[str, Any]) -> VendorSettings:
    """Stored settings as the module's own form.

    Raises:
        Invalid: names what does not fit, such as a setting that an earlier version of the module had.
    """
    try:
        return form.model_validate(stored)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MOST_PROBLEMS]
        raise Invalid("; ".join(_told(form, problem) for problem in problems)) from None


def read_value(text: str) -> Any:
    """A value that was typed. Lists and objects are written as JSON; everything else is read by its field."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _told(form: type[VendorSettings], problem: Any) -> str:
    location: tuple[str | int, ...] = problem["loc"]
    name = str(location[0]) if location else "settings"
    if problem["type"] == "extra_forbidden" and len(location) == 1:
        return _unknown(form, name)
    field = form.model_fields.get(name)
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{name}: {message}" + (f" ({field.description})" if field and field.description else "")


def _unknown(form: type[VendorSettings], name: str) -> str:
    near = nearest(name, list(form.model_fields))
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(form.model_fields)}"
    return f"there is no setting {name[:63]!r}; {hint}"
