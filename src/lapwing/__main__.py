"""``python -m lapwing`` is the command ``lapwing``."""

from .cli.main import main

main(prog_name="lapwing")
