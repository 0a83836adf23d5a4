"""The command line: `acid-causal`. Each command has a file; here they come together."""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from acid_causal.cli.ask import ask
from acid_causal.cli.calibrate import calibrate
from acid_causal.cli.discover import discover
from acid_causal.cli.finetune import finetune
from acid_causal.cli.models import models
from acid_causal.cli.output import INTERRUPTED, Stopped, for_a_shell
from acid_causal.cli.train import train
from acid_causal.errors import AcidError, WriteError

app = typer.Typer(
    help="A learned conditional independence test for causal discovery.\n\n"
    "Start with: acid-causal discover DATA.csv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_NOTHING = "no result was written"


def _print_version(wanted: bool) -> None:
    if wanted:
        import acid_causal

        typer.echo(f"acid-causal {acid_causal.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


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
    except Stopped as stop:
        _stop(str(stop))
    except KeyboardInterrupt:
        _stop(_NOTHING)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer's, which says nothing
            _stop(_NOTHING)
        raise
    except AcidError as error:
        typer.echo(f"error: {for_a_shell(str(error))}", err=True)
        sys.exit(1 if isinstance(error, WriteError) else 2)
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)


def _stop(hint: str) -> NoReturn:
    typer.echo(f"stopped; {hint}", err=True)
    sys.exit(INTERRUPTED)
