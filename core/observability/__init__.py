"""Structured logs without secrets, alike in every process of the product."""
