"""Jobs: long work in a process of its own, so that searches go on beside it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from aspectra.app.surfaces.service.question import refuse_files
from aspectra.app.terminal.screen import PROGRAM_READS, safe
from aspectra.base.errors import AspectraError, NoSuchThing, Overloaded, UsageError
from aspectra.base.values import now
from aspectra.base.version import OURSELVES

_KEPT = 100  # jobs that have ended
_WAITING = 20
_MOST_NOTES = 200
_LONGEST_LINE = 2**24
_NAME = re.compile(r"[^\w.-]+")
State = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass
class Job:
    """One piece of long work.

    Attributes:
        id: its handle.
        kind: ``add``, ``index``, ``bench`` or ``lens``.
        state: where it is.
        progress: its ``step``, and how much of it is ``done`` of the ``total``, which is 0 if unknown.
        notes: its messages.
        result: the document that its command wrote, or its lines.
        error: of the catalogue, where it failed.
        created, ended: ISO 8601, UTC; "" before the end.
    """

    id: str
    kind: str
    state: State = "waiting"
    progress: dict[str, Any] = field(default_factory=lambda: {"step": "", "done": 0, "total": 0})
    notes: list[str] = field(default_factory=list)
    result: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    ended: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {**vars(self), "result": dict(self.result), "error": dict(self.error) or None}


class Jobs:
    """The jobs of a service, one after the other: a library has one writer. Each is a command.

    Args:
        library: its folder.
        uploads: the folder where files are kept that came with a request: a paper's origin names its file.
        flags: of the command line that name the user's settings, passed on to each command.
        benchmarks: the folder whose sub-folders are the files of benchmarks; None where there is none.
    """

    def __init__(
        self, library: Path, uploads: Path, flags: Sequence[str] = (), benchmarks: Path | None = None
    ) -> None:
        self._flags = ("--library", str(library), *flags)
        self._uploads, self._benchmarks = uploads, benchmarks
        self._jobs: dict[str, Job] = {}
        self._keys: dict[str, tuple[list[str], str]] = {}  # Idempotency-Key -> (the request, job)
        self._turn = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def all(self) -> list[Job]:
        """Newest first."""
        return [*self._jobs.values()][::-1]

    def get(self, name: str) -> Job:
        """One job.

        Raises:
            NoSuchThing: no job has that handle.
        """
        if (found := self._jobs.get(name)) is None:
            raise NoSuchThing("there is no such job", hint="GET /v1/jobs")
        return found

    def start(self, kind: str, arguments: Sequence[str], *, key: str = "") -> Job:
        """Begin a job; the same key and request give the job that they gave before.

        Args:
            kind: ``add``, ``index``, ``bench`` or ``lens``.
            arguments: of the command line, without those that name library and settings.
            key: the caller's Idempotency-Key, or "".

        Raises:
            UsageError: the key was used for another request.
            Overloaded: too many jobs wait.
        """
        asked = [kind, *arguments]
        if key and key in self._keys:
            known, name = self._keys[key]
            if known != asked:
                raise UsageError("this Idempotency-Key was used for another request", hint="take a new key")
            return self.get(name)
        if sum(job.state in ("waiting", "running") for job in self._jobs.values()) >= _WAITING:
            raise Overloaded("too many jobs are waiting", hint="try again when one has ended")
        job = Job(secrets.token_hex(8), kind, created=now())
        self._jobs[job.id] = job
        if key:
            self._keys[key] = (asked, job.id)
        for old in [one.id for one in self._jobs.values() if one.ended][:-_KEPT]:
            del self._jobs[old]
            self._keys = {k: held for k, held in self._keys.items() if held[1] != old}
        self._tasks[job.id] = asyncio.create_task(self._run(job, arguments))
        self._tasks[job.id].add_done_callback(lambda _: self._tasks.pop(job.id, None))
        return job

    async def stop(self, name: str) -> Job:
        """Stop a job; what it finished is kept."""
        job = self.get(name)
        if task := self._tasks.get(name):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.wait({task}))
        return job

    async def close(self) -> None:
        """Stop all of them."""
        for name in [*self._tasks]:
            await self.stop(name)

    def keep(self, name: str, content: bytes) -> Path:
        """Store a file that came with a request, under its own plain name; the same content once.

        Args:
            name: as the caller gave it; of a path only the last part is used.
            content: its bytes.
        """
        folder = self._uploads / hashlib.sha256(content).hexdigest()[:32]
        target = folder / plain_name(name)
        if not (target.is_file() and target.stat().st_size == len(content)):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            part = folder / f".{secrets.token_hex(8)}"
            part.write_bytes(content)
            part.replace(target)
        return target

    def bench(self, name: str, recipes: Sequence[str]) -> list[str]:
        """The command that ranks and scores a benchmark.

        Args:
            name: of a benchmark, which is also the name of its folder.
            recipes: steps of searches.

        Raises:
            UsageError: the benchmark or its folder does not exist, or a recipe names a file.
        """
        from aspectra.lab.benchmarks.protocol import BENCHMARKS

        BENCHMARKS.get(name)
        if self._benchmarks is None or not (self._benchmarks / name).is_dir():
            raise UsageError(
                f"the files of {name} are not here",
                why="a service reads no folder that a request names",
                hint="aspectra config set serve.benchmarks FOLDER, with a sub-folder of that name",
            )
        refuse_files(recipes)
        chosen = [part for one in recipes for part in ("-r", one)]
        key = hashlib.sha256(repr([str(self._benchmarks), *recipes]).encode()).hexdigest()[:12]
        # The same request goes on in its folder.
        out = str(self._uploads.parent / "experiments" / f"{name}-{key}")
        source = f"{name}={self._benchmarks / name}"
        return ["bench", "run", source, *chosen, "--output", out, "--format", "json"]

    async def _run(self, job: Job, arguments: Sequence[str]) -> None:
        try:
            async with self._turn:
                job.state = "running"
                await self._work(job, arguments)
        except asyncio.CancelledError:
            job.state = "stopped"
        except Exception as error:  # a job that cannot be started has failed, not the service
            job.state, job.error = "failed", AspectraError(str(error)).to_dict()
        finally:
            job.ended = now()

    async def _work(self, job: Job, arguments: Sequence[str]) -> None:
        """Run the command; its document is the result, its messages are progress and errors."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *OURSELVES, *self._flags, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, PROGRAM_READS: "1"},
            limit=_LONGEST_LINE,
        )
        out, said = process.stdout, process.stderr
        try:
            if out is None or said is None:  # both were asked for
                raise RuntimeError("the command has no streams")
            text, _ = await asyncio.gather(out.read(), _listen(job, said))
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 10)
                except TimeoutError:
                    process.kill()
        whole = text.decode("utf-8", "replace")
        found = _object(whole)  # its document, else its lines
        job.result = {"lines": whole.splitlines()[:_MOST_NOTES]} if found is None else found
        job.state = "failed" if code else "done"
        if code and not job.error:
            told = f"the command ended with {code}"
            if "lines" not in job.result:  # it did what it could, and says what that was
                told = "not all of it could be done"
            elif job.notes:
                told = job.notes[-1]
            job.error = AspectraError(told, hint="the messages of the job tell more").to_dict()


async def _listen(job: Job, said: asyncio.StreamReader) -> None:
    """Take progress, errors and messages from a command's standard error."""
    while line := await said.readline():
        text = line.decode("utf-8", "replace").strip()
        told = _object(text) or {}
        if "progress" in told:
            job.progress = dict(zip(job.progress, told["progress"], strict=True))
        elif "error" in told:
            job.error = told["error"]
        elif text and len(job.notes) < _MOST_NOTES:
            job.notes.append(safe(text, one_line=True)[:1000])


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or None."""
    with contextlib.suppress(ValueError):
        return json.loads(text) if text.startswith("{") else None
    return None


def plain_name(name: str) -> str:
    r"""The last part of a path as a name for a new file: letters, digits, ``.``, ``_`` and ``-`` alone.

    >>> plain_name("../../etc/passwd"), plain_name("C:\\papers\\my library.bib"), plain_name("...")
    ('passwd', 'my_library.bib', 'file')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    return _NAME.sub("_", last)[-80:].lstrip("._-") or "file"
