"""The page: whole, safe, and readable on a phone and a desk, in light and dark, as headless Chromium sees it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from engnn.errors import InputError
from engnn.report.page import page, report

MakeRun = Callable[..., Path]
Table = tuple[list[str], list[list[object]]]
PROBE = Path(__file__).with_name("probe.html")  # what a page looks like from inside a browser
HOSTILE = "<script>document.title='taken'</script>"


class Outline(HTMLParser):
    """What a page is made of, as a reader without a browser would list it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def named(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture
def runs(
    make_run: MakeRun,
    record: Callable[..., dict[str, Any]],
    classes: Callable[..., Table],
    values: Callable[..., Table],
    links: Callable[..., Table],
) -> list[Path]:
    """Runs of every kind, some of whose names mean harm or are long."""
    long = "a" * 200
    hostile = record(dataset=HOSTILE, metric=HOSTILE, model=HOSTILE, hardware={HOSTILE: HOSTILE}, config={long: long})
    return [
        make_run("classes", answers=classes(["one", HOSTILE, long, "&lt;"]), record=hostile, config=f"a: {HOSTILE}\n"),
        make_run("again", answers=classes([f"class {place}" for place in range(40)]), record=hostile),
        make_run("values", answers=values([HOSTILE, long]), record=record(higher_is_better=False)),
        make_run("links", answers=links()),
        make_run(long, epochs=[{"epoch": 1, "loss": 1.0}]),
    ]


@pytest.fixture
def records(tmp_path: Path, record: Callable[..., dict[str, Any]]) -> Path:
    path = tmp_path / "node.jsonl"
    found = [record(seed=seed, dataset=name) for name in ("cora", HOSTILE) for seed in range(3)]
    path.write_text("".join(json.dumps(one) + "\n" for one in found))
    return path


def test_a_page_asks_for_nothing_from_anywhere(runs: list[Path], records: Path) -> None:
    text = page([*runs, records])
    outline = Outline(text)
    assert not outline.named("script", "link", "img", "iframe", "object", "embed", "base", "form", "audio", "video")
    anchors = {attributes["id"] for _, attributes in outline.tags if "id" in attributes}
    links = [attributes.get("href") or "" for attributes in outline.named("a", "use", "image")]
    assert links
    assert all(link.startswith("#") and link[1:] in anchors for link in links)
    assert not any(name.startswith("on") for _, attributes in outline.tags for name in attributes)
    assert "url(" not in text
    assert "@import" not in text


def test_a_page_says_what_it_shows(runs: list[Path], records: Path) -> None:
    outline = Outline(page([*runs, records]))
    charts = [one for one in outline.named("svg") if one.get("aria-hidden") != "true"]
    assert len(charts) > 15
    assert all(one["role"] == "img" and len(one["aria-label"] or "") > 40 for one in charts)
    levels = [int(tag[1]) for tag, _ in outline.tags if tag in ("h1", "h2", "h3", "h4")]
    assert levels.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))
    assert outline.named("html")[0]["lang"] == "en"
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in outline.named("div") if box.get("role"))
    anchors = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(set(anchors)) == len(anchors)


def test_the_page_of_one_run_is_no_deeper_than_it_must(runs: list[Path]) -> None:
    outline = Outline(page(runs[:1]))
    assert [tag for tag, _ in outline.tags if tag in ("h1", "h2", "h3")] == ["h1", "h2", "h2", "h2"]
    assert not outline.named("nav")


def test_a_page_says_what_was_measured(make_run: MakeRun, classes: Callable[..., Table]) -> None:
    text = html.unescape(page([make_run(answers=classes(["a", "b"]))]))
    for said in ("0.8000", "0.8100", "0.9900", "1 min 15 s", "123,456", "512 MiB", "layers: 4", "2.13.0", "0123abc"):
        assert said in text


def test_records_become_mean_and_deviation(records: Path, tmp_path: Path, record: Callable[..., Any]) -> None:
    assert "0.8000 ± 0.0000" in page([records]).replace("&nbsp;", " ")
    records.write_text(json.dumps(record(complete=False)))
    text = page([tmp_path])  # a folder of such files
    assert "no complete record" in text
    assert "(1 incomplete left out)" in text


def test_a_run_that_goes_on_says_so(make_run: MakeRun) -> None:
    folder = make_run()
    (folder / "record.json").unlink()
    assert "This run is unfinished" in page([folder])


def test_the_same_runs_make_the_same_page(runs: list[Path], records: Path) -> None:
    assert page([*runs, records]) == page([*runs, records])


def test_a_page_of_many_answers_stays_small(make_run: MakeRun, values: Callable[..., Table]) -> None:
    assert len(page([make_run(answers=values(["y"], 20_000))])) < 120_000


def test_characters_that_cannot_be_written_do_not_stop_it(make_run: MakeRun, record: Callable[..., Any]) -> None:
    folder = make_run(record=record(dataset="\ud800 \x00 \x1b"))
    assert report([folder], folder / "page.html").read_text(encoding="utf-8").count("&#55296;")


@pytest.mark.parametrize("out", ["absent/report.html", "classes"])
def test_a_place_that_cannot_be_written_is_named(runs: list[Path], tmp_path: Path, out: str) -> None:
    with pytest.raises(InputError, match=out):
        report(runs, tmp_path / out)
    assert not list(tmp_path.glob(".*"))


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of the four tasks as `engnn train` writes them, on small data."""
    from engnn.train.config import Config, ModelConfig, TrainConfig
    from engnn.train.run import opened, train

    folder = tmp_path_factory.mktemp("real")
    ring = range(30)
    graphs = folder / "graphs"  # a value for each of 20 graphs
    graphs.mkdir()
    edges = [
        f"{graph}.{node},{graph}.{(node + 1) % (3 + graph % 4)}" for graph in range(20) for node in range(3 + graph % 4)
    ]
    (graphs / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    nodes = [f"{graph}.{node},{graph}" for graph in range(20) for node in range(3 + graph % 4)]
    (graphs / "nodes.csv").write_text("id,graph\n" + "\n".join(nodes) + "\n")
    labels = [f"{graph},{3.5 + graph % 4}" for graph in range(20)]
    (graphs / "graphs.csv").write_text("graph,label\n" + "\n".join(labels) + "\n")
    sets = folder / "sets"  # a class for each of 30 sets of nodes
    sets.mkdir()
    (sets / "edges.csv").write_text("source,target\n" + "\n".join(f"{i},{(i + 1) % 30}" for i in ring) + "\n")
    rows = [f"{i},{i} {(i + 1 + i % 3) % 30},{'near' if i % 3 == 0 else 'far'}" for i in ring]
    (sets / "subgraphs.csv").write_text("id,nodes,label\n" + "\n".join(rows) + "\n")
    small = ModelConfig(layers=1, hidden=8, noise_channels=4, noise_dim=4)
    runs = []
    for data in ("karate", "small-world", str(sets), str(graphs)):
        config = Config(data=data, draws=2, model=small, train=TrainConfig(epochs=3, batch_size=512))
        runs.append(folder / f"run-{len(runs)}")
        train(config, opened(config), runs[-1])
    return runs


def test_runs_as_they_are_trained_are_shown_whole(real: list[Path]) -> None:
    text = page(real)
    shown = html.unescape(text)
    for folder, titles in zip(
        real,
        (("Confusion", "Reliability"), ("Probability of yes",), ("Entropy",), ("prediction against truth",)),
        strict=True,
    ):
        record = json.loads((folder / "record.json").read_text())
        one = html.unescape(page([folder]))
        for title in (*titles, "Training loss", "Validation", "Spread over draws", "Learning rate"):
            assert title.lower() in one.lower(), (folder, title)
        for score in filter(None, record["scores"].values()):
            assert f"{score:.4f}" in one
            assert f"{score:.4f}" in shown
        for word in (record["hardware"]["device"], record["versions"]["torch"], f"{record['parameters']:,}"):
            assert word in one
        assert "This run is" not in one
    assert not Outline(text).named("script", "link", "img")


def run_command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "engnn", "report", *arguments], capture_output=True, text=True)


def test_the_command_writes_the_page(runs: list[Path], tmp_path: Path) -> None:
    ended = run_command(*runs, "--out", tmp_path / "it.html")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{tmp_path / 'it.html'}\n", "")
    assert (tmp_path / "it.html").read_text(encoding="utf-8") == page(runs)


def test_the_command_refuses_in_one_message_and_writes_nothing(runs: list[Path], tmp_path: Path) -> None:
    (runs[0] / "metrics.jsonl").write_text("{\n")
    (tmp_path / "empty").mkdir()
    for wrong in (runs[0], tmp_path / "empty", tmp_path / "absent", runs[1] / "config.yaml", runs[1] / "metrics.jsonl"):
        ended = run_command(runs[1], wrong, "--out", tmp_path / "it.html")
        assert ended.returncode == 2
        assert ended.stderr.startswith("engnn: ")
        assert ended.stderr.count("\n") == 1
        assert str(wrong) in ended.stderr
        assert not (tmp_path / "it.html").exists()


def test_the_command_does_not_wait_for_torch() -> None:
    heavy = "('torch', 'matplotlib', 'pandas')"
    code = f"import sys, engnn.report.page; print([name for name in {heavy} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def browse(tmp_path: Path, text: str, *, dark: bool) -> dict[str, dict[str, Any]]:
    """What Chromium finds on the page at the width of a phone and of a desk."""
    browsers = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    if not any(browsers):
        pytest.skip("browser: chromium is not here")
    probe = tmp_path / "probe.html"
    asked = json.dumps(text).replace("</", "<\\/")
    probe.write_text(PROBE.read_text(encoding="utf-8").replace("REPORT_HERE", asked), encoding="utf-8")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"]
    profile = tmp_path / f"profile-{dark}"
    call = [
        next(filter(None, browsers)),
        *quiet,
        f"--user-data-dir={profile}",
        f"--blink-settings=preferredColorScheme={int(not dark)}",
    ]
    call += ["--virtual-time-budget=20000", "--dump-dom", probe.as_uri()]
    dumped = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'<pre id="found">(.*?)</pre>', dumped, re.DOTALL)
    assert found, dumped[-2000:]
    return json.loads(html.unescape(found[1]))  # type: ignore[no-any-return]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_it_on_a_phone_and_a_desk(runs: list[Path], records: Path, tmp_path: Path, dark: bool) -> None:
    for width, seen in browse(tmp_path, page([*runs, records]), dark=dark).items():
        assert seen["dark"] == dark
        assert seen["scroll"] <= seen["client"] == int(width), seen["wide"]
        assert seen["wide"] == []
        assert seen["charts"] > 15
        assert seen["small"] == 0
        assert seen["poor"] == []
        assert seen["scripts"] == 0
        assert seen["title"].endswith("engnn report")
        assert seen["first"] == "skip"
        assert seen["focusable"] > 20
        assert seen["unmarked"] == 0
    assert seen["boxes"]


def test_a_browser_shows_runs_as_they_are_trained(real: list[Path], tmp_path: Path) -> None:
    for width, seen in browse(tmp_path, page(real), dark=False).items():
        assert seen["scroll"] <= seen["client"] == int(width), seen["wide"]
        assert (seen["wide"], seen["poor"], seen["small"], seen["unmarked"]) == ([], [], 0, 0)
        assert seen["charts"] >= 4 * 4


def test_the_browser_test_can_fail(tmp_path: Path, runs: list[Path]) -> None:
    broken = page(runs[:1]).replace("</main>", "<p style='width:900px;color:#999'>wide and pale</p></main>")
    seen = browse(tmp_path, broken.replace("</style>", "* { outline: none !important }</style>"), dark=False)["360"]
    assert seen["scroll"] > 600
    assert any("wide and pale" in one for one in seen["wide"])
    assert [text for _, text in seen["poor"]] == ["wide and pale"]
    assert seen["unmarked"] == seen["focusable"]
