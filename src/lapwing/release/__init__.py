"""The release: charge → read → noise → record, and what users get: numbers with error bars, keys, bounds, files."""
