"""Settings with secrets in them: TOML that its owner alone may read, checked by a model; no value is ever told."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import Invalid, InvalidFields
from core.private_file import read_private

T = TypeVar("T", bound=BaseModel)


def read_toml(path: Path, model: type[T], most_bytes: int) -> T:
    """Read the file; the model's defaults where there is none.

    Raises:
        Invalid: others can read it, it is no TOML, or a key is wrong; the text names each key and never a value.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise Invalid(f"{path} is larger than {most_bytes // 1024} KiB")
        return model.model_validate(tomllib.loads(read_private(path)))
    except FileNotFoundError:
        return model()
    except OSError as error:
        raise Invalid(f"{path} cannot be read; it must be a text file that the user running MCPist can read") from error
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path} is not valid TOML{_describe_position(error)}") from None  # its text may repeat a secret
    except ValidationError as error:
        raise Invalid("\n".join(f"{path}: {problem}" for problem in describe_problems(error))) from None


def _describe_position(error: tomllib.TOMLDecodeError) -> str:
    text = str(error)
    return text[text.rfind(" (at ") :] if " (at " in text else ""


def describe_problems(error: ValidationError) -> Iterable[str]:
    """Each problem of values that a model refuses; it names the key and never the value."""
    return (f"{key}: {message}" if key else message for key, message in _list_problems(error))


def build_invalid(error: ValidationError) -> Invalid:
    """The same as an error of the API, at the fields where each problem has one."""
    problems: dict[str, str] = {}
    for key, message in _list_problems(error):
        problems.setdefault(key.partition(".")[0], message)  # of several forms that a value may have, the first
    text = "; ".join(describe_problems(error))
    return Invalid(text) if "" in problems else InvalidFields(problems, text)


def _list_problems(error: ValidationError) -> Iterable[tuple[str, str]]:
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])[:200]
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            message = "there is no such key"
        elif problem["type"] == "missing":
            message = "it is missing"
        yield key, message
