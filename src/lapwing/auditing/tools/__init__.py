"""Tools for the checks and for the audits of users' own code."""
