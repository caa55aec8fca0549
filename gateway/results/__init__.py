"""Results that are too large for one answer: what fits is shown, the whole is kept and read in parts."""
