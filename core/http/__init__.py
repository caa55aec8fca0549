"""HTTP: requests to other servers, and checks of hosts, origins and proxies of incoming ones."""
