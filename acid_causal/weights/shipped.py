"""Files of the shipped models, found without importing torch.

Their hashes are in `SHA256SUMS` beside them, which `sha256sum *.safetensors` writes.
"""

from importlib.resources import files
from itertools import islice, takewhile
from pathlib import Path

from acid_causal.errors import ModelError, unknown


def available_models() -> dict[str, Path]:
    """Returns the shipped models by name, with their files."""
    folder = Path(str(files("acid_causal") / "weights"))
    return {path.stem: path for path in sorted(folder.glob("*.safetensors"))}


def purpose(name: str) -> str:
    """Returns the first sentence of a shipped model's card: what the model is for."""
    card = available_models()[name].with_suffix(".md").read_text("utf-8")
    paragraph = card.split("\n\n")[1]
    return " ".join(paragraph.split()).partition(". ")[0].rstrip(".") + "."


def find_model(name_or_path: str | Path) -> tuple[str | Path, str | None]:
    """Returns the file of a model, and its sha256 if it is a shipped one.

    Raises:
        OptionError: no shipped model has this name, and no file is there.
    """
    shipped = available_models()
    if str(name_or_path) in shipped:
        path = shipped[str(name_or_path)]
        return path, _shipped_sha256(path)
    try:
        path = Path(name_or_path).expanduser()
        if not path.suffix and len(path.parts) == 1 and not path.exists():
            raise unknown("model", str(name_or_path), shipped)
    except (OSError, TypeError, RuntimeError):
        return name_or_path, None  # opening it raises the error
    return path, None


def _shipped_sha256(path: Path) -> str:
    lines = (path.parent / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    known = {name: digest for digest, name in (line.split() for line in lines)}
    if path.name not in known:
        raise ModelError(f"SHA256SUMS holds no hash of {path.name}: install the package anew")
    return known[path.name]


def find_recipe(name_or_path: str | Path) -> Path:
    """Returns the file of a recipe, given a path or the name of a shipped model."""
    path = Path(name_or_path)
    shipped = available_models().get(str(name_or_path))
    return path if shipped is None or path.exists() else shipped.with_suffix(".toml")


def earlier_stages(recipe: Path) -> str:
    """Returns what the head of a shipped recipe says of the stages before it; see `find_recipe`."""
    lines = takewhile(lambda line: line.startswith("#"), recipe.read_text("utf-8").splitlines())
    return " ".join(line.lstrip("# ") for line in islice(lines, 1, None))
