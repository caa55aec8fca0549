"""The trust zone: identity, vault, connect flow, leases; other packages know it as `broker.interface`."""
