"""`mcpist up` and `mcpist gateway` as processes: what they print, and how they end."""

import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

from admin_ui.console_files import is_console_built
from server.first_access_file import FIRST_ACCESS_FILE
from tests.cli.conftest import LONG, ROOT, Home, running
from tests.support.running_product import hear_command


def test_first_and_second_start(fresh: Home) -> None:
    with running(fresh) as first:
        ready = first.ready
        token, link = ready.pop("api_token"), ready.pop("sign_in_link")
        url = f"http://127.0.0.1:{fresh.port}/mcp"
        assert ready == {
            "ready": True,
            "mcp_url": url,
            "console_url": f"http://127.0.0.1:{fresh.port}/console" if is_console_built() else None,
            "home": str(fresh.path),
            "admin_email": "admin@localhost",
        }
        assert token.startswith("mcpist_")
        assert link.startswith(f"http://127.0.0.1:{fresh.port}/sign-in/link?code=")
        assert json.loads((fresh.path / "endpoint.json").read_text())["mcp_url"] == url
        # There is one tenant, so no command asks for it.
        assert [one["email"] for one in fresh.run("user", "list", "--json").json()] == ["admin@localhost"]
        ended = first.stop()
    assert (ended.code, ended.out) == (0, "")
    assert token not in ended.err
    assert link.partition("=")[2] not in ended.err
    assert "Traceback" not in ended.err
    assert not (fresh.path / "endpoint.json").exists()

    with running(fresh) as second:
        assert second.ready == ready
        ended = second.stop(signal.SIGINT)
    assert (ended.code, ended.out) == (0, "")


def test_for_people(fresh: Home) -> None:
    url = f"http://127.0.0.1:{fresh.port}/mcp"
    shown = _read_terminal(fresh)
    [token] = {word.strip('",') for word in shown.split() if word.startswith("mcpist_")}
    assert "shown once" in shown
    assert f"\n  http://127.0.0.1:{fresh.port}/sign-in/link?code=" in shown
    assert (
        f' claude mcp add --transport http mcpist {url} --header "Authorization: Bearer {token}"' in shown.splitlines()
    )
    cursor = _json_after(shown, "Cursor")
    assert cursor == {"mcpServers": {"mcpist": {"url": url, "headers": {"Authorization": f"Bearer {token}"}}}}
    vs_code = _json_after(shown, "VS Code")
    assert vs_code["servers"]["mcpist"]["headers"] == {"Authorization": "Bearer ${input:mcpist-token}"}
    assert vs_code["inputs"][0]["password"] is True
    assert "call knowledge_graph create_entities" in shown
    assert not (fresh.path / FIRST_ACCESS_FILE).exists()
    with _started(fresh, "up") as process:
        shown = _until_ready(process)
        assert fresh.run("tenant", "create", "acme", "--admin", "ada@acme.example").code == 0
    with _started(fresh, "up") as process:
        several = _until_ready(process)
        printed = re.search(r"token create --name my-client --tenant default", several)
        assert printed is not None, several
        assert fresh.run(*printed[0].split()).code == 0, "what is printed works with a second tenant"
    assert "user link admin@localhost --tenant default" in several
    assert "--tenant" not in shown
    assert "mcpist_" not in shown
    assert "token create" in shown
    assert "user link admin@localhost" in shown
    assert "code=" not in shown
    assert url in shown


def test_secrets_of_the_first_start_are_not_printed_where_no_person_reads(fresh: Home) -> None:
    path = fresh.path / FIRST_ACCESS_FILE
    with _started(fresh, "up") as process:
        shown = _until_ready(process)
        assert str(path) in shown
        assert ("mcpist_" in shown, "code=" in shown) == (False, False)
        assert path.stat().st_mode & 0o777 == 0o600
        first = json.loads(path.read_text())
        hear_command(("up",), path.read_bytes(), b"")
        request = urllib.request.Request(f"http://127.0.0.1:{fresh.port}/api/v1/me")
        request.add_header("Authorization", f"Bearer {first['api_token']}")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200
        path.unlink()
    with _started(fresh, "up", "--json") as process:
        assert process.stdout is not None
        assert "first_access_file" not in json.loads(process.stdout.readline())
    assert not path.exists()


def test_a_taken_port(fresh: Home) -> None:
    with socket.create_server(("127.0.0.1", fresh.port)):
        ended = fresh.process("up", "--json")
    assert ended.code == 7
    assert ended.out == ""
    error = json.loads(ended.err.splitlines()[-1])["error"]
    assert error["code"] == "unavailable"
    assert "MCPIST_PORT" in error["message"]
    assert "Traceback" not in ended.err


def test_a_folder_that_is_in_use(cli: Home, fresh: Home) -> None:
    ended = cli.process("up", MCPIST_PORT=str(fresh.port))
    assert (ended.code, ended.out) == (5, "")
    assert "Another MCPist is running" in ended.err.splitlines()[-1]


def test_one_more_gateway(cli: Home, fresh: Home) -> None:
    with _started(cli, "gateway", "--json", port=fresh.port) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
    assert ready["mcp_url"] == f"http://127.0.0.1:{fresh.port}/mcp"
    assert "api_token" not in ready


@contextlib.contextmanager
def _started(home: Home, *arguments: str, port: int | None = None) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that is ended by SIGTERM, and then ends well."""
    process = home.start(*arguments, MCPIST_PORT=str(port or home.port))
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LONG)
        hear_command(arguments, out, err)
    assert process.returncode == 0, err.decode()


def _read_terminal(home: Home) -> str:
    """What a person sees of a start that is ended then."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from cli import main; main()", "up"]
    variables = {**home.environment, "TERM": "dumb", "COLUMNS": "200"}
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Ctrl-C" not in shown:
            shown += os.read(ours, 65536)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LONG)
    os.close(ours)
    hear_command(("up",), shown, err)
    assert process.returncode == 0, err.decode()
    return shown.decode().replace("\r\n", "\n")


def _until_ready(process: "subprocess.Popen[bytes]") -> str:
    shown = b""
    assert process.stdout is not None
    while b"Ctrl-C" not in shown:
        read = os.read(process.stdout.fileno(), 65536)
        assert read, process.communicate()[1].decode()
        shown += read
    hear_command(("up",), shown, b"")
    return shown.decode()


def _json_after(text: str, title: str) -> dict[str, Any]:
    start = text.index("{", text.index(f"\n{title}"))
    return json.JSONDecoder().raw_decode(text, start)[0]
