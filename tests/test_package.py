"""What `import acid_causal` gives, and what it does not cost."""

import subprocess
import sys

import pytest

import acid_causal


def test_import_is_cheap_and_lazy() -> None:
    code = (
        "import sys, acid_causal\n"
        "assert set(acid_causal.__all__) <= set(dir(acid_causal))\n"
        "assert acid_causal.__version__\n"
        "heavy = {'torch', 'causallearn', 'numpy', 'pandas', 'networkx'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = acid_causal.no_such_name
