"""The plan: ε ↔ error, before any data is read."""
