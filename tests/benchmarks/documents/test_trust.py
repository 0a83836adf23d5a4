"""README's advice follows from the committed rows."""

import pandas as pd
import pytest

from acid_causal.options.choices import NULLS
from benchmarks.documents import trust
from benchmarks.documents.trust import BY_PERMUTATION, SITUATIONS, USE, Situation
from benchmarks.experiments.calibration import (
    CALIBRATION,
    SAMPLE_SIZES,
    STREAMS,
)
from benchmarks.harness.committed import committed


def rows(**worst: float) -> pd.DataFrame:
    """Makes two cells of each stream: one at the level, and one that is worse."""
    cells = [
        {"method": "acid", "stream": stream, "n": n, "d_z": 3, "type_1_at_05": level}
        for stream, high in worst.items()
        for n, level in ((100, 0.05), (200, high))
    ]
    return pd.DataFrame(cells)


def test_the_worst_cell_decides() -> None:
    situation = Situation("jumps", ("steps",))
    assert trust._line(rows(steps=0.1), situation) == ("jumps", USE, ".075, .100")
    assert trust._line(rows(steps=0.11), situation) == ("jumps", BY_PERMUTATION, ".080, .110")


def test_the_remedy_says_what_was_measured() -> None:
    measured = rows(steps=0.06).assign(method="acid-permutation")[:1]
    both = pd.concat([rows(steps=0.2), measured])
    _, advice, _ = trust._line(both, Situation("jumps", ("steps",)))
    assert advice == f"{BY_PERMUTATION} (measured: .050)"


def test_other_sizes_do_not_count() -> None:
    cells = rows(steps=0.2)
    assert trust._line(cells, Situation("few rows", ("steps",), n=(50, 100)))[1:] == (
        USE,
        ".050, .050",
    )


def test_there_are_seven_situations_and_each_has_all_its_rows() -> None:
    assert len(SITUATIONS) == 7
    committed_rows, _ = committed(CALIBRATION)
    told = trust.table()
    for situation in SITUATIONS:
        assert set(situation.streams) <= set(STREAMS)
        assert situation.name in told
        cells = trust._cells(committed_rows, situation, trust.ACID)
        sizes = [n for n in SAMPLE_SIZES if situation.n[0] <= n <= situation.n[1]]
        assert len(cells) >= len(sizes) * len(situation.streams)
        assert cells.between(0, 1).all()


@pytest.mark.parametrize("name", ["permutation"])
def test_the_remedy_is_an_option(name: str) -> None:
    assert name in NULLS
    assert f'`null="{name}"`' == BY_PERMUTATION


def test_every_stream_is_in_the_table_of_levels() -> None:
    lines = trust.by_n().splitlines()[4:]
    assert {line.split()[0] for line in lines} == set(STREAMS)
