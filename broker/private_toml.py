"""Settings with secrets in them: TOML that its owner alone may read, checked by a model; no value is ever told."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import Invalid
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
        raise Invalid("\n".join(_describe_problems(path, error.errors()))) from None


def _describe_position(error: tomllib.TOMLDecodeError) -> str:
    text = str(error)
    return text[text.rfind(" (at ") :] if " (at " in text else ""


def _describe_problems(path: Path, errors: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for error in errors:
        key = ".".join(str(part) for part in error["loc"])[:200]
        message = error["msg"].removeprefix("Value error, ")
        if error["type"] == "extra_forbidden":
            message = "there is no such key"
        elif error["type"] == "missing":
            message = "it is missing"
        yield f"{path}: {key}: {message}" if key else f"{path}: {message}"
