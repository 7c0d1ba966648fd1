"""Engines hold the rows.  They get SQL (``lowering``) and give back integers, which only ``release`` sees."""
