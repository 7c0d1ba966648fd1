"""The command ``lapwing``."""
