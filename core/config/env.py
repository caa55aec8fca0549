"""Environment variables as fields of a settings class, and reading them from a mapping."""

import difflib
import pwd
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
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
    """Declare a dataclass field that is read from the variable `name`; `shown_default` is the documented default."""
    text = f"{default:g}" if isinstance(default, float) else str(default)
    variable = EnvironmentVariable(name, read, form, about, shown_default or text, secret)
    return field(default=default, metadata={_DECLARED: variable})


def list_variables(settings: type[Any]) -> dict[str, EnvironmentVariable]:
    """Map field names to variables, in the order of the class; fields that no variable sets are left out."""
    setting_fields: tuple[Field[Any], ...] = fields(settings)
    return {setting.name: setting.metadata[_DECLARED] for setting in setting_fields if _DECLARED in setting.metadata}


def read_environment(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Read the values that `environment` sets (one set to nothing counts as not set), and what is wrong with others."""
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


def list_unknown_variables(settings: type[Any], environment: Mapping[str, str], prefix: str) -> Iterable[str]:
    """Describe each variable of `environment` that begins with `prefix` and sets no field of `settings`."""
    known_names = {variable.name.removeprefix(prefix) for variable in list_variables(settings).values()}
    for name in sorted(name for name in environment if name.startswith(prefix)):
        if name.removeprefix(prefix) in known_names:
            continue
        similar = difflib.get_close_matches(name.removeprefix(prefix), known_names, n=1)
        hint = f"did you mean {prefix}{similar[0]}?" if similar else "docs/configuration.md lists those that are."
        yield f"{name} is not a setting of MCPist: {hint}"


def get_default_home(environment: Mapping[str, str], user_id: int) -> Path:
    """Return the data folder of a user of the operating system where no setting names one."""
    if user_id == 0:
        return Path("/var/lib/mcpist")
    data = environment.get("XDG_DATA_HOME", "")
    if data.startswith("/"):  # the XDG base directory specification has relative ones ignored
        return Path(data) / "mcpist"
    home = environment.get("HOME") or pwd.getpwuid(user_id).pw_dir
    return Path(home) / ".local" / "share" / "mcpist"


def _describe_error(variable: EnvironmentVariable, text: str, error: ValueError) -> str:
    if text.startswith("tcp://"):
        # Kubernetes sets MCPIST_PORT and more in every pod of a namespace that has a service called mcpist.
        return f"{variable.name} was set by a Kubernetes service link: set enableServiceLinks to false in the pod."
    rejected_text = "" if variable.secret or "://" in text else f", not {text[:60]!r}"
    hint = f" ({error})" if isinstance(error, SettingFormatError) else ""
    return f"{variable.name} must be {variable.requirement}{rejected_text}{hint}."
