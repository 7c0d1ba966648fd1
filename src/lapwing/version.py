"""The version of Lapwing."""

__version__ = "0.1.0"
