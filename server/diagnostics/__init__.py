"""The checks behind `mcpist doctor` and the deployment part of the admin API."""
