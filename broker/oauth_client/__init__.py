"""OAuth client for vendors' servers: single requests and the classification of their responses; nothing is logged."""
