"""Bounded caches keep what is used, and count nothing of an earlier generation."""

from uuid import UUID

from core.concurrency.lru_cache import GenerationCache, LruCache

TENANT, OTHER = UUID(int=1), UUID(int=2)


def test_what_was_used_least_recently_goes_first() -> None:
    cache = LruCache[str, int](2)
    cache.put("hot", 1)
    cache.put("cold", 2)
    assert cache.get("hot") == 1
    cache.put("new", 3)
    assert (cache.get("hot"), cache.get("cold"), cache.get("new"), len(cache)) == (1, None, 3, 2)


def test_a_value_that_is_put_again_is_the_newest() -> None:
    cache = LruCache[str, int](2)
    for key in ("one", "two", "one", "three"):
        cache.put(key, 0)
    assert [cache.get(key) for key in ("one", "two", "three")] == [0, None, 0]
    cache.discard("one")
    cache.discard("never")
    assert cache.get("one") is None


def test_a_value_counts_under_its_generation_alone() -> None:
    generations: dict[UUID, int | None] = {TENANT: 1, OTHER: 1}
    cache = GenerationCache[str, str](10, generations.get)
    cache.put("mine", "a", TENANT, 1)
    cache.put("theirs", "b", OTHER, 1)
    generations[TENANT] = 2
    assert (cache.get("mine"), cache.get("theirs")) == (None, "b")
    assert "mine" in cache
    cache.put("mine", "c", TENANT, 2)
    assert cache.get("mine") == "c"


def test_no_value_counts_while_the_generation_is_not_known() -> None:
    cache = GenerationCache[str, str](10, lambda _: None)
    cache.put("mine", "a", TENANT, None)
    assert cache.get("mine") is None
    cache.discard("mine")
    assert "mine" not in cache
    assert len(cache) == 0
