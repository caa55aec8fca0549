"""How a settings class declares its environment variables, and how they are read from a mapping."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from core.setting_values import FormError

_DECLARED = "variable"


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable. `form` completes "must be …"; a secret one is never repeated in a message."""

    name: str
    read: Callable[[str], Any]
    form: str
    about: str
    default: str
    secret: bool = False


def setting(
    name: str, read: Callable[[str], Any], form: str, about: str, default: Any, *, shown: str = "", secret: bool = False
) -> Any:
    """A dataclass field that comes from the variable `name`; `shown` is the default as documented, if not its text."""
    text = f"{default:g}" if isinstance(default, float) else str(default)
    variable = Variable(name, read, form, about, shown or text, secret)
    return field(default=default, metadata={_DECLARED: variable})


def variables_of(settings: type[Any]) -> dict[str, Variable]:
    """Field name → variable, in the order of the class; fields that no variable sets are left out."""
    declared: tuple[Field[Any], ...] = fields(settings)
    return {one.name: one.metadata[_DECLARED] for one in declared if _DECLARED in one.metadata}


def read(settings: type[Any], environment: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The values that `environment` sets (one set to nothing counts as not set), and what is wrong with others."""
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, variable in variables_of(settings).items():
        text = environment.get(variable.name, "").strip()
        if not text:
            continue
        try:
            found[name] = variable.read(text)
        except ValueError as error:
            problems.append(_wrong(variable, text, error))
    return found, problems


def _wrong(variable: Variable, text: str, error: ValueError) -> str:
    if text.startswith("tcp://"):
        # Kubernetes sets MCPIST_PORT and more in every pod of a namespace that has a service called mcpist.
        return f"{variable.name} was set by a Kubernetes service link: set enableServiceLinks to false in the pod."
    told = "" if variable.secret or "://" in text else f", not {text[:60]!r}"
    hint = f" ({error})" if isinstance(error, FormError) else ""
    return f"{variable.name} must be {variable.form}{told}{hint}."
