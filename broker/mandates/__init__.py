"""Mandates: what works in a person's absence, and for how long."""
