"""Fixtures and settings for all tests."""

from hypothesis import settings

settings.register_profile("lapwing", deadline=None, print_blob=True)
settings.load_profile("lapwing")
