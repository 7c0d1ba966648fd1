"""Releases as folders that other programs read: SDMX, CSVW, data packages, Excel; and CSVW-EO metadata as sources."""
