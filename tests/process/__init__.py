"""The product as processes: started, killed, stopped, used through its port only."""
