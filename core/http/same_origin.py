"""Same-origin check of browsers' requests (threat-model.md §2, row 36)."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})


def is_same_origin(origin: str | None, fetch_site: str | None, own_origin: str) -> bool:
    """Judge by the headers `Origin` and `Sec-Fetch-Site` of a request that changes something.

    Browsers send `Origin` with every such request, and a page cannot change either header. A request with neither
    comes from no browser of today; it is not ours, so a cookie in it must not count.
    """
    if fetch_site is not None and fetch_site not in _OWN_SITES:
        return False
    if origin is None:
        return fetch_site is not None
    return origin == own_origin
