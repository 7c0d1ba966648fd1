"""Asks the server of a settings file whether it is ready, by its first name; exit status 1 if not."""

import sys
import tomllib
import urllib.request
from pathlib import Path

settings = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
address = f"http://127.0.0.1:{settings.get('port', 8765)}/readyz"
request = urllib.request.Request(address, headers={"Host": settings["names"][0]})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(request, timeout=4) as answer:
        sys.exit(answer.status != 200)
except OSError:
    sys.exit(1)
