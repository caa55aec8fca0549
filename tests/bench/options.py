"""What one run of the benchmark is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`seconds` is the length of one loaded run, `rounds` how often every target gets one;
    `jwt`: callers come with an access token instead of an API token."""

    only: frozenset[str] = frozenset()
    quick: bool = False
    full: bool = False
    long: bool = False
    as_json: bool = False
    jwt: bool = False
    rounds: int = 5
    seconds: int = 2
    connections: tuple[int, ...] = (1, 16, 64)

    def wants(self, *budgets: str) -> bool:
        """Whether one of these numbers was asked for."""
        return not self.only or not self.only.isdisjoint(budgets)

    @property
    def calls(self) -> int:
        """How many calls P8 makes."""
        return 500 if self.quick else 1_000_000 if self.long else 50_000

    @property
    def tenants(self) -> int:
        """How many tenants of 100 users P12 has."""
        return 10 if self.quick else 10_000 if self.full else 500

    @property
    def streams(self) -> int:
        """How many streams ST opens."""
        return 200 if self.quick else 10_000 if self.full or self.long else 2_000

    @property
    def idle_seconds(self) -> float:
        """How long P13 watches."""
        return 2.0 if self.quick else 30.0
