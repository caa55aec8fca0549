"""What hostile clients try, each on a server of its own; a row says what became of it."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

MEBIBYTE = 1 << 20
HOST = b"Host: x\r\n"
PATIENCE = 2.0
SLOW_READER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`held`: the server withstood it."""

    held: bool
    text: str


def smuggled_by_upgrade(port: int, pid: int) -> Verdict:
    """A body behind an Upgrade is answered as a request."""
    hidden = b"GET /hidden HTTP/1.1\r\n" + HOST + b"\r\n"
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: %d\r\n\r\n"
    with _connected(port) as client:
        client.sendall(head % len(hidden))
        time.sleep(0.3)
        client.sendall(hidden)
        received = _received(client)
    answers = received.count(b"HTTP/1.1 ")
    return Verdict(answers <= 1 and b"/hidden" not in received, f"{answers} answers")


def endless_trailers(port: int, pid: int) -> Verdict:
    """Memory that trailers cost."""
    before = _memory(pid)
    with _connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
        block = b"".join(b"x-%05d: %b\r\n" % (n, b"a" * 90) for n in range(10_000))
        sent = 0
        try:
            for _ in range(50):
                client.sendall(block)
                sent += len(block)
        except OSError:
            pass
        grown = (_memory(pid) - before) / MEBIBYTE
    return Verdict(grown < 16, f"+{grown:.0f} MiB after {sent / MEBIBYTE:.0f} MiB")


def trailer_as_header(port: int, pid: int) -> Verdict:
    """A trailer counts as a header."""
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with _connected(port) as client:
        client.sendall(head + b"0\r\nAuthorization: Bearer x\r\n\r\n")
        received = _received(client)
    return Verdict(b'"authorization": true' not in received, "believed" if b": true" in received else "ignored")


def slow_reader(port: int, pid: int) -> Verdict:
    """Somebody pipelines requests for large answers and never reads one."""
    before = _memory(pid)
    with _connected(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        try:
            for _ in range(20):
                client.sendall((b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n") * 50)
        except OSError:
            pass
        began = time.monotonic()
        grown = (_memory(pid) - before) / MEBIBYTE
        while time.monotonic() - began < SLOW_READER_SECONDS and _is_open(port, pid):
            time.sleep(1)
        open_for = time.monotonic() - began
    cut = open_for < SLOW_READER_SECONDS
    return Verdict(cut, f"{f'cut off after {open_for:.0f} s' if cut else 'never cut off'}, +{grown:.1f} MiB")


def large_head(port: int, pid: int) -> Verdict:
    """A head of 60 KB in one segment."""
    with _connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\nX: %b\r\n\r\n" % (b"a" * 60_000))
        received = _received(client)
    status = received[9:12].decode() or "closed"
    return Verdict(status != "200", status)


ATTACKS: dict[str, Callable[[int, int], Verdict]] = {
    "request behind an Upgrade": smuggled_by_upgrade,
    "endless trailers": endless_trailers,
    "trailer as header": trailer_as_header,
    "reader that does not read": slow_reader,
    "head of 60 KB": large_head,
}


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def _received(client: socket.socket) -> bytes:
    """All that comes until nothing comes for a while."""
    client.settimeout(PATIENCE)
    received = b""
    try:
        while part := client.recv(65_536):
            received += part
    except OSError:
        pass
    return received


def _is_open(port: int, pid: int) -> bool:
    """Whether the server's process tree has an established connection on its port."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    found = [one for process in processes for one in process.net_connections("tcp")]
    return any(one.status == psutil.CONN_ESTABLISHED and one.laddr.port == port for one in found)


def _memory(pid: int) -> int:
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(process.memory_info().rss for process in processes)
