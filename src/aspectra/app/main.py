"""The entry point: runs a command, and turns whatever goes wrong into three short lines and an exit code."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import json
import os
import signal
import sys
from collections.abc import Sequence

from aspectra.base.errors import AspectraError

_USAGE, _INTERRUPTED, _PIPE_CLOSED = 2, 130, 141
_COLLECT_AFTER = 100_000  # new objects; 700 unless set


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``aspectra`` and return its exit code.

    0 success; 1 failure; 2 wrong usage or configuration; 3 no hits with --fail-empty; 4 finished, with
    things skipped, with --strict; 5 quota spent; 6 library damaged or built by another encoder; 7 a
    service cannot be reached; 130 interrupted (on Ctrl-C at its very end the process is ended by the signal,
    which a shell shows as 130 too); 141 the reader of a pipe left.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, as some supervisors do
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given in (["--version"], ["-V"]):  # answered without importing anything else
        from aspectra.base.version import __version__

        sys.stdout.write(f"aspectra {__version__}\n")
        return 0
    options = given[: [*given, "--"].index("--")]
    debug = "--debug" in options or os.environ.get("ASPECTRA_DEBUG", "") not in ("", "0")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows a question mark
            stream.reconfigure(errors="replace")
    try:
        try:
            code = _run(given)
            sys.stdout.flush()
        finally:
            if arguments is None:
                # Nothing is left to be undone: Python looks for garbage once more, in what ends anyway,
                # which takes 75 ms, and shows a traceback while it ends.
                gc.freeze()
                if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                    signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        # Everything is written in batches, so there is nothing to save here.
        _say("interrupted", why="what was finished is kept", hint="the same command goes on from there")
        code = _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        code = _PIPE_CLOSED
    except Exception as error:  # anything else: no traceback without --debug
        if debug:
            raise
        code = _report(error)
    return code


def _start_lightly() -> None:
    """Reduce the run time of short processes; settings of the user are left as they are."""
    # Imports leave some hundred thousand objects behind, none of them garbage: collecting took 90 ms.
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    # Idle threads of numpy's OpenBLAS spin for 2^26 cycles before they sleep, on a core that is needed.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")


def _run(arguments: list[str]) -> int:
    _start_lightly()
    import typer

    from aspectra.app.cli import app, root

    if "_ASPECTRA_COMPLETE" in os.environ:  # the shell asks for completions
        app(arguments, prog_name="aspectra")
        return 0
    command = root(whole=False)
    try:
        with command.make_context("aspectra", arguments) as context:
            command.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        _say("stopped")
        return 1
    except typer.TyperException as error:
        return _usage(error)
    return 0


def _usage(error: Exception) -> int:
    """A command line that cannot be read."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "aspectra"
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stdout.write(str(error) + "\n")
        return _USAGE
    message = getattr(error, "format_message", error.__str__)()
    near = getattr(error, "possibilities", None) or ()
    # A suggestion is another option, or a sentence about what to use instead.
    hint = "" if not near else f"did you mean {near[0]}? or: " if near[0].startswith("--") else f"{near[0]}; "
    _say(message.partition(" (Possible options:")[0].strip().rstrip("."), hint=f"{hint}{path} --help-all")
    return int(getattr(error, "exit_code", _USAGE))


def _drop_output() -> None:
    # Python would complain once more when it flushes at exit.
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


def _of_output(error: OSError) -> bool:
    """True if it is the output that could not be written; what is left of it is then dropped."""
    from traceback import walk_tb  # for a failure alone

    from aspectra.app.terminal import screen

    codes = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    in_screen = any(code.co_filename == screen.__file__ for code in codes)
    found = error.filename is None and (in_screen or codes[-1:] == [main.__code__])
    if found:
        _drop_output()
    return found


def _report(error: Exception) -> int:
    """Three short lines for any failure; returns the exit code."""
    if isinstance(error, AspectraError):
        from aspectra.app.terminal.screen import PROGRAM_READS

        if os.environ.get(PROGRAM_READS):
            sys.stderr.write(json.dumps({"error": error.to_dict()}) + "\n")
        else:
            _say(error.what, why=error.why, hint=error.hint)
        return error.exit_code
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        if _of_output(error):
            _say(
                f"the output cannot be written: {(error.strerror or str(error)).lower()}",
                why="what the command changed is kept, and only what it says is lost",
                hint="look before you run it again, and write to another place",
            )
        elif _disk_full(error):
            _say(
                f"the disk is full{' while writing' + where if where else ''}",
                why="nothing of the interrupted step was kept; everything before it is safe",
                hint="free some space, then run the same command again",
            )
        else:
            _say(f"the system refused{' to use' + where if where else ''}", why=error.strerror or str(error))
        return 1
    if isinstance(error, MemoryError):
        _say("there is not enough memory", hint="close other programs, or index fewer papers at a time")
        return 1
    text = " ".join(str(error).split())[:300]
    _say(
        f"internal error: {type(error).__name__}{': ' + text if text else ''}",
        hint="run again with --debug and report it",
    )
    return 1


def _disk_full(error: OSError) -> bool:
    """True if the disk is full; numpy reports a short write only in its message."""
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
    return full or (error.errno is None and str(error).endswith(" written"))


def _say(what: str, *, why: str = "", hint: str = "") -> None:
    from aspectra.app.terminal.screen import error_text, safe

    with contextlib.suppress(OSError):  # standard error is closed
        sys.stderr.write(safe(error_text(f"aspectra: {what}", why, hint)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
