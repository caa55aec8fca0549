"""Refreshing vendor accounts exactly once, through crashes, restarts and vendor faults (threat-model.md §3.2).

The steps, by their names in docs/refresh.pml: `claim` (commit the intent), `present` (one call to the vendor),
`settle` (store by compare-and-set), `recover` (an intent without an outcome).
"""
