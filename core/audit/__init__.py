"""The audit log: append without loss, seal into hash chains, read, verify."""
