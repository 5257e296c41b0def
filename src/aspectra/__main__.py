"""The command line, as the script ``aspectra`` and as ``python -m aspectra``."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def main() -> int:
    """Run ``aspectra`` and return its exit code; Ctrl-C while it is imported is an interrupt as any other."""
    try:
        sys.unraisablehook = _again
        from aspectra.app.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("aspectra: interrupted\n")
        return 130


def _again(failure: UnraisableHookArgs) -> None:
    """Interrupt once more where Python would swallow it, as in callbacks of an import."""
    if failure.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(failure)
        return
    import _thread
    import threading

    threading.Timer(0.01, _thread.interrupt_main).start()


if __name__ == "__main__":
    sys.exit(main())
