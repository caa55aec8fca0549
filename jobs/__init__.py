"""Jobs: work that goes on after the call that asked for it (docs/decisions/0120-a-queue-of-our-own.md)."""
