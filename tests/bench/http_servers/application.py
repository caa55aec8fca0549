"""The application behind every server that is compared. Runs in other virtual environments too: it imports nothing."""

import os


async def app(scope, receive, send):
    """Answer with the path, how long the body was, and whether an Authorization header came."""
    if scope["type"] != "http":
        return
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    named = any(name == b"authorization" for name, _ in scope["headers"])
    padding = b" " * 48_000 if scope["path"] == "/large" else b""
    body = b'{"path": "%b", "size": %d, "authorization": %b, "pid": %d}%b' % (
        scope["path"].encode(), size, b"true" if named else b"false", os.getpid(), padding,
    )  # fmt: skip
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
