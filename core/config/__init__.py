"""Configuration from the environment: the settings, their parsers and their documentation."""
