"""How a connection can fail, as keys of the messages (`problem.<key>`), and which failures of a vendor are which."""

from broker.vendor_oauth.exchange import ErrorClass, Failed

_OURS = frozenset({ErrorClass.SERVICE})


class ConnectRefused(Exception):
    """Nothing was connected. `key` names the text for the person, `cause` is a word for the audit log; neither holds
    anything that a vendor or a browser has said. `module` is where the person can start again."""

    def __init__(self, key: str, cause: str = "", *, title: str = "", module: str = "") -> None:
        super().__init__(key)
        self.key = key
        self.cause = cause or key
        self.title = title
        self.module = module


def key_of(failed: Failed) -> str:
    """The text for what a token endpoint has answered."""
    if failed.cls in _OURS:
        return "connect_setup"
    if failed.cls is ErrorClass.PERMANENT:
        return "connect_code"
    return "connect_away"
