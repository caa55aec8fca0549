"""Open a link in the person's browser: the one that ``$BROWSER`` names, or the desktop's."""

import contextlib
import os
import shlex
import subprocess
import sys


def open_browser(url: str) -> bool:
    """Open a browser without waiting for it; return whether one could be started.

    None gets this terminal: a browser that runs inside it would take it over.
    """
    return _open_with_environment(url) or _open_with_desktop(url)


def _open_with_environment(url: str) -> bool:
    """By ``$BROWSER``: commands separated by colons, of which the first that can be run is; ``%s`` stands for the URL,
    which is appended to a command without it."""
    for command in os.environ.get("BROWSER", "").split(os.pathsep):
        command_parts = _split_command(command)
        if not command_parts:
            continue
        arguments = [part.replace("%s", url) for part in command_parts]
        null = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            subprocess.Popen(  # noqa: S603 the person's own command
                arguments if arguments != command_parts else [*command_parts, url],
                stdin=null,
                stdout=null,
                stderr=null,
                start_new_session=True,
            )
            return True
    return False


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command.strip().removesuffix("&"))
    except ValueError:  # a quotation mark without its other half
        return []


def _open_with_desktop(url: str) -> bool:
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        return False
    import webbrowser

    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
