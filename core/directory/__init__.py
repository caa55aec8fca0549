"""Tenants, users, roles and services: every change is recorded in the transaction that makes it."""
