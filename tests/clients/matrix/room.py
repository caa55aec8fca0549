"""Where a client runs: in a network that has MCPist and at most a double of its model, with a home of its own and a
browser in which the person is signed in."""

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients.matrix.product import MatrixProduct
from tests.support.model_double import ModelDouble, serving
from tests.support.node import NODE
from tests.support.without_network import Ended, NoNetwork, led_to, no_network

MODEL_PORT = 9911
MODEL_URL = f"http://127.0.0.1:{MODEL_PORT}"
BROWSERS = ("xdg-open", "www-browser", "x-www-browser")
DESKTOP = {
    ".local/share/applications/person.desktop": "[Desktop Entry]\nType=Application\nName=Person\nExec={browser} %U\n",
    ".config/mimeapps.list": "[Default Applications]\nx-scheme-handler/http=person.desktop\n",
}
"""Programs that bring an xdg-open of their own ask the desktop before $BROWSER."""
ROOT = Path(__file__).parents[3]


@dataclass(slots=True)
class Room:
    """One client's place; `home` is its own."""

    product: MatrixProduct
    place: NoNetwork
    home: Path

    async def run(
        self, command: Sequence[str | Path], seconds: float = 120, folder: Path | None = None, **variables: str
    ) -> Ended:
        """Run a program of the client to its end."""
        environment = {**self._environment(), **variables}
        return await self.place.run([str(part) for part in command], environment, folder or self.home, seconds)

    def _environment(self) -> dict[str, str]:
        programs = self.home / "bin"
        if not programs.exists():
            self._make_browser(programs)
        path = [str(programs), str(NODE.parent), *os.defpath.split(os.pathsep)]
        quiet = {
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            "ANONYMIZED_TELEMETRY": "false",
            "MCP_USE_ANONYMIZED_TELEMETRY": "false",
        }
        return {
            "PATH": os.pathsep.join(dict.fromkeys(path)),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "BROWSER": str(programs / BROWSERS[0]),
            "DISPLAY": ":0",
            "NODE_COMPILE_CACHE": str(ROOT / ".venv" / ".cache" / "clients" / "compiled"),
            "MCP_INSPECTOR_SECRET_STORE": "file",
            **quiet,
        }

    def _make_browser(self, programs: Path) -> None:
        programs.mkdir()
        said = shlex.quote(str(self.home / "browser.log"))
        text = (
            f"#!/bin/sh\ncd {shlex.quote(str(ROOT))}\n"
            f"MATRIX_COOKIES={shlex.quote(str(self.product.cookies))} exec {shlex.quote(sys.executable)} "
            f'-m tests.clients.matrix.browser "$@" >>{said} 2>&1\n'
        )
        for name in BROWSERS:
            program = programs / name
            program.write_text(text)
            program.chmod(0o755)
        for name, text in DESKTOP.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.format(browser=programs / BROWSERS[0]))


@contextlib.asynccontextmanager
async def open_room(product: MatrixProduct, folder: Path, model: ModelDouble | None = None) -> AsyncGenerator[Room]:
    """A room, until the block is left."""
    own = Path(tempfile.mkdtemp(prefix="room-", dir=folder))
    home = own / "home"
    home.mkdir()
    sockets = {product.port: own / "product.sock"}
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(led_to(product.port, sockets[product.port]))
        if model is not None:
            sockets[MODEL_PORT] = own / "model.sock"
            await stack.enter_async_context(serving(model.application(), sockets[MODEL_PORT]))
        place = await stack.enter_async_context(no_network(sockets, own))
        yield Room(product, place, home)
