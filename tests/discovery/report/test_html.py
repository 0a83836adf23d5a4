"""The report: self-contained, escaped, and alive in a browser."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph_cases import HOSTILE, made_discovery, made_sample

from acid_causal.discovery.evidence import Conflict
from acid_causal.discovery.markov import MarkovCheck, Violation
from acid_causal.discovery.report.html import render, write_report
from acid_causal.discovery.report.labels import isolated
from acid_causal.discovery.stability import StabilityPath
from acid_causal.tables.inputs import Table

EDGES = [(0, 1, "-->"), (1, 2, "o->"), (2, 3, "<->"), (3, 4, "o-o"), (5, 4, "---")]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Page(HTMLParser):
    """Counts the elements of a page and collects its text and its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def data_of(page: Page) -> dict[str, Any]:
    """Reads the numbers in the page."""
    start = page.text.index('{"alpha"')
    data: dict[str, Any] = json.JSONDecoder().raw_decode(page.text[start:])[0]
    return data


@pytest.fixture(params=[False, True], ids=["plain", "sampled"])
def hostile(request: pytest.FixtureRequest) -> str:
    found = made_discovery(
        HOSTILE,
        EDGES,
        method="fci",
        sampled=request.param,
        warnings=["<b>warned</b> & told"],
        sample=made_sample(HOSTILE),
    )
    return render(found, title="<i>data</i>.csv")


def test_all_is_escaped(hostile: str) -> None:
    page = Page(hostile)
    assert page.tags["script"] == 2  # the data and ours
    assert not {"img", "b", "i", "iframe", "link", "object"} - {"i"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    shown = page.text[: page.text.index('{"alpha"')]
    assert "49" not in shown  # nothing of the table is a template
    for name in HOSTILE:
        assert isolated(name) in page.text
    assert "<b>warned</b> & told" in page.text
    assert "<i>data</i>.csv" in page.text


def test_nothing_is_fetched(hostile: str) -> None:
    page = Page(hostile)
    links = [(tag, v) for tag, name, v in page.attributes if name in ("src", "href", "xlink:href")]
    assert all(value.startswith("#") for _, value in links)
    policy = next(v for tag, name, v in page.attributes if v.startswith("default-src"))
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[\w+/=]+'", policy
    )
    assert "@import" not in hostile
    assert not re.search(r"url\((?!#)", hostile)


def test_what_it_says(tmp_path: Path) -> None:
    found = made_discovery(list("abcdef"), EDGES, method="fci", sampled=True, warnings=["careful"])
    assert isinstance(found.provenance, dict)
    found.provenance["command"] = "acid-causal discover 'my data.csv'"
    write_report(found, tmp_path / "deep" / "report.html", title="my data.csv")
    text = " ".join(Page((tmp_path / "deep" / "report.html").read_text("utf-8")).text.split())
    for part in (
        "Causal graph by FCI with the test tiny: 6 variables, 1,234 rows, 5 edges (1 directed)",
        "careful",
        "acid-causal discover 'my data.csv'",
        "sha256 " + "cd" * 32,
        "seed 0",
        "samples of 70% of the rows",
        "A o→ B",
        "10 pairs",
        "no value missing",
        "required",
    ):
        assert part in text, part


def test_conflicts_and_the_check_are_shown() -> None:
    found = made_discovery(["<b>", "y", "z"], [(0, 1, "-->"), (1, 2, "---")])
    found.provenance["search"]["orient"] = "maxp"
    violation = Violation("<b>", "z", ("y",), 0.01)
    page = Page(
        render(
            replace(
                found,
                conflicts=(Conflict("<b>", "y", "z"),),
                markov=MarkovCheck(4, (violation,), (0.5, 0.75), 0.05, 1),
                path=StabilityPath(
                    (0.01, 0.1), np.stack([0 * found.endpoints, found.endpoints]), (0, 3)
                ),
            )
        )
    )
    text = " ".join(page.text.split())
    assert "gave way (rule: maxp)" in text
    assert "<b> → y ← z" in text
    assert "1 of 4 implied independences fail (25%; with permuted names 62%; p = 0.33)" in text
    assert "<b>, z given y: p = 0.010" in text
    data = data_of(page)
    assert (data["levels"], data["open"]) == ([0.01, 0.1], [False, True])
    assert data["pairs"][0]["path"] == ["", "→"]


def test_one_edge_and_none() -> None:
    alone = Page(render(made_discovery(["a", "b"], [(0, 1, "---")])))
    assert "1 edge (0 directed)" in " ".join(alone.text.split())
    assert "None: all pairs are linked." in alone.text
    none = Page(render(made_discovery(["a", "b"], [])))
    assert "0 edges" in " ".join(none.text.split())
    assert "No two variables are linked" in none.text


@pytest.mark.parametrize("d", [9, 10, 40, 41])
def test_many_variables_have_a_filter_and_short_tables(d: int) -> None:
    page = Page(render(made_discovery([f"v{k}" for k in range(d)], [(0, 1, "-->"), (1, 2, "---")])))
    assert (("input", "id", "find") in page.attributes) == (d >= 10)
    assert (("body", "class", "compact") in page.attributes) == (d > 40)


def test_without_rows_none_of_their_values_is_there() -> None:
    found = made_discovery("abc", [(0, 1, "-->")], sample=made_sample("abc"))
    assert data_of(Page(render(found)))["pictures"]["rows"] == 60
    bare = render(replace(found, sample=None))
    assert data_of(Page(bare))["pictures"] is None
    assert 'codes"' not in bare


def test_thirty_variables_take_three_megabytes_at_most() -> None:
    names = [f"variable number {k}" for k in range(30)]
    edges = [(k, k + 1, "-->") for k in range(29)]
    values = np.random.default_rng(0).normal(size=(500, 30))
    found = made_discovery(names, edges, sample=Table(values, tuple(names), None))
    given = tuple(names[:3])
    apart = tuple(replace(pair, given=given) for pair in found.separations)
    assert len(render(replace(found, separations=apart))) < 3e6


def test_of_many_pairs_the_most_doubtful_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acid_causal.discovery.report.html._MOST_SEPARATIONS", 3)
    found = made_discovery("abcd", [(0, 1, "-->")])
    apart = tuple(replace(p, pvalue=0.9 - k / 10) for k, p in enumerate(found.separations))
    page = Page(render(replace(found, separations=apart)))
    assert "5 pairs, and the set that separates each best: the 3 most doubtful" in page.text
    assert [pair["p"] for pair in data_of(page)["pairs"][1:]] == ["0.500", "0.600", "0.700"]


# ---- in a browser ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens a report of hostile names; fails if it complains, asks for anything, or runs a name."""
    found = made_discovery(HOSTILE, EDGES, method="fci", sampled=True, sample=made_sample(HOSTILE))
    path = StabilityPath((0.01, 0.05), np.stack([0 * found.endpoints, found.endpoints]), (2, 0))
    write_report(replace(found, path=path), tmp_path / "report.html", title="data.csv")
    page = browser.new_page(viewport={"width": 390, "height": 844})
    told: list[str] = []

    def dismiss(dialog: Any) -> None:
        told.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", dismiss)
    page.on("request", lambda request: told.append(request.url))
    page.goto((tmp_path / "report.html").as_uri())
    yield page
    assert told == [(tmp_path / "report.html").as_uri()]
    page.close()


@pytest.mark.slow
def test_choosing_an_edge_and_a_variable(opened: Any) -> None:
    # A click in the middle of an edge, as a finger would.
    hit = opened.locator(".edge.hit[data-edge='0'] path")
    hit.click(force=True)
    detail = opened.locator("#detail").inner_text()
    assert "<script>alert(1)</script> → </script><img src=x onerror=alert(2)>" in detail
    assert "is a cause of" in detail
    assert "0.040" in detail
    assert "50 %" in detail
    assert opened.locator("tr.chosen").get_attribute("data-pair") == "0"
    opened.locator("tr[data-pair='3']").click()
    assert "o–o" in opened.locator("#detail h3").inner_text()
    opened.keyboard.press("Escape")
    opened.locator(".node.box[data-node='4']").click()
    assert opened.locator("#detail li").count() == 2
    assert opened.locator(".edge.line.faded").count() == 3
    opened.keyboard.press("Escape")
    assert opened.locator(".faded, .chosen").count() == 0
    assert not opened.locator("#panel").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_panel_is_in_sight(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    opened.locator("summary").last.click()
    rows = opened.locator(".separations tbody tr")
    for row in (rows.nth(30), opened.locator(".edges tbody tr").last):
        row.click()
        title, chosen = opened.locator("#detail h3").bounding_box(), row.bounding_box()
        assert 0 <= title["y"] < title["y"] + title["height"] <= 800
        assert 0 <= chosen["y"] < chosen["y"] + chosen["height"] <= 800
        covered = chosen["y"] + chosen["height"] > title["y"]
        assert not covered or chosen["x"] + chosen["width"] <= title["x"]  # not under the panel
    opened.locator("#close").click()
    assert opened.locator(".chosen").count() == 0


@pytest.mark.slow
def test_a_separated_pair_and_its_picture(opened: Any) -> None:
    opened.locator("summary").last.click()
    scatter, strips, mosaic = (
        opened.evaluate(
            """(kinds) => {
              const { pairs, pictures: { series } } = JSON.parse(data.textContent);
              return pairs.findIndex(({ mark, nodes: [a, b] }) =>
                !mark && !series[a].levels === kinds[0] && !series[b].levels === kinds[1]);
            }""",
            kinds,
        )
        for kinds in ([True, True], [True, False], [False, False])
    )
    panel = opened.locator("#detail")
    for number, kind, count in ((scatter, "circle", 60), (strips, "circle", 60)):
        opened.locator(f"tr[data-pair='{number}']").press("Enter")
        assert panel.locator(kind).count() == count
    assert panel.locator(".means").count() > 3
    opened.locator(f"tr[data-pair='{mosaic}']").click()
    assert panel.locator(".tile").count() > 50
    text = panel.inner_text()
    for part in ("0.500", "look independent given nothing", "60 rows", "Conditioning sets asked"):
        assert part in text, part
    assert panel.locator(".path .here").all_inner_texts() == [".05", "·"]
    assert panel.locator(".sets .separates").count() == 1


@pytest.mark.slow
def test_after_a_regression(opened: Any) -> None:
    # The edges are given two variables: the pair as it is, and what regressions leave.
    opened.locator("tr[data-pair='1']").click()
    captions = opened.locator("#detail figcaption").all_inner_texts()
    assert len(captions) == 2
    assert captions[1].startswith("what regressions on")
    assert "alert(1)" in captions[1]
    dots = opened.locator("#detail figure").all()
    assert [figure.locator("circle").count() for figure in dots] == [60, 60]


@pytest.mark.slow
def test_sorting_and_filtering(opened: Any) -> None:
    def pvalues() -> list[float]:
        cells = opened.locator(".edges tbody td[data-label='p']").all()
        return [float(cell.get_attribute("data-value")) for cell in cells]

    opened.get_by_role("button", name="p-value").first.click()
    assert pvalues() == sorted(pvalues())
    opened.get_by_role("button", name="p-value").first.click()
    assert pvalues() == sorted(pvalues(), reverse=True)
    opened.locator("#find").fill("名前")  # opens the list of pairs
    visible = opened.locator(".separations tbody tr:visible")
    assert visible.count() == 11
    assert all("名前" in row.inner_text() for row in visible.all())
    assert opened.locator(".edges tbody tr:visible").count() == 0
    opened.locator("#find").fill("")
    assert opened.locator(".edges tbody tr:visible").count() == 5


@pytest.mark.slow
def test_the_slider_keeps_the_firmest_edges(opened: Any) -> None:
    assert opened.locator("#kept").inner_text() == "5 of 5: confidence ≥ 50 %"
    opened.locator("#firmest").fill("2")
    assert opened.locator("#kept").inner_text() == "2 of 5: confidence ≥ 50 %"
    rows = opened.locator(".edges tbody tr:visible").all()
    assert [row.get_attribute("data-pair") for row in rows] == ["0", "1"]
    assert opened.locator(".edge.line:visible").count() == 2
    assert opened.locator(".node.box.dim").count() == len(HOSTILE) - 3


@pytest.mark.slow
def test_lines_are_copied(opened: Any) -> None:
    for block in opened.locator(".again").all():
        block.locator("button").click()
        expect = block.locator("button", has_text="copied")
        expect.wait_for()
        # The browser of the tests may have no clipboard; then the lines are selected.
        assert "discover" in block.locator("pre").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_it_fits_the_screen(opened: Any, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    size = "el => el.querySelector('text').getBoundingClientRect().height"
    assert opened.locator(".node.name[data-node='7']").evaluate(size) > 8  # legible


@pytest.mark.slow
def test_print_opens_all(opened: Any) -> None:
    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.locator("details:not([open])").count() == 0
    assert not opened.locator("#panel").is_visible()  # nothing is chosen
    assert not opened.locator("#firmest").is_visible()
    opened.emulate_media(media="screen")
    opened.locator("#firmest").fill("2")
    opened.emulate_media(media="print")
    assert opened.locator("#kept").is_visible()  # as edges are missing
    assert not opened.locator(".zoom").is_visible()
    assert len(opened.pdf(format="A4")) > 10_000
