"""Applications for the tests of the server."""

import json
from typing import Any


async def read_body(receive: Any) -> bytes:
    """The whole body of a request."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            return body
    raise AssertionError("the client has gone")


async def answer(send: Any, body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    """Answer in one piece."""
    fields = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Say what was asked, as JSON."""
    body = await read_body(receive)
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]]
    said = {"method": scope["method"], "path": scope["path"], "headers": headers, "body": body.decode("latin-1")}
    await answer(send, json.dumps({**said, "query": scope["query_string"].decode()}).encode())


def split_answers(received: bytes) -> list[tuple[int, dict[str, Any]]]:
    """Status and JSON of each answer on a connection; every one of them has a Content-Length."""
    answers: list[tuple[int, dict[str, Any]]] = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        if lines[0].endswith(b"100 Continue"):
            received = rest
            continue
        length = next(int(line.partition(b":")[2]) for line in lines if line.lower().startswith(b"content-length:"))
        answers.append((int(lines[0].split(b" ")[1]), json.loads(rest[:length])))
        received = rest[length:]
    return answers
