"""Shards on a Ray cluster: its nodes are started and ended, and each shard is an actor on one of them.

Ray's own messages are pickle: whoever has the cluster's token can run any code on its nodes. Our calls are
bytes in, bytes out, and every one of them may be repeated, so that an actor that was lost with its node is
started again on another one and a search only waits. Nothing is kept in Ray: a cluster that was lost as a
whole is started again from the collection's folder, which all nodes must reach under the same path.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError, UsageError, needs_extra
from aspectra.base.files import make_folder, state_file, write_durably
from aspectra.base.values import converted
from aspectra.cluster import CLUSTERS, clusters, is_started
from aspectra.cluster.parts import Shards, Wire
from aspectra.cluster.shard import Call, ShardSearch, arithmetic, decode_answer, encode
from aspectra.papers.library.shards import Collection
from aspectra.search.scoring.phases import Mask, Part, Parted
from aspectra.views.build.collection import Builder, ShardBuild
from aspectra.views.build.draft import IndexReport
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked

_LACKING = "the parts for clusters are not installed"
_SPACE = "aspectra"  # Ray's name space
_PLACE = "shard"  # Ray's name of what a node offers room for
_START, _ANSWER = 120.0, 60.0  # seconds that a start and an answer may take
_STORE = 200_000_000  # bytes of Ray's memory for messages, on each node
# A node is given up after a second and a half without an answer.
_HEALTH = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "500",
    "RAY_health_check_failure_threshold": "3",
    "RAY_raylet_start_wait_time_s": "110",
}


class Cluster(Struct, frozen=True):
    """A cluster that was started for a collection.

    Attributes:
        address: of the head node, ``host:port``.
        processes: those that were started, each with children of its own; the head's first.
        temporary: folder of their logs and sockets.
    """

    address: str
    processes: list[int]
    temporary: str

    @classmethod
    def of(cls, folder: Path) -> Cluster:
        """The cluster of a collection.

        Raises:
            UsageError: none was started.
        """
        held = clusters().get(str(folder.resolve()))
        if held is None:
            raise UsageError(f"no cluster was started for {folder}", hint="aspectra cluster up --local 2")
        try:
            return converted(held, cls)
        except msgspec.ValidationError as error:
            raise AspectraError(f"{state_file(CLUSTERS)} is damaged", why=str(error)) from error

    def running(self) -> list[Any]:
        """Its processes on this machine: those that were started, and all that these started."""
        found = []
        for process in _processes().process_iter():
            with contextlib.suppress(_processes().Error):
                if any(self.temporary in word for word in process.cmdline()):
                    found += [process, *process.children(recursive=True)]
        return list({process.pid: process for process in found if process.pid != os.getpid()}.values())

    def listening(self) -> list[str]:
        """Addresses with their ports at which its processes listen on this machine, ``[::]:6379``."""
        found = set()
        for process in self.running():
            with contextlib.suppress(_processes().Error):
                for one in process.net_connections("inet"):
                    if one.status == _processes().CONN_LISTEN:
                        host = f"[{one.laddr.ip}]" if ":" in one.laddr.ip else one.laddr.ip
                        found.add(f"{host}:{one.laddr.port}")
        return sorted(found)

    def end(self) -> None:
        """End its processes on this machine, and no others; remove their folder."""
        for wait, ended in ((10.0, _processes().Process.terminate), (5.0, _processes().Process.kill)):
            held = self.running()
            for process in held:
                with contextlib.suppress(_processes().Error):
                    ended(process)
            _processes().wait_procs(held, timeout=wait)
        shutil.rmtree(self.temporary, ignore_errors=True)


def can_be_reached(addresses: Sequence[str]) -> bool:
    """True if another machine might reach one of these addresses: one that is not of this machine alone."""
    hosts = {one.rpartition(":")[0].strip("[]") for one in addresses}
    held = {a.address.partition("%")[0] for some in _processes().net_if_addrs().values() for a in some}
    outside = [one for one in held if _is_address(one) and not ipaddress.ip_address(one).is_loopback]
    return any(
        bool(outside) if ipaddress.ip_address(host).is_unspecified else host in outside for host in hosts
    )


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def start(
    folder: Path, nodes: int, *, listen: bool = False, note: Callable[[str], None] = lambda _: None
) -> Cluster:
    """Start a cluster on this machine and the shards of a collection on it.

    Args:
        folder: of the collection, which has an index.
        nodes: how many, beside the head node; shards are spread over them.
        listen: keep the cluster although other machines may reach its ports, with the token.
        note: called with what is done.

    Raises:
        UsageError: no collection, no nodes, a cluster that runs already, or ports that others may reach.
        AspectraError: it did not start.
    """
    held = Collection.of(folder)
    if held is None:
        raise UsageError(
            f"{folder} is no collection", why="it has no shards", hint="aspectra init --shards 4"
        )
    if nodes < 1:
        raise UsageError(f"a cluster of {nodes} nodes", why="shards need one at least", hint="--local 2")
    if is_started(folder) and Cluster.of(folder).running():
        raise UsageError("a cluster of this collection is running", hint="aspectra cluster down")
    _make_token(token_file(folder))
    cluster = Cluster(f"127.0.0.1:{_free_port()}", [], tempfile.mkdtemp(prefix="aspectra-"))
    with _undone(cluster):
        _start_nodes(cluster, folder, nodes, len(held.shards), note)
        reached = cluster.listening()
        note(f"listening: {', '.join(reached)}")
        if can_be_reached(reached) and not listen:
            raise UsageError(
                "Ray listens on addresses that other machines may reach, so the cluster was ended",
                why="whatever address it is given, it listens on all; whoever has the token can run any "
                "code here, and nothing but the token and a firewall keeps others out",
                hint="aspectra cluster up --listen, behind a firewall; or where there is no network",
            )
        _start_shards(folder, held.shards)
        _keep(folder, cluster)
    return cluster


def _keep(folder: Path, cluster: Cluster | None) -> None:
    """Remember the cluster of a collection, or that there is none any more."""
    held = {name: one for name, one in clusters().items() if name != str(folder.resolve())}
    if cluster is not None:
        held[str(folder.resolve())] = msgspec.to_builtins(cluster)
    make_folder(state_file(CLUSTERS).parent)
    write_durably(state_file(CLUSTERS), json.dumps(held, indent=1) + "\n")


def token_file(folder: Path) -> Path:
    """The file with the token of a collection's cluster, in the user's own state."""
    return state_file(f"cluster-{xxh3_64_hexdigest(str(folder.resolve()).encode())}.token")


def _make_token(path: Path) -> None:
    """Write a token that nobody else can read, where there is none: programs keep the one they read."""
    make_folder(path.parent)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_mode & 0o077 == 0:
            return
        path.unlink()  # others may have read it
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_hex(32))


@contextlib.contextmanager
def _undone(cluster: Cluster) -> Iterator[None]:
    """End what was started if the rest fails."""
    try:
        yield
    except BaseException:
        _ray().shutdown()
        cluster.end()
        raise


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@cache
def _ray() -> Any:
    """Ray, which reads when it is imported that clients need a token.

    Raises:
        MissingExtra: it is not installed.
        AspectraError: this program imported it before.
    """
    if "ray" in sys.modules and os.environ.get("RAY_AUTH_MODE") != "token":
        raise AspectraError(
            "this program imported Ray without its token",
            why="Ray reads RAY_AUTH_MODE when it is imported",
            hint="set RAY_AUTH_MODE=token before",
        )
    os.environ["RAY_AUTH_MODE"] = "token"
    with needs_extra(_LACKING, "cluster"):
        import ray
    # It prints retries on the standard output of the client, which is the answer's; it has no setting.
    with contextlib.suppress(AttributeError):
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


@cache
def _processes() -> Any:
    """The package psutil."""
    with needs_extra(_LACKING, "cluster"):
        import psutil
    return psutil


def _environment(folder: Path) -> dict[str, str]:
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_file(folder))}
    return {**_HEALTH, **token, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def _start_nodes(
    cluster: Cluster, folder: Path, nodes: int, shards: int, note: Callable[[str], None]
) -> None:
    """Start a head node and the others, and wait for them."""
    port = cluster.address.rpartition(":")[2]
    common = ["--node-ip-address", "127.0.0.1", "--object-store-memory", str(_STORE), "--disable-usage-stats"]
    head = ["--head", "--port", port, "--num-cpus", "0", "--include-dashboard", "false"]
    room = json.dumps({_PLACE: shards})  # any node may hold any shard, when others are lost
    node = ["--address", cluster.address, "--num-cpus", "1", "--resources", room]
    threads = max(1, (os.cpu_count() or 1) // nodes)
    given = {**os.environ, **_environment(folder), "OPENBLAS_NUM_THREADS": str(threads)}
    for number, words in enumerate([[*head, "--temp-dir", cluster.temporary], *[node] * nodes]):
        with (Path(cluster.temporary) / f"start-{number}.log").open("wb") as log:
            started = subprocess.Popen(  # noqa: S603 - our own interpreter, with words of ours
                [sys.executable, "-m", "ray.scripts.scripts", "start", *common, *words, "--block"],
                env={**given, "ASPECTRA_CLUSTER": cluster.temporary},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        cluster.processes.append(started.pid)
        # One after the other: two that start at the same time on one computer get in each other's way.
        if number == 0:
            _wait(lambda: _answers(cluster), started, cluster)
            _connect(folder, cluster)
        else:
            _wait(partial(lambda count: len(_with_room()) == count, number), started, cluster)
        note(f"node {number} of {nodes}" if number else f"head node at {cluster.address}")


def _host_and_port(cluster: Cluster) -> tuple[str, int]:
    host, _, port = cluster.address.rpartition(":")
    return host, int(port)


def _answers(cluster: Cluster) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(_host_and_port(cluster), 1):
        return True
    return False


def _wait(done: Callable[[], bool], started: subprocess.Popen[bytes], cluster: Cluster) -> None:
    limit = time.monotonic() + _START
    while not done():
        if started.poll() is not None or time.monotonic() > limit:
            logs = sorted(Path(cluster.temporary).glob("start-*.log"))
            last = logs[-1].read_text("utf-8", "replace").strip().splitlines()[-1:] if logs else []
            raise AspectraError(
                "the cluster did not start", why=" ".join(last) or f"nothing answered within {_START:.0f} s"
            )
        time.sleep(0.2)


def _with_room() -> list[dict[str, Any]]:
    """The living nodes that take shards."""
    return [node for node in _ray().nodes() if node["Alive"] and _PLACE in node["Resources"]]


def _connect(folder: Path, cluster: Cluster) -> None:
    """Be a client of the cluster.

    Raises:
        AspectraError: it cannot be reached, or this process is a client of another one.
    """
    if _ray().is_initialized():
        if _connected.get(folder.resolve()) == cluster.address:
            return
        if folder.resolve() not in _connected:
            raise AspectraError(
                "this process searches another cluster", why="a process can be part of one cluster alone"
            )
        _ray().shutdown()  # of one that was ended
    os.environ.update(_environment(folder))
    try:
        socket.create_connection(_host_and_port(cluster), 5).close()  # Ray tries for minutes
        _ray().init(address=cluster.address, namespace=_SPACE, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError, _ray().exceptions.RayError) as error:
        raise AspectraError(
            f"the cluster at {cluster.address} cannot be reached",
            why=str(error).strip().splitlines()[0],
            hint="aspectra cluster down, then aspectra cluster up; or search without it after down",
        ) from error
    _connected.clear()
    _connected[folder.resolve()] = cluster.address


_connected: dict[Path, str] = {}  # folder of the collection -> address of the cluster; one at most
_CONNECTING = threading.Lock()  # searches that begin at the same time connect once


def _start_shards(folder: Path, names: Sequence[str]) -> None:
    """Start one actor for each shard, and wait until all of them answer."""
    made = _ray().remote(
        num_cpus=0,
        resources={_PLACE: 1},
        max_restarts=-1,
        max_task_retries=-1,
        lifetime="detached",
        scheduling_strategy="SPREAD",
    )(ShardSearch)
    for name in names:
        made.options(name=f"shard {name}").remote(folder.resolve(), name)
    _check(wires(names))


def _told(wire: Wire) -> dict[str, Any]:
    """What a shard tells of itself."""
    return dict(decode_answer(wire(encode(Call(b"", b"", [], "facts", [], {})))).checked())


def _check(held: Mapping[str, Wire]) -> None:
    """Check that shards compute as this process does.

    Raises:
        AspectraError: one does not, or is not what it is called by.
    """
    mine = arithmetic()
    for name, told in zip(held, map(_told, held.values()), strict=True):
        if told["shard"] != name:
            raise AspectraError(f"the shard {name} answers as {told['shard']}", hint="aspectra cluster down")
        if different := [one for one in mine if told[one] != mine[one]]:
            raise AspectraError(
                f"the shard {name} computes otherwise than this process",
                why="its version of Aspectra is another one"
                if "version" in different
                else "its processor gives other last bits, so that scores cannot be compared",
                hint="the same version on all nodes; for unlike processors OPENBLAS_CORETYPE=Haswell on all",
            )


def wires(names: Sequence[str]) -> dict[str, Wire]:
    """What calls each of these shards; the process is connected to their cluster.

    Raises:
        AspectraError: one of them was not started.
    """
    return {name: _wire(name) for name in names}


def _wire(name: str) -> Wire:
    try:
        actor = _ray().get_actor(f"shard {name}", namespace=_SPACE)
    except ValueError as error:
        raise AspectraError(
            f"the shard {name} is not on the cluster", why=str(error), hint="aspectra cluster status"
        ) from error

    def call(data: bytes) -> bytes:
        errors, limit = _ray().exceptions, time.monotonic() + _ANSWER
        while True:
            left = limit - time.monotonic()
            try:
                answer: bytes = _ray().get(actor.call.remote(data), timeout=max(0.1, left))
                return answer
            except errors.RayError as error:
                if isinstance(error, errors.ActorUnavailableError) and left > 0:
                    time.sleep(0.2)  # it is being started again
                    continue
                nodes = f"{len(_with_room())} of {len(_ray().nodes()) - 1} nodes are there"
                raise AspectraError(
                    f"the shard {name} gives no answer",
                    why=f"{type(error).__name__}; {nodes}",
                    hint="aspectra cluster status",
                ) from error

    return call


def shards_of(folder: Path) -> Callable[[Index], Parted]:
    """What makes the parts of a search on the cluster of a collection, for each generation of it.

    It may be ended or started again meanwhile: without one the papers are scored by this process.
    """

    def made(index: Index) -> Parted:
        held: dict[str, Shards] = {}  # by address; one at most

        def parted(asked: Sequence[Asked], allowed: Mask) -> Sequence[Part]:
            if not is_started(folder):
                return [Part(index, asked, allowed)]
            cluster = Cluster.of(folder)
            with _CONNECTING:
                shards = held.get(cluster.address)
                if shards is None:
                    _connect(folder, cluster)
                    called = wires([*index.manifest["shards"]])
                    _check(called)
                    held.clear()
                    shards = held[cluster.address] = Shards(index, called)
            return shards.parted(asked, allowed)

        return parted

    return made


def builder(folder: Path, progress: Progress = quiet) -> Builder:
    """What indexes shards of a collection on its cluster, several at once.

    A shard whose node is lost is begun again on another one: values that it stored are not made again.

    Args:
        folder: of the collection, which has a cluster.
        progress: called with (step, shards done, shards).

    Raises:
        AspectraError: the cluster cannot be reached.
    """
    _connect(folder, Cluster.of(folder))
    task = _ray().remote(num_cpus=1, max_retries=-1)(ShardBuild.run)

    def build(some: Sequence[ShardBuild]) -> list[IndexReport]:
        waiting = [task.remote(one) for one in some]
        out = []
        for number, one in enumerate(waiting):
            progress("indexing shards", number, len(some))
            try:
                out.append(_ray().get(one))
            except _ray().exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, AspectraError) else error from error
        return out

    return build


def stop(folder: Path) -> None:
    """End the cluster of a collection on this machine; searches read the collection by themselves again.

    Raises:
        UsageError: none was started.
    """
    cluster = Cluster.of(folder)
    if _connected.pop(folder.resolve(), ""):
        _ray().shutdown()
    cluster.end()
    _keep(folder, None)


def status(folder: Path) -> Mapping[str, Any]:
    """Nodes, shards and addresses of the cluster of a collection.

    Returns:
        ``address``; ``nodes`` that take shards; ``shards``: name -> process, or why it does not answer;
        ``listening`` on this machine; the file with the ``token``.

    Raises:
        UsageError: none was started.
        AspectraError: it cannot be reached.
    """
    cluster, held = Cluster.of(folder), Collection.of(folder)
    _connect(folder, cluster)
    found: dict[str, Any] = {}
    for name in () if held is None else held.shards:
        try:
            found[name] = _told(_wire(name))["process"]
        except AspectraError as error:
            found[name] = error.what
    return {
        "address": cluster.address,
        "nodes": len(_with_room()),
        "shards": found,
        "listening": cluster.listening(),
        "token": str(token_file(folder)),
    }
