"""Environment variables as fields of a settings class, and reading them from a mapping."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from core.config.parsers import SettingFormatError

_DECLARED = "variable"


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """One environment variable. `form` completes "must be …"; a secret one is never repeated in a message."""

    name: str
    parse: Callable[[str], Any]
    requirement: str
    description: str
    default: str
    secret: bool = False


def declare_setting(
    name: str,
    read: Callable[[str], Any],
    form: str,
    about: str,
    default: Any,
    *,
    shown_default: str = "",
    secret: bool = False,
) -> Any:
    """A dataclass field that comes from the variable `name`; `shown_default` is the documented default."""
    text = f"{default:g}" if isinstance(default, float) else str(default)
    variable = EnvironmentVariable(name, read, form, about, shown_default or text, secret)
    return field(default=default, metadata={_DECLARED: variable})


def list_variables(settings: type[Any]) -> dict[str, EnvironmentVariable]:
    """Field name → variable, in the order of the class; fields that no variable sets are left out."""
    setting_fields: tuple[Field[Any], ...] = fields(settings)
    return {field.name: field.metadata[_DECLARED] for field in setting_fields if _DECLARED in field.metadata}


def read_environment(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The values that `environment` sets (one set to nothing counts as not set), and what is wrong with others."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, variable in list_variables(settings).items():
        text = environment.get(variable.name, "").strip()
        if not text:
            continue
        try:
            values[name] = variable.parse(text)
        except ValueError as error:
            problems.append(_describe_error(variable, text, error))
    return values, problems


def _describe_error(variable: EnvironmentVariable, text: str, error: ValueError) -> str:
    if text.startswith("tcp://"):
        # Kubernetes sets MCPIST_PORT and more in every pod of a namespace that has a service called mcpist.
        return f"{variable.name} was set by a Kubernetes service link: set enableServiceLinks to false in the pod."
    rejected_text = "" if variable.secret or "://" in text else f", not {text[:60]!r}"
    hint = f" ({error})" if isinstance(error, SettingFormatError) else ""
    return f"{variable.name} must be {variable.requirement}{rejected_text}{hint}."
