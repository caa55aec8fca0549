"""Who is calling: credentials verified through the broker, cached under the tenant's generation."""
