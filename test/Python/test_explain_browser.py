"""The page of tilewright explain in a browser: it loads, clicks and keys work, and the number of the document's
elements is bounded, also for 500 kernels."""

# ruff: noqa: F811 (fixtures of the other file)
import copy
import json
import re
from pathlib import Path

import pytest
import torch
from browser import MISSING, PROGRAM, Browser
from test_explain_html import HOSTILE, STAGES, explain, exported, hostile_model, page_of, record  # noqa: F401

import tilewright

pytestmark = pytest.mark.skipif(not PROGRAM, reason=MISSING)

ROWS = "document.querySelectorAll('.pane')[{pane}].querySelectorAll('.row{kind}')"
TEXTS = "[...document.querySelectorAll({selector!r})].map((one) => one.textContent)"


@pytest.fixture
def browser():
    with Browser() as page:
        page.address = ""
        yield page
        assert page.complaints == []
        assert set(page.requests) == {page.address}


def show(browser, path: Path, fragment: str = "") -> None:
    browser.address = path.resolve().as_uri()
    browser.open(path, fragment)


def texts(browser, selector: str) -> list[str]:
    return browser.value(TEXTS.format(selector=selector))


def pane_rows(browser, pane: int, kind: str = "") -> list[str]:
    return browser.value(f"[...{ROWS.format(pane=pane, kind=kind)}].map((row) => row.lastChild.parentNode.textContent)")


def test_clicks_and_keys_change_the_view(browser, exported, record):
    page_of(exported)
    show(browser, exported.with_suffix(".html"))
    for view in ("Overview", "Lines", "Kernels", "Fusion", "Memory", "Time", "Difference", "Steps"):
        assert view in texts(browser, "nav button")
    assert f"{len(record['origins'])} operations" in texts(browser, ".card b")

    # If the user clicks on a line of the source, the lines of the same operations are marked at every level.
    browser.press("2")
    source = texts(browser, ".pane:first-child .row")
    gelu = next(i for i, text in enumerate(source) if "gelu" in text)
    browser.click(".pane:first-child .row", gelu)
    assert pane_rows(browser, 0, ".chosen") == [source[gelu]]
    assert all("tw.gelu" in row for row in pane_rows(browser, 1, ".hit")) and len(pane_rows(browser, 1, ".hit")) == 2
    assert browser.value("document.querySelector('#status').textContent").startswith("2 operations: tw.gelu (aten.gelu.default)")
    assert pane_rows(browser, 2, ".hit") and pane_rows(browser, 3, ".hit")
    # The key n moves to the next marked line of the level that was used last.
    marked = pane_rows(browser, 1, ".hit")
    browser.value("document.querySelectorAll('.list')[1].focus()")
    for row in (*marked, marked[0]):
        browser.press("n")
        assert pane_rows(browser, 1, ".at") == [row]
    browser.press("Escape")
    assert not pane_rows(browser, 1, ".hit") + pane_rows(browser, 1, ".chosen")
    # The search applies to the level that was used last.
    browser.press("/")
    assert browser.value("document.activeElement.id") == "search"
    browser.type("softmax_is_not_there")
    browser.press("Enter")
    assert "is not in graph" in browser.value("document.querySelector('#status').textContent")

    # The test selects another level from the list.
    browser.choose(".pane:nth-of-type(2) select", "vector")
    stage = next(one for one in record["stages"] if one["name"] == "vector")
    assert pane_rows(browser, 1)[0] == "1" + stage["lines"][0]

    # Clicking a title sorts; a kernel opens at the start of its code.
    browser.click("#tab-kernels")
    browser.click(".table .head button", len(texts(browser, ".table .head button")) - 1)
    last = "[...document.querySelectorAll('.table .row')].sort((a, b) => a.dataset.row - b.dataset.row).map((row) => row.lastChild.textContent)"
    sizes = [float(text.split()[0]) * {"B": 1, "KiB": 1024}[text.split()[1]] for text in browser.value(last)]
    assert len(sizes) == len(record["kernels"]) and sizes == sorted(sizes, reverse=True)
    browser.click(".table .row", 0)
    kernel = max(record["kernels"], key=lambda one: one["code_bytes"])
    assert any(f"{kernel['name']}:" in row for row in pane_rows(browser, 3, ".at"))

    # The view lists the edges that are not fused, with their reasons. The search filters the list.
    browser.press("4")
    unfused = [edge for edge in record["edges"] if not edge["done"]]
    shown = texts(browser, ".table .row")
    assert len(shown) == len(unfused) and all(edge["reason"] in "".join(shown) for edge in unfused)
    browser.press("/")
    browser.type(unfused[0]["reason"])
    assert 0 < len(texts(browser, ".table .row")) <= len(unfused)

    # Memory and time.
    browser.press("Escape")
    browser.press("5")
    assert len(texts(browser, "svg rect.buffer")) == len(record["plan"]["arena"])
    browser.click("svg rect.buffer", 0)
    assert "Made by step" in browser.value("document.querySelector('main').textContent")
    browser.press("6")
    passes = {one["name"] for stage in record["stages"] for one in stage["passes"]}
    assert set(texts(browser, ".bars .pass")) == passes
    browser.press("?")
    assert browser.value("document.querySelector('#keys').open")


def test_compare_view_shows_both_records(browser, exported, record, tmp_path):
    (tmp_path / "before.json").write_text(json.dumps(record))
    explain(exported, "--cpu=x86-64-v3", "--html", tmp_path / "page.html", "--against", tmp_path / "before.json")
    show(browser, tmp_path / "page.html", "#view=compare")
    rows = browser.value("[...document.querySelectorAll('.plain tr')].map((row) => [...row.children].map((cell) => cell.textContent))")
    cells = {row[0]: row[1:] for row in rows}
    assert cells["CPU"][:2] == [record["cpu"], "x86-64-v3"]
    assert cells["Kernels"] == [str(len(record["kernels"]))] * 2 + [""]


def test_steps_view_says_why_steps_copy(browser, tmp_path):
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0)
    encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    tilewright.export(encoder, (torch.randn(2, 8, 32),), str(tmp_path / "encoder.pt2"))
    explain(tmp_path / "encoder.pt2", "--json", tmp_path / "encoder.json", "--html", tmp_path / "page.html")
    plan = json.loads((tmp_path / "encoder.json").read_text())["plan"]
    show(browser, tmp_path / "page.html")
    copies = [step for step in plan["once"] + plan["steps"] if step["reason"]]
    assert f"{len(plan['steps'])} steps per call, {sum(bool(step['reason']) for step in plan['steps'])} of them only copy" in " ".join(texts(browser, ".card span"))
    browser.press("8")
    assert len(texts(browser, ".table .row")) == len(plan["once"] + plan["steps"])
    browser.choose(".bar select", "copies")
    shown = texts(browser, ".table .row")
    assert len(shown) == len(copies) > 5 and all(step["reason"] in row for step, row in zip(copies, shown))


OPTION_ROWS = "[...document.querySelectorAll('#options tr')].map((row) => [...row.children].map((cell) => cell.textContent)).slice(1)"


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("flags", [{}, {"threads": "3", "rounding": "eager"}])
def test_compare_view_lists_changed_options(browser, exported, record, tmp_path, flags, earlier):
    """A record of an earlier version has only some of the options, which are compared."""
    (tmp_path / "before.json").write_text(json.dumps({key: value for key, value in record.items() if key != "options" or not earlier}))
    flags = {"threads": str(record["threads"]), **flags}
    explain(exported, *(f"--{name}={value}" for name, value in flags.items()), "--html", tmp_path / "page.html", "--against", tmp_path / "before.json")
    show(browser, tmp_path / "page.html", "#view=compare")
    changed = [[name, record["options"][name], value] for name, value in flags.items() if record["options"][name] != value]
    assert browser.value(OPTION_ROWS) == changed
    all_options = 5 if earlier else len(record["options"])
    note = f"The other {all_options - len(changed)} options are the same." if changed else f"All {all_options} options are the same."
    assert note in texts(browser, "main p.soft")


@pytest.mark.parametrize("dark", [False, True])
def test_theme_follows_the_browser_and_can_be_switched(exported, dark):
    page_of(exported)
    with Browser(dark=dark) as page:
        page.open(exported.with_suffix(".html"))
        grounds = []
        for _ in range(2):
            ground = page.value("getComputedStyle(document.body).backgroundColor")
            grounds.append(sum(map(int, re.findall(r"\d+", ground)[:3])) < 200)
            page.click("#theme")
        assert grounds == [dark, not dark]


def test_hostile_names_add_no_elements(browser, tmp_path):
    path = hostile_model(tmp_path)
    explain(path, "--json", tmp_path / "record.json")
    explain(path, "--html", tmp_path / "page.html", "--against", tmp_path / "record.json")
    for fragment in ("", "#view=lines&operations=0", "#view=kernels", "#view=fusion", "#view=compare", f"#view={HOSTILE}&operations=<b>"):
        show(browser, tmp_path / "page.html", fragment)
        assert browser.value("document.querySelectorAll('script, b:not(.card b)').length") == 2
    show(browser, tmp_path / "page.html", "#view=lines&operations=0")
    assert HOSTILE in browser.value("document.querySelector('#status').textContent")
    assert any(HOSTILE in text for text in texts(browser, ".pane:first-child .row"))


def large(record: dict, times: int) -> dict:
    """Returns the record of a model that is `times` times as large."""
    big = copy.deepcopy(record)
    count, sets = len(record["origins"]), len(record["sets"])
    big["origins"] = record["origins"] * times
    big["sets"] = [[origin + i * count for origin in one] for i in range(times) for one in record["sets"]]
    for stage, one in zip(record["stages"], big["stages"]):
        length = len(stage["lines"])
        one["lines"] = stage["lines"] * times
        one["sets"] = [number + i * sets if number >= 0 else -1 for i in range(times) for number in stage["sets"]]
        one["functions"] = [{"name": f"{f['name']}_{i}", "first": f["first"] + i * length, "last": f["last"] + i * length}
                            for i in range(times) for f in stage["functions"]]  # fmt: skip
    big["kernels"] = [{**kernel, "name": f"{kernel['name']}_{i}", "origins": [origin + i * count for origin in kernel["origins"]]}
                      for i in range(times) for kernel in record["kernels"]]  # fmt: skip
    big["edges"] = [{**edge, "set": edge["set"] + i * sets} for i in range(times) for edge in record["edges"]]
    steps, arena = record["plan"]["steps"], record["plan"]["arena"]
    big["plan"]["steps"] = steps * times
    big["plan"]["arena"] = [{**buffer, "first": buffer["first"] + i * len(steps), "last": buffer["last"] + i * len(steps)}
                            for i in range(times) for buffer in arena]  # fmt: skip
    return big


def test_page_of_500_kernels_has_a_bounded_number_of_elements(browser, record, tmp_path):
    big = large(record, 500 // len(record["kernels"]) + 1)
    assert len(big["kernels"]) >= 500 and sum(len(stage["lines"]) for stage in big["stages"]) > 200_000
    (tmp_path / "big.json").write_text(json.dumps(big))
    explain(tmp_path / "big.json", "--html", tmp_path / "big.html")
    show(browser, tmp_path / "big.html")
    elements = "document.querySelectorAll('*').length"
    for view, most in ("overview", 300), ("lines", 5000), ("kernels", 900), ("fusion", 600), ("memory", 3000), ("time", 500), ("steps", 900):
        browser.click(f"#tab-{view}")
        assert browser.value(elements) < most, view
    browser.click("#tab-kernels")
    browser.value("document.querySelector('.list').scrollTop = 1e9")
    browser.until(f"[...document.querySelectorAll('.table .row')].some((row) => row.dataset.row == {len(big['kernels']) - 1})")
    assert browser.value(elements) < 900
    # The search selects the last kernel.
    browser.press("/")
    browser.type(big["kernels"][-1]["name"])
    browser.click(".table .row", 0)
    stage = next(one for one in big["stages"] if one["name"] == "structured")
    first = next(one["first"] for one in stage["functions"] if one["name"] == big["kernels"][-1]["name"])
    assert pane_rows(browser, 2, ".at") == [f"{first + 1}{stage['lines'][first]}"]
    assert len(pane_rows(browser, 3)) < 100


def test_levels_can_be_added_and_removed(browser, exported):
    page_of(exported)
    show(browser, exported.with_suffix(".html"), "#view=lines")
    assert browser.value("[...document.querySelector('.pane select').options].map((one) => one.value)") == ["source", *STAGES]
    for _ in range(2):
        browser.click(".bar button", 0)
    assert len(texts(browser, ".pane")) == 6
    for _ in range(5):
        browser.click(".bar button", 1)
    assert len(texts(browser, ".pane")) == 1


def test_program_view_shows_eager_operators_and_graph_breaks(browser, record, tmp_path):
    graph = {"name": "Net", "kind": "inference", "nodes": 3, "kernels": 1, "eager": 2}
    line = {"where": "/models/model.py:12", "text": "q, r = torch.linalg.qr(y)"}
    program = {
        "functions": [{"name": "forward", "where": "/models/model.py:9", "compiles": [
            {"id": "0/0", "reason": "", "seconds": 0.5, "graphs": [{**graph, "records": [0]}]},
            {"id": "0/1", "reason": "a size changed", "seconds": None, "graphs": [{**graph, "records": [1]}, {**graph, "records": []}]}]}],
        "eager": [{"operator": "aten.linalg_qr.default", "reason": HOSTILE, "graph": "Net", **line}] * 2,
        "breaks": [{"reason": "print is not traced", "where": "model.py:11", "text": "print(x)"}],
        "left": [{"function": "step (model.py:20)", "reason": "a generator", "where": "model.py:21", "text": HOSTILE}],
    }  # fmt: skip
    pages = [json.dumps({**record, "model": name}) for name in ("first", "second")]
    (tmp_path / "page.html").write_text(tilewright._tilewright.explain_page(pages, "", json.dumps(program)))
    show(browser, tmp_path / "page.html")
    assert "2 operators run in eager, 1 graph breaks" in texts(browser, ".card button")
    browser.press("9")
    cells = {name: browser.value(f"[...document.querySelectorAll('#{name} td')].map((cell) => cell.textContent)") for name in ("eager", "breaks", "left")}
    assert cells["eager"] == ["aten.linalg_qr.default", "2", "model.py:12q, r = torch.linalg.qr(y)", HOSTILE]
    assert cells["breaks"] == ["model.py:11print(x)", "print is not traced"]
    assert cells["left"] == ["step (model.py:20)", "model.py:21" + HOSTILE, "a generator"]
    assert "a size changed" in texts(browser, "#functions td")
    assert browser.value("document.querySelectorAll('script').length") == 2
    browser.click("#functions button", 1)
    assert texts(browser, "#model") == ["second"] and browser.value("document.querySelector('#record').value") == "1"


def test_page_of_a_model_has_no_program_view(browser, exported):
    page_of(exported)
    show(browser, exported.with_suffix(".html"))
    assert "Program" not in texts(browser, "nav button") + texts(browser, ".card span")


def test_another_graph_can_be_selected(browser, record, tmp_path):
    """A page written by report().html(): one graph is shown, and the others can be selected."""
    other = {**record, "model": "another", "kernels": record["kernels"][:1]}
    (tmp_path / "page.html").write_text(tilewright._tilewright.explain_page([json.dumps(record), json.dumps(other)], "", ""))
    show(browser, tmp_path / "page.html", "#view=kernels")
    assert len(texts(browser, ".table .row")) == len(record["kernels"])
    browser.choose("#record", "1")
    assert len(texts(browser, ".table .row")) == 1 and texts(browser, "#model") == ["another"]
