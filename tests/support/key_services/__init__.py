"""Counterparts of key management services. AWS KMS is moto, over the real wire; Google Cloud KMS and HashiCorp Vault
are doubles made from their documentation, which enforce what a client must do right: context, checksums, versions.
"""
