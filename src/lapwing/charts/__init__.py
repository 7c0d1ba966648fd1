"""Charts of numbers with error bars, for Altair: what they look like, and how they become files."""
