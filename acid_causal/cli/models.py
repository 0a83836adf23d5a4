"""`acid-causal models`: lists the models that come with the package."""

import typer

from acid_causal.cli.options import Json
from acid_causal.cli.output import print_json


def models(
    as_json: Json = False,
) -> None:
    """List the models that come with the package."""
    from acid_causal.weights.checkpoint import load_model
    from acid_causal.weights.shipped import available_models, purpose

    rows = []
    for name in available_models():
        model = load_model(name)
        entry = {"name": name, "purpose": purpose(name), "sha256": model.sha256}
        rows.append({**entry, **model.history})
    if as_json:
        print_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        typer.echo(
            f"{row['name']:<{width}}{row.get('steps', '?'):>8} steps   sha256 {row['sha256'][:16]}"
        )
        typer.echo(f"  {row['purpose']}")
