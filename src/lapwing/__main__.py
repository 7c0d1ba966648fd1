"""``python -m lapwing`` is the command ``lapwing``."""

from .cli import main

main(prog_name="lapwing")
