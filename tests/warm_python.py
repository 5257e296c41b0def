"""Commands of tests without the cost of starting Python: processes forked from one that has imported it all.

``warm_python()`` is a program that takes the place of ``sys.executable`` for ``-m aspectra ...``,
``-m MODULE`` and ``-c CODE``; beside it lies one named ``aspectra``. Each call is a process with its own
folder, environment and streams, and costs a fifth of one that starts anew. Where the process itself is what
is tested (signals, limits, imports, third-party packages) take ``sys.executable``.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import gc
import io
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import NoReturn

# It starts for each command, so it imports as little as can be: neither json nor socket.
_CLIENT = """#!{python} -SEs
import _socket, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
words = sys.argv[1:] if os.path.basename(sys.argv[0]) == "python" else ["-m", "aspectra", *sys.argv[1:]]
body = ascii((words, os.getcwd(), dict(os.environ))).encode()
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
server.sendmsg([len(body).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
server.sendall(body)
code = int.from_bytes(server.recv(4), "big", signed=True)
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""
_BIB = (
    "@article{owl, title={Owls hunt}, year=2019, doi={10.1000/owl}, abstract={Owls listen. They strike.}}\n"
)
_WARMING = """init; add a.bib; index --no-encoder; search owls; search owls --json; similar owl; status; list;
  show owl; export --all; decide include owl; search --help-all; lens list; bench --help"""

_SERVERS: list[subprocess.Popen[bytes]] = []


@functools.cache
def warm_python() -> str:
    """Path of the program, whose server ends with this process; ``sys.executable`` where nothing can fork."""
    if not hasattr(os, "fork"):
        return sys.executable
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    address = str(folder / "socket")
    for name in ("python", "aspectra"):
        (folder / name).write_text(_CLIENT.format(python=sys.executable, address=address))
        (folder / name).chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASPECTRA_", "XDG_"))}
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        stdin=subprocess.PIPE,  # closed when this process ends, which ends the server
        stdout=subprocess.PIPE,
        env={**kept, "HF_HUB_OFFLINE": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        cwd=folder,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n", "the server of commands did not start"
    _SERVERS.append(server)  # with it its standard input would be closed
    return str(folder / "python")


def _warm(home: Path) -> None:
    """Import what commands import, and nothing that starts a thread: a fork would lose it."""
    from aspectra.app.main import main

    home.mkdir()
    os.chdir(home)
    (home / "a.bib").write_text(_BIB)
    os.environ |= {f"XDG_{name}_HOME": str(home) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    for command in _WARMING.split(";"):
        said = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main(command.split())
        assert code == 0, (command, said.buffer)
    tasks = Path("/proc/self/task")
    assert not tasks.exists() or len(list(tasks.iterdir())) == 1, "the server of commands has threads"
    gc.collect()
    gc.freeze()


def _serve(address: str) -> None:
    """Answer requests until standard input is closed."""
    stream = socket.socket(socket.AF_UNIX)
    stream.bind(address)
    stream.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([stream, 0], [], [])
        if 0 in ready:
            return
        asked, _ = stream.accept()
        waiting = os.fork()
        if waiting:
            asked.close()
            continue
        # A process of its own waits for the command, so that the server answers the next one.
        stream.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        size, given, _, _ = socket.recv_fds(asked, 8, 3)
        with asked.makefile("rb") as body:
            words, folder, environment = ast.literal_eval(body.read(int.from_bytes(size, "big")).decode())
        command = os.fork()
        if not command:
            asked.close()
            _become(given, folder, environment)
            _leave(_run(words))
        for descriptor in (0, *given):
            os.close(descriptor)
        _, status = os.waitpid(command, 0)
        with contextlib.suppress(OSError):  # who asked may have been killed
            asked.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
        os._exit(0)


def _become(given: list[int], folder: str, environment: dict[str, str]) -> None:
    """Take over the streams, folder and environment of whoever asked."""
    for number, descriptor in enumerate(given):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = [p for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p and p not in sys.path]
    encoding, _, errors = environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = open(number, "w" if number else "r", encoding=encoding, closefd=False)  # noqa: SIM115
        stream.reconfigure(errors="backslashreplace" if number == 2 else errors or None)
        if number:
            stream.reconfigure(line_buffering=number == 2 or stream.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(words: list[str]) -> int:
    """The exit code of ``-m MODULE ...`` or ``-c CODE ...``."""
    switch, what, *more = words
    sys.argv = [switch if switch == "-c" else what, *more]
    try:
        if (switch, what) == ("-m", "aspectra"):
            from aspectra.app.main import main

            return main()
        if switch == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _leave(code: int) -> NoReturn:
    """End as Python does, without clearing memory, which would copy all that is shared with the server."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _warm(Path.cwd() / "home")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _serve(sys.argv[1])
    shutil.rmtree(Path(sys.argv[1]).parent)
