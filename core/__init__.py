"""The leaf that every other package may import: settings, unit of work, shared tables, the pure sieve, audit, errors."""
