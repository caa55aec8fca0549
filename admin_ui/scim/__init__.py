"""Provisioning of people and groups by identity providers (SCIM 2.0)."""
