"""Embedding models: texts to vectors whose angle tells how near their meanings are."""
