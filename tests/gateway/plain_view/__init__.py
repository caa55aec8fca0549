"""Tests of the plain view's own parts."""
