"""The leaf that every other package may import: settings, unit of work, the pure sieve, audit, errors."""
