"""The admin API's first part: tenants, users, roles, the allow list, services, audit. FastAPI is loaded with it."""
