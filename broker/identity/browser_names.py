"""Names of browsers for people, by what these say of themselves."""

_BROWSERS = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def get_browser_name(user_agent: str) -> str:
    """Such as ``Firefox, Windows``; for other programs the first word of what they say; empty for nothing."""
    if not user_agent.startswith("Mozilla/"):
        return user_agent.split(" ", 1)[0][:40]
    matches = [next((name for mark, name in names if mark in user_agent), "") for names in (_BROWSERS, _SYSTEMS)]
    return ", ".join(name for name in matches if name)
