"""A JSON file of p-values, written atomically.

A p-value depends on data, weights and options, of which alpha is one for the checked null alone;
with other nulls a file serves any alpha. A file belongs to one fingerprint of the three, and a test
with another fingerprint refuses it. Processes may share a file: each adds its p-values under a
lock.
"""

import json
import os
import time
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from acid_causal.errors import CacheError, WriteError, warn
from acid_causal.files import locked, user_path, write_atomically
from acid_causal.tables.inputs import Question

FORMAT = "acid-causal p-values 1"
SAVE_EVERY_SECONDS = 30.0

# Test objects of one process share their file, so that none overwrites another's p-values.
_open_files: "WeakValueDictionary[Path, PValueFile]" = WeakValueDictionary()


class PValueFile:
    """p-values of one fingerprint, in memory and on disk.

    Attributes:
        path: Absolute path of the file.
        pvalues: p-value of each question; the test adds to it.
    """

    @classmethod
    def open(cls, path: Any, fingerprint: str) -> "PValueFile":
        """Reads the file, or prepares a new one; creates the folder if necessary.

        Args:
            path: Text, bytes or path-like, with `~` for the home folder; need not exist.
            fingerprint: Hash of data, weights and options.

        Raises:
            CacheError: The file is damaged, has another fingerprint, or is not writable.
            OptionError: Not a path.
        """
        resolved = user_path(path).resolve()
        file = _open_files.get(resolved)
        if isinstance(file, cls) and file._pid == os.getpid():  # not one inherited by a fork
            if file._fingerprint != fingerprint:
                raise CacheError(
                    f"the p-value cache {resolved} belongs to other data, weights or options: a "
                    "test of this Python process still uses it. Choose another cache_path, or "
                    "delete that test and the graphs that hold it."
                )
            return file
        file = cls(resolved, fingerprint)
        _open_files[resolved] = file
        return file

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.pvalues: dict[Question, float] = {}
        self._fingerprint = fingerprint
        self._saved_size = 0
        self._saved_at = time.monotonic()
        self._pid = os.getpid()
        self._read()
        self._check_writable()

    def save(self) -> None:
        """Adds all p-values to the file; a failure leaves it as it was.

        p-values that other processes have added meanwhile are kept, and read.

        Raises:
            CacheError: The file cannot be written, or it was damaged or replaced by one with
                another fingerprint since it was opened.
        """
        try:
            with locked(self.path):
                self._read()
                pvalues = dict(self.pvalues)  # a copy, as other threads may add to it
                document = {
                    "format": FORMAT,
                    "fingerprint": self._fingerprint,
                    "pvalues": {_key(question): pvalue for question, pvalue in pvalues.items()},
                }
                write_atomically(self.path, json.dumps(document))
        except WriteError as error:
            raise CacheError(f"{error}. Make room, or choose another cache_path.") from error
        self._saved_size = len(pvalues)
        self._saved_at = time.monotonic()

    def save_if_due(self) -> None:
        """Saves if the last time is long ago; a failure is a warning, and the search goes on."""
        if time.monotonic() - self._saved_at >= SAVE_EVERY_SECONDS:
            self.save_at_end()
            self._saved_at = time.monotonic()  # after a failure, too: do not warn too often

    def save_at_end(self) -> None:
        """Saves new p-values; a failure is a warning. Forked workers do not write."""
        if len(self.pvalues) == self._saved_size or os.getpid() != self._pid:
            return
        try:
            self.save()
        except CacheError as error:
            warn(str(error))

    # ---- reading and checking --------------------------------------------------------------------

    def _read(self) -> None:
        try:
            document = json.loads(self.path.read_text(encoding="ascii"))
            if document["format"] != FORMAT:
                raise ValueError(f"its format is {document['format']!r}, not {FORMAT!r}")
            owner = str(document["fingerprint"])
            pvalues = {_question(key): float(p) for key, p in document["pvalues"].items()}
            if not all(0.0 <= pvalue <= 1.0 for pvalue in pvalues.values()):
                raise ValueError("some p-values lie outside [0, 1]")
        except FileNotFoundError:
            return
        except OSError as error:
            raise CacheError(
                f"cannot read the p-value cache {self.path}: {error}. Choose another cache_path."
            ) from error
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise CacheError(
                f"{self.path} is not a whole p-value cache of acid-causal "
                f"({type(error).__name__}: {error}). It was left as it is: delete it, or choose "
                "another cache_path."
            ) from error
        _check_owner(self.path, found=owner, wanted=self._fingerprint)
        for question, pvalue in pvalues.items():
            self.pvalues.setdefault(question, pvalue)
        self._saved_size = len(pvalues)

    def _check_writable(self) -> None:
        """Checks early that the file can be written later."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CacheError(
                f"cannot make the folder of the p-value cache {self.path}: {error}. "
                "Choose another cache_path."
            ) from error
        if not os.access(folder, os.W_OK):
            raise CacheError(
                f"the folder {folder} of the p-value cache is not writable. "
                "Choose another cache_path."
            )


def _check_owner(path: Path, found: str, wanted: str) -> None:
    if found != wanted:
        raise CacheError(
            f"the p-value cache {path} belongs to other data, weights or options, or to a version "
            f"of acid-causal that computed other p-values (its fingerprint is {found[:12]}..., "
            f"this test's is {wanted[:12]}...). Choose another cache_path, or delete the file."
        )


def _key(question: Question) -> str:
    """Writes a question as causal-learn does: `0;1` or `0;1|2.3`."""
    i, j, cond = question
    return f"{i};{j}" + (f"|{'.'.join(map(str, cond))}" if cond else "")


def _question(key: str) -> Question:
    pair, _, cond = key.partition("|")
    i, j = map(int, pair.split(";"))
    return i, j, tuple(map(int, cond.split("."))) if cond else ()
