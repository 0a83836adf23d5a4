"""`acid-causal discover`: what it writes and prints, and how it fails."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import RunCommand, run_code

from acid_causal.discovery.discovery import discover
from acid_causal.weights.checkpoint import TrainedModel

FILES = {
    "edges.csv",
    "graph.dot",
    "graph.graphml",
    "graph.json",
    "graph.png",
    "graph.svg",
    "report.html",
    "sepsets.csv",
}


@pytest.fixture
def frame(table: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(table[:, :5], columns=["a", "b", "c", "income, net", "e"])


@pytest.fixture
def csv(tmp_path: Path, frame: pd.DataFrame) -> Path:
    path = tmp_path / "my data.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_files_and_text(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame, tiny_model: TrainedModel
) -> None:
    done = run_command("discover", csv, "--model", weights, "--alpha", "0.2")
    assert (done.code, done.err) == (0, "")
    folder = Path("my data-graph")
    assert {file.name for file in folder.iterdir()} == FILES
    found = discover(frame, model=tiny_model, alpha=0.2)
    lines = done.out.splitlines()
    assert lines[0] == (f"PC at alpha = 0.2: {len(found.edges)} edges among 5 variables (120 rows)")
    for edge, line in zip(found.edges, lines[1:], strict=False):
        assert line.startswith(f"  {edge} ")
    assert f"report: {folder / 'report.html'}" in lines
    content = json.loads((folder / "graph.json").read_text("utf-8"))
    assert [edge["pvalue"] for edge in content["edges"]] == pytest.approx(
        [edge.pvalue for edge in found.edges], abs=1e-4
    )
    made = content["provenance"]
    assert made["command"] == f"acid-causal discover '{csv}' --model {weights} --alpha 0.2"
    assert made["file"] == {
        "name": "my data.csv",
        "sha256": hashlib.sha256(csv.read_bytes()).hexdigest(),
        "format": {},
    }
    assert made["model"]["file"] == str(weights)
    assert made["command"].replace("'", "&#39;") in (folder / "report.html").read_text("utf-8")


def test_json_and_options(
    run_command: RunCommand, weights: Path, csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "out"
    done = run_command(
        "discover",
        csv,
        "--model",
        weights,
        "--out",
        out,
        "--no-data",
        "--json",
        "--columns",
        "a,b",
        "--columns",
        "income, net,c",
        "--drop",
        "b",
        "--method",
        "fci",
        "--max-size",
        "1",
        "--require",
        "a,income, net",
        "--forbid",
        "c,a",
        "--bootstrap",
        "3",
        "--seed",
        "5",
        "--fraction",
        "0.6",
        "--null",
        "pooled",
        "--device",
        "cpu",
    )
    assert done.code == 0
    content = json.loads(done.out)
    assert content["nodes"] == ["a", "income, net", "c"]
    assert {"a": "a", "mark": "-->", "b": "income, net"}.items() <= {
        key: value for edge in content["edges"] if edge["required"] for key, value in edge.items()
    }.items()
    made = content["provenance"]
    assert made["knowledge"] == {
        "forbid": [["c", "a"]],
        "require": [["a", "income, net"]],
        "tiers": [],
    }
    assert made["search"] == {
        "method": "fci",
        "alpha": 0.05,
        "max_size": 1,
        "null": "pooled",
        "orient": None,
        "permutations": None,
        "draws": None,
        "device": "cpu",
    }
    assert made["bootstrap"] == {"samples": 3, "rows": "subsample", "fraction": 0.6, "seed": 5}
    assert {Path(file).name for file in content["files"]} == FILES
    assert all(Path(file).is_file() for file in content["files"])
    assert '"pictures": null' in Path(content["files"][0]).read_text("utf-8")
    assert "warning: FCI takes a forbidden edge" in done.err


def test_orientation_and_the_check_of_the_graph(
    run_command: RunCommand, weights: Path, csv: Path
) -> None:
    options = ("--model", weights, "--alpha", "0.2", "--orient", "both", "--check", "--json")
    done = run_command("discover", csv, *options)
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert content["provenance"]["search"]["orient"] == "both"
    assert content["markov"]["max_size"] == 1
    assert len(content["markov"]["permuted"]) == 99
    assert content["path"]["alphas"][0] == 0.001
    levels = len(content["path"]["alphas"])
    assert {len(pair["path"]) for pair in content["edges"] + content["separations"]} == {levels}
    done = run_command("discover", csv, "--orient", "last")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "unknown value of orient: 'last'" in done.err


def test_a_file_of_knowledge(
    run_command: RunCommand, weights: Path, csv: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known.toml"
    known.write_text('require = [["a", "b"]]\ntiers = [["a"], ["b"]]\n')
    command = ["discover", csv, "--model", weights, "--json", "--knowledge", known]
    done = run_command(*command, "--forbid", "e,a")
    assert json.loads(done.out)["provenance"]["knowledge"] == {
        "forbid": [["e", "a"]],
        "require": [["a", "b"]],
        "tiers": [["a"], ["b"]],
    }
    assert run_command(*command, "--require", "b,a").code == 2
    known.write_text('forbids = [["a", "b"]]')
    done = run_command(*command)
    assert (done.code, done.out) == (2, "")
    assert "Did you mean 'forbid'" in done.err


@pytest.mark.parametrize("name", ["data.tsv", "data.parquet", "data.xlsx"])
def test_other_kinds_of_files(
    run_command: RunCommand, weights: Path, frame: pd.DataFrame, tiny_model: TrainedModel, name: str
) -> None:
    if name.endswith("tsv"):
        frame.to_csv(name, sep="\t", index=False)
    else:
        getattr(frame, {"parquet": "to_parquet", "xlsx": "to_excel"}[name[5:]])(name, index=False)
    done = run_command("discover", name, "--model", weights, "--json")
    edges = [edge["mark"] for edge in json.loads(done.out)["edges"]]
    assert edges == [edge.mark for edge in discover(frame, model=tiny_model).edges]
    assert Path("data-graph/report.html").is_file()


def test_warnings_are_lines(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    frame.assign(id=np.arange(120), sex=np.arange(120) % 2).to_csv(csv, index=False)
    done = run_command("discover", csv, "--model", weights)
    assert done.code == 0
    assert done.err.splitlines() == [
        "warning: the column 'id' looks like a row number, not like a variable; leave it out",
        "warning: (a, sex | ) holds a column of few different values, and tiny was trained on "
        "continuous ones: its p-values are extrapolated; --null checked checks rejections by "
        "permuting the rows",
    ]
    again = run_command("discover", csv, "--model", weights, "--drop", "id,sex")
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "ges"], "unknown method 'ges'"),
        (["--columns", "a,incme, net"], "unknown column 'incme'"),
        (["--drop", "f"], "unknown column 'f'"),
        (["--columns", "a"], "at least two columns"),
        (["--forbid", "a"], "--forbid takes two different columns"),
        (["--require", "a,a"], "--require takes two different columns"),
        (["--require", "a,bb"], "unknown column 'bb'"),
        (["--require", "a,b", "--forbid", "a,b"], "required and forbidden at once"),
        (["--knowledge", "none.toml"], "cannot read the knowledge"),
        (["--alpha", "0"], "alpha must be between 0 and 1"),
        (["--bootstrap", "2", "--fraction", "0"], "fraction must be"),
        (["--bootstrap", "2", "--rows", "all"], "unknown value of rows"),
        (["--model", "none.safetensors"], "there is no weights file"),
        (["--device", "tpu"], "no such device"),
        (["--missing", "keep"], "unknown value of missing"),
        (["--out", "my data.csv"], "--out must be a folder"),
        (["--max-size", "-1"], "--max-size"),
    ],
)
def test_mistakes_end_with_a_message(
    run_command: RunCommand, weights: Path, csv: Path, options: list[str], message: str
) -> None:
    model = [] if "--model" in options else ["--model", weights]
    done = run_command("discover", csv, *model, *options)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())


def test_tables_with_mistakes(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    frame.assign(kind=[f"text {k}" for k in range(120)]).to_csv(csv, index=False)
    done = run_command("discover", csv, "--model", weights)
    assert done.code == 2
    assert "'kind' (an identifier, it seems" in done.err
    assert "--drop kind" in done.err
    frame.loc[3, "b"] = np.nan
    frame.to_csv(csv, index=False)
    done = run_command("discover", csv, "--model", weights)
    assert done.code == 2
    assert "'b': 1. Impute them, or pass --missing drop" in done.err
    done = run_command("discover", csv, "--model", weights, "--missing", "drop")
    assert done.code == 0
    assert done.err.startswith("warning: missing values in b (1)")


def test_columns_of_texts_and_levels(
    run_command: RunCommand, weights: Path, csv: Path, frame: pd.DataFrame
) -> None:
    frame = frame[["a", "b"]].assign(
        kind=["red ", "blue", "red"] * 40, size=["S", "L", "M", "M"] * 30, region=[3, 1, 2] * 40
    )
    frame.to_csv(csv, index=False)
    done = run_command("discover", csv, "--model", weights, "--max-size", "0", "--json")
    assert done.code == 0
    told = [line for line in done.err.splitlines() if "whole numbers in region" in line]
    assert len(told) == 1
    assert told[0].endswith("pass --categorical region")
    types = {
        variable["name"]: (variable["type"], variable["levels"])
        for variable in json.loads(done.out)["provenance"]["data"]["variables"]
    }
    assert types == {
        "a": ("numeric", None),
        "b": ("numeric", None),
        "kind": ("categorical", ["blue", "red"]),
        "size": ("categorical", ["L", "M", "S"]),
        "region": ("numeric", None),
    }
    words = ["--categorical", "region", "--ordered", "size=S,M,L", "--max-size", "0"]
    done = run_command("discover", csv, "--model", weights, *words)
    assert done.code == 0
    assert "whole numbers" not in done.err
    page = Path("my data-graph/report.html").read_text("utf-8")
    assert (
        "2 of numbers; kind: categories blue, red; size: ordered levels S &lt; M &lt; L; "
        "region: categories 1, 2, 3" in page
    )
    done = run_command("discover", csv, "--model", weights, "--ordered", "size")
    assert done.code == 2
    assert "'size' of data has no order of its own" in done.err
    assert "--ordered size=low,high" in done.err


def test_folders_that_cannot_be_written(
    run_command: RunCommand, weights: Path, csv: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = run_command("discover", csv, "--model", weights, "--out", tmp_path / "file" / "below")
    assert done.code == 1
    assert done.err.startswith("error: ")


def test_hostile_names(run_command: RunCommand, weights: Path, frame: pd.DataFrame) -> None:
    frame.columns = ["<script>alert(1)</script>", "=1+1", "--out", "{{a}}", "é\n\x1b[31m"]
    frame["\x1b]0;title"] = 1.0
    frame.to_csv("hostile.csv", index=False)
    done = run_command("discover", "hostile.csv", "--model", weights, "--alpha", "0.99")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "[31m" in done.out
    assert "]0;title" in done.err  # which is constant
    page = Path("hostile-graph/report.html").read_text("utf-8")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.slow
def test_ctrl_c_leaves_no_traceback(csv: Path, tmp_path: Path) -> None:
    # The signal comes with the first question of the search.
    code = (
        "import os, signal\n"
        "from acid_causal import cli\n"
        "from acid_causal.discovery.search.question_record import QuestionRecord\n"
        "QuestionRecord.answer = lambda *a: os.kill(os.getpid(), signal.SIGINT)\n"
        f"cli.main(['discover', {str(csv)!r}])\n"
    )
    done = run_code(code, tmp_path)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [csv.name]  # no empty folder
