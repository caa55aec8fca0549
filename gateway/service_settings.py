"""The settings of a service: checked against the form that its module declares, and read for its tools."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from uuid import UUID

import orjson
from pydantic import ValidationError

from core.concurrency.lru_cache import GenerationCache
from core.db import Database
from core.errors import Invalid, InvalidFields
from gateway.argument_validation import find_closest_match
from gateway.vendor_session.reachability import parse_base_url
from modules.kit import Module, ModuleSettings, ToolError, VendorSettings

MAX_PROBLEMS = 10
MAX_CACHED_SETTINGS = 1_000

Form = TypeVar("Form", bound=ModuleSettings)
_READ = "SELECT settings FROM core.services WHERE tenant_id = $1 AND module = $2"


class ServiceSettingsReader:
    """Settings of services in one process, kept for as long as the tenant's generation. `current` gives it."""

    def __init__(self, database: Database, current: Callable[[UUID], int | None]) -> None:
        self._database = database
        self._current = current
        self._cached = GenerationCache[tuple[UUID, str], ModuleSettings](MAX_CACHED_SETTINGS, current)

    async def get_settings(self, module: Module, form: type[Form], tenant_id: UUID) -> Form:
        """Return a tenant's settings of a module, in the form that it declares.

        Raises:
            ToolError: what is stored does not fit the form.
        """
        if form is not module.settings_form:
            raise TypeError(f"{module.name} declares another form of settings")
        key = tenant_id, module.name
        settings = self._cached.get(key)
        if settings is None:
            generation = self._current(tenant_id)
            settings = await self._read_settings(module, form, tenant_id)
            self._cached.put(key, settings, tenant_id, generation)
        assert isinstance(settings, form)
        return settings

    async def _read_settings(self, module: Module, form: type[Form], tenant_id: UUID) -> Form:
        async with self._database.tenant(tenant_id) as work:
            stored = await work.fetchval(_READ, module.name)
        try:
            return form.model_validate(orjson.loads(stored) if stored is not None else {})
        except ValidationError:
            raise build_unfit_settings_error(module) from None


def build_unfit_settings_error(module: Module) -> ToolError:
    """Build the error of a call whose service has settings that its module does not take."""
    return ToolError(
        f"{module.title} has invalid service settings; an administrator corrects them with mcpist service set"
    )


def apply_changes(module: Module, stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored settings with `changes`, where None is back to the default; defaults are left out.

    Raises:
        InvalidFields: names each setting that is unknown or has the wrong form, and what was expected; never its value.
    """
    form = module.settings_form
    if form is None:
        raise InvalidFields(dict.fromkeys(changes, f"{module.name} has nothing to set"))
    unset = {name for name, value in changes.items() if value is None}
    unknown = [name for name in changes if name in unset and name not in form.model_fields and name not in stored]
    if unknown:
        raise InvalidFields({name[:63]: _explain_unknown(form, name) for name in unknown})
    remaining = {name: value for name, value in stored.items() if name not in unset}
    settings = _parse_settings(
        form, {**remaining, **{name: value for name, value in changes.items() if name not in unset}}
    )
    if isinstance(settings, VendorSettings):
        _check_urls(module, settings, changes)
    return settings.model_dump(mode="json", exclude_unset=True)


def _check_urls(module: Module, settings: VendorSettings, changes: Mapping[str, Any]) -> None:
    host_settings = [] if module.vendor is None else [f"{host}_url" for host in module.vendor.hosts]
    for name in ("base_url", *host_settings):
        url: str | None = getattr(settings, name)
        if url is not None and name in changes:
            try:
                parse_base_url(url, name)
            except Invalid as error:
                raise InvalidFields({name: str(error).removeprefix(f"{name}: ")}) from None
        if url is not None and settings.base_url is None:
            raise InvalidFields({name: "it is only for a service whose base_url is set; set both, or unset both"})


def _parse_settings(form: type[Form], stored: Mapping[str, Any]) -> Form:
    """Return stored settings in the module's own form.

    Raises:
        InvalidFields: names what does not fit, such as a setting that an earlier version of the module had.
    """
    try:
        return form.model_validate(stored)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)[:MAX_PROBLEMS]
        raise InvalidFields(dict(_explain_problem(form, problem) for problem in problems)) from None


def parse_typed_value(text: str) -> Any:
    """Parse a value that was typed. Lists and objects are written as JSON; everything else is read by its field."""
    if text[:1] not in ("[", "{"):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _explain_problem(form: type[ModuleSettings], problem: Any) -> tuple[str, str]:
    """Name the setting and its problem."""
    location: tuple[str | int, ...] = problem["loc"]
    name = str(location[0]) if location else "settings"
    if problem["type"] == "extra_forbidden" and len(location) == 1:
        return name[:63], _explain_unknown(form, name)
    field = form.model_fields.get(name)
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return name[:63], message + (f" ({field.description})" if field and field.description else "")


def _explain_unknown(form: type[ModuleSettings], name: str) -> str:
    closest = find_closest_match(name, list(form.model_fields))
    hint = f"did you mean {closest}?" if closest else f"there are: {', '.join(form.model_fields)}"
    return f"there is no setting {name[:63]!r}; {hint}"
