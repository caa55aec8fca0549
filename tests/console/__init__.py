"""The web app: its build, how it is served, and its pages in a real browser."""
