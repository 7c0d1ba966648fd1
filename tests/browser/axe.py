"""axe-core, the checks of accessibility: `make provider` takes it from npm; it is never a part of Lapwing."""

from pathlib import Path

FILE = Path(__file__).parents[2] / ".oidc" / "node_modules" / "axe-core" / "axe.min.js"
NO_AXE = "NO AXE-CORE HERE: the accessibility of pages is NOT CHECKED; install node 20, and run `make provider`"

RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map((each) => ({
    id: each.id, impact: each.impact, help: each.help,
    where: each.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)),
  }));
}"""


def violations(page):
    """Return what is wrong with a page that is serious or critical; nothing, if axe-core is not there."""
    if not FILE.is_file():
        return []
    page.evaluate(FILE.read_text(encoding="utf-8"))
    return [each for each in page.evaluate(RUN) if each["impact"] in ("serious", "critical")]
