"""Builds each part of a running process from its settings: broker, gateway, web pages, admin API."""
