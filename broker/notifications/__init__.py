"""Telling people by mail or webhook, once, that an account needs them."""
