"""The gallery: all tables have readable names, and their pictures are drawn."""

from pathlib import Path

import pytest

from acid_causal.tables.inputs import read_table
from benchmarks import gallery
from benchmarks.data.real_tables import real_table


def test_tables_are_those_of_the_benchmarks() -> None:
    frame, knowledge = gallery.diabetes()
    assert (frame.to_numpy(float) == real_table("diabetes")).all()
    assert sorted(name for tier in knowledge.tiers for name in tier) == sorted(frame)
    frame, knowledge = gallery.wine()
    assert (frame.to_numpy(float) == real_table("wine")[:, :-1]).all()
    assert not knowledge


def test_pictures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "TABLES", {"iris": gallery.iris})
    gallery.main(out=tmp_path / "new", samples=0)
    (picture,) = (tmp_path / "new").iterdir()
    assert picture.name == "gallery-iris.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_mixed_tables() -> None:
    frame, knowledge = gallery.travel()
    assert frame.shape == (210, 6)
    knowledge.check(list(frame))
    assert read_table(frame).categories == {5: ("air", "bus", "car", "train")}
    frame, knowledge = gallery.iris()
    assert frame.shape == (150, 5)
    knowledge.check(list(frame))
    assert read_table(frame).categories == {4: ("setosa", "versicolor", "virginica")}
