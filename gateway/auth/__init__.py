"""Authentication of callers: credentials verified through the broker, cached under the tenant's generation."""
