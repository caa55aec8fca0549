"""A secret comes in by a prompt, standard input or a file: never by the command line, where everybody sees it."""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from cli.output import print_note
from core.errors import Invalid
from core.secret import Secret

MAX_SECRET_BYTES = 16_384


def refuse_on_command_line(extra: Sequence[str]) -> None:
    """Refuse an extra argument without repeating it: it is most likely the secret.

    Raises:
        Invalid: there is one.
    """
    if extra:
        raise Invalid(
            "a secret is not taken from the command line: other users of this machine can see it there, and your shell "
            "remembers it. Make a new one at the vendor, and give it at the prompt, by --stdin or by --from-file FILE"
        )


def is_prompted(from_file: Path | None, stdin: bool) -> bool:
    """Check whether a person is at the terminal to be prompted."""
    return from_file is None and not stdin and sys.stdin.isatty()


def read_secret(label: str, from_file: Path | None, stdin: bool, *, option: str = "--from-file") -> Secret:
    """Read the secret from the given source, or from a prompt on a terminal; `option` names the file's in errors.

    Raises:
        Invalid: there is none, or it has the wrong form.
    """
    if from_file is not None and stdin:
        raise Invalid("a secret comes from --stdin or from --from-file FILE, not from both")
    if from_file is not None:
        return _decode_secret(_read_file(from_file, option))
    if is_prompted(from_file, stdin):
        return _prompt_secret(label)
    return _decode_secret(sys.stdin.buffer.read(MAX_SECRET_BYTES + 3))


def _prompt_secret(label: str) -> Secret:
    from getpass import getpass

    return _decode_secret(getpass(f"{label} (is not shown): ").encode(errors="surrogateescape"))


def _read_file(path: Path, option: str) -> bytes:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                print_note(f"Note: the file of {option} can be read by others; chmod 600 it, or remove it now.")
            return file.read(MAX_SECRET_BYTES + 3)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no file name"
        # Its name is not repeated: who mistakes the option gives the secret itself.
        raise Invalid(f"the file of {option} cannot be read: {reason}") from None


def _decode_secret(raw: bytes) -> Secret:
    """Decode a secret without the end of line of files and pipes."""
    text = raw.removesuffix(b"\n").removesuffix(b"\r")
    if not text:
        raise Invalid("no secret was given")
    if len(text) > MAX_SECRET_BYTES:
        raise Invalid(f"a secret has at most {MAX_SECRET_BYTES} bytes")
    try:
        return Secret(text.decode())
    except UnicodeDecodeError:
        raise Invalid("a secret is text, and this is none") from None
