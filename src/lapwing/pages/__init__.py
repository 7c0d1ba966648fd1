"""HTML of one family: pages that stand alone and need no network, and the tables that notebooks show."""
