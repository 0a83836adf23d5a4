"""The command line: `acid-causal`. Each command has a file; here they come together."""

import sys
from collections.abc import Sequence

import typer

from acid_causal.cli.ask import ask
from acid_causal.cli.calibrate import calibrate
from acid_causal.cli.discover import discover
from acid_causal.cli.finetune import finetune
from acid_causal.cli.models import models
from acid_causal.cli.output import for_a_shell
from acid_causal.cli.train import train
from acid_causal.errors import AcidError, WriteError

app = typer.Typer(
    help="A learned conditional independence test for causal discovery.\n\n"
    "Start with: acid-causal discover DATA.csv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(discover)
app.command("test")(ask)
app.command()(finetune)
app.command()(train)
app.command()(calibrate)
app.command()(models)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line; a user's mistake ends in a message, not in a traceback.

    Args:
        arguments: instead of those of the process.

    Raises:
        SystemExit: always; the status is 0, 1 (the system), 2 (the user) or 130 (Ctrl-C).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=words, prog_name="acid-causal", obj=words)
    except AcidError as error:
        typer.echo(f"error: {for_a_shell(str(error))}", err=True)
        sys.exit(1 if isinstance(error, WriteError) else 2)
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
