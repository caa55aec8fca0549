"""Rate and concurrency of a caller, failed authentications of an address, in this process's memory. Several processes
share them by core/concurrency/shared_limits.py."""

import contextlib
import secrets
from array import array
from collections.abc import Callable, Generator, Sequence
from ipaddress import IPv6Address, ip_address

from core.errors import LimitReached

Clock = Callable[[], float]

MAX_KEYS = 20_000
ATTEMPT_SLOTS = 1 << 15
ROUNDING = 0.01  # of one token: sums of floating-point seconds must not cost a caller the last call of a burst


class CallerLimits:
    """A token bucket and a number of running calls for each key, such as the id of a user.

    The bucket is kept as the moment at which it will be full again (GCRA, ITU-T I.371 annex A): one number, no refill.
    `clock` gives seconds that never go back. At most `max_keys` keys are remembered; a full bucket without running
    calls is as good as forgotten, and those go first.
    """

    def __init__(
        self, rate_per_second: float, burst: int, concurrency: int, *, clock: Clock, max_keys: int = MAX_KEYS
    ) -> None:
        self._interval = 1.0 / rate_per_second
        self._slack = (burst - 1 + ROUNDING) * self._interval
        self._concurrency = concurrency
        self._clock = clock
        self._max_keys = max_keys
        self._buckets: dict[str, _Bucket] = {}

    def enter(self, key: str) -> Callable[[], None]:
        """Count one call in; what it returns is called once, when the call has ended.

        Raises:
            LimitReached: the caller has too many calls running, or made too many lately.
        """
        bucket = self._buckets.get(key) or self._admit(key)
        if bucket.running >= self._concurrency:
            self._check_concurrency(bucket.running)
        bucket.full_at = self._take_token(bucket.full_at)
        bucket.running += 1
        return bucket.leave

    def charge(self, key: str, calls: int) -> None:
        """Take `calls` more tokens from the bucket of a running call whose cost is known only now.

        Never refuses: the bucket may go below empty, which delays the next :meth:`enter`. A job runs without having
        entered; where its caller has no bucket, nothing is taken.
        """
        if (bucket := self._buckets.get(key)) is not None:
            bucket.full_at = self._compute_charged(bucket.full_at, calls)

    @contextlib.contextmanager
    def track(self, key: str) -> Generator[None]:
        """Count one call in and out; raises as :meth:`enter` does."""
        leave = self.enter(key)
        try:
            yield
        finally:
            leave()

    def __len__(self) -> int:
        """Return the number of remembered keys."""
        return len(self._buckets)

    def _check_concurrency(self, running: int) -> None:
        if running >= self._concurrency:
            raise LimitReached(f"{self._concurrency} calls are running; wait until one is done, then try again.")

    def _take_token(self, full_at: float) -> float:
        """Take one token from the bucket that is full again at `full_at`; return when it is now."""
        now = self._clock()
        if full_at < now:
            full_at = now
        elif full_at - now > self._slack:
            raise _build_limit_reached(full_at - now - self._slack)
        return full_at + self._interval

    def _compute_charged(self, full_at: float, calls: int) -> float:
        return max(full_at, self._clock()) + calls * self._interval

    def _admit(self, key: str) -> "_Bucket":
        if len(self._buckets) >= self._max_keys:
            self._evict_keys()
        bucket = self._buckets[key] = _Bucket()
        return bucket

    def _evict_keys(self) -> None:
        """Make room for a quarter of the keys at once, so that the cost of looking is spread over many newcomers."""
        quiet = [(bucket.full_at, key) for key, bucket in self._buckets.items() if not bucket.running]
        if not quiet:
            raise LimitReached("MCPist has reached its limit of callers; try again in a moment.")
        quiet.sort()
        for _, key in quiet[: self._max_keys // 4 + 1]:
            del self._buckets[key]


class _Bucket:
    __slots__ = ("full_at", "running")

    def __init__(self) -> None:
        self.full_at = 0.0
        self.running = 0

    def leave(self) -> None:
        self.running -= 1


class AttemptLimits:
    """Failed attempts per client address, in memory of a fixed size and at a fixed cost under any attack.

    Each address falls by two keyed hashes into one slot of two tables, and has to wait only when both slots are spent
    (a count-min sketch of token buckets). An attacker can neither fill the memory nor choose whom they collide with.
    Ask only for credentials that are not known to be good already: an address may be a whole company's.
    """

    def __init__(self, per_minute: float, burst: int, *, clock: Clock, slots: int = ATTEMPT_SLOTS) -> None:
        self._interval = 60.0 / per_minute
        self._slack = (burst - 1 + ROUNDING) * self._interval
        self._clock = clock
        self._slots = slots
        self._salts = (secrets.token_hex(8), secrets.token_hex(8))
        self._full_at = tuple(array("d", bytes(8 * slots)) for _ in self._salts)

    def check(self, address: str) -> None:
        """Let an attempt from `address` through.

        Raises:
            LimitReached: too many attempts from there failed lately.
        """
        full_at = min(table[slot] for table, slot in self._locate_counters(address))
        wait = full_at - self._clock() - self._slack
        if wait > 0:
            raise LimitReached(
                "Too many wrong credentials came from this address. "
                f"Correct the token, then wait {_format_seconds(wait)}.",
                wait,
            )

    def record_failure(self, address: str) -> None:
        """Count an attempt that failed."""
        now = self._clock()
        for table, slot in self._locate_counters(address):
            # Attempts that were under way together must not add up to a longer wait than one too many.
            table[slot] = min(max(table[slot], now) + self._interval, now + self._slack + self._interval)

    def _locate_counters(self, address: str) -> "Sequence[tuple[array[float] | memoryview[float], int]]":
        network = get_network(address)
        return [
            (table, hash(salt + network) % self._slots) for table, salt in zip(self._full_at, self._salts, strict=True)
        ]


def get_network(address: str) -> str:
    """Return the network that one client can be expected to own: an IPv4 address, or an IPv6 /64. Other texts are
    returned unchanged."""
    if ":" not in address:
        return address
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if not isinstance(ip, IPv6Address):
        return address
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return f"{int(ip) >> 64:x}::/64"


def _build_limit_reached(wait: float) -> LimitReached:
    return LimitReached(f"Too many calls; wait {_format_seconds(wait)}, then send fewer calls.", wait)


def _format_seconds(wait: float) -> str:
    seconds = max(1, -int(-wait // 1))
    return "one second" if seconds == 1 else f"{seconds} seconds"
