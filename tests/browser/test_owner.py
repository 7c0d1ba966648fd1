"""Owners in a real browser: from a CSV file to a published report, requests that are granted, people and their caps."""

import pytest

from .served import Running

pytestmark = pytest.mark.usefixtures("frozen_noise")


@pytest.fixture
def served(tmp_path):
    running = Running(tmp_path, sources_folder=str(tmp_path / "tables"))
    yield running
    running.stop()


class Clicks:
    """Clicks on a page and counts them: buttons, links, choices and the choice of a file; typing is by the keyboard."""

    def __init__(self, page):
        self.page, self.count = page, 0

    def on(self, role, name):
        self.count += 1
        self.page.get_by_role(role, name=name).first.click()

    def choose(self, place, value):
        self.count += 1
        self.page.select_option(place, value)

    def file(self, place, path):
        self.count += 1
        self.page.set_input_files(place, path)


def test_from_a_csv_file_to_a_published_report_in_at_most_twelve_clicks(chromium, served, tmp_path):
    rows = "".join(f"p{i},{('north', 'south')[i % 2]},{i % 90}\n" for i in range(300))
    (tmp_path / "clinic.csv").write_text(f"patient,ward,cost\n{rows}")
    with chromium.new_context(accept_downloads=True) as context:
        page = served.sign_in(context, "mara")
        clicks = Clicks(page)
        clicks.on("link", "New source")
        clicks.file("#file", str(tmp_path / "clinic.csv"))
        page.wait_for_url("**/new/clinic.csv")
        assert page.input_value("#low-2") == page.input_value("#keys-1") == ""  # nothing is taken from the data
        clicks.choose("#who", "0")
        page.fill("#keys-1", "north, south")
        page.fill("#low-2", "0")
        page.fill("#high-2", "100")
        clicks.on("button", "Check it")
        page.wait_for_url("**/check")
        assert "the declaration fits the table" in page.inner_text("main")
        clicks.on("checkbox", "Bounds and keys come from")
        clicks.on("button", "Serve clinic")
        page.wait_for_url("**/sources/clinic")
        clicks.on("link", "Ask clinic")
        page.fill("#sql", "SELECT ward, COUNT(*), AVG(cost) FROM clinic GROUP BY ward")
        page.fill("#epsilon", "0.5")
        clicks.on("button", "Release…")
        clicks.on("button", "Release for ε = 0.5")
        page.wait_for_selector("button[name=file][value=html]")
        with page.expect_download() as download:
            clicks.count += 1
            page.click("button[name=file][value=html]")
        report = download.value.path().read_text()
    assert "north" in report
    assert "clinic" in report
    assert clicks.count <= 12, clicks.count
    assert served.app.sources["clinic"].ledger.spent * 2 == 1


def test_a_request_is_made_and_granted_in_the_browser(chromium, served):
    with chromium.new_context() as context:
        page = served.sign_in(context, "ana")
        page.goto(f"{served.url}/sources/visits/requests")
        page.fill("#cap", "1.5")
        page.fill("#reason", "The second wave of the survey.")
        page.get_by_role("button", name="Send the request").click()
        assert "Withdraw" in page.inner_text("main")
    with chromium.new_context() as context:
        page = served.sign_in(context, "olga")
        page.get_by_role("link", name="visits").first.click()
        page.get_by_role("link", name="Requests").click()
        assert "The second wave of the survey." in page.inner_text("blockquote")
        page.get_by_role("button", name="Grant").click()
        assert "No request waits" in page.inner_text("main")
        assert "granted" in page.inner_text("table")
    assert served.ledger.budget("ana").total * 2 == 3


def test_an_owner_invites_someone_who_signs_in(chromium, served):
    with chromium.new_context() as context:
        page = served.sign_in(context, "olga")
        page.goto(f"{served.url}/sources/visits/people")
        page.fill("#person", "mona")
        page.fill("#cap", "0.25")
        page.get_by_role("button", name="Invite").click()
        served.tokens["mona"] = page.inner_text("#new-token").strip()
    with chromium.new_context() as context:
        page = served.sign_in(context, "mona")
        assert "ε = 0.25 left" in page.inner_text("main")
