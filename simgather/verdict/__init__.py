"""Is it correct, and is it fast: reads, findings and measures from a Program and its Timeline."""
