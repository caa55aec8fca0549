"""The HTTP/1.1 server in front of every ASGI application of ours, with a limit on all that a peer can make it hold."""
