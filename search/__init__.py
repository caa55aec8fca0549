"""Lexical search over Japanese and English: what a text and a query are made of. Imports nothing of ours."""
