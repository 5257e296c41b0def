"""A collection on a real Ray cluster of this machine: the same answers, whatever is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading

import pytest

from aspectra.app.cli import COMMANDS
from aspectra.app.library import open_library
from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.files import state_file
from aspectra.cluster import CLUSTERS, is_started
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.collection import index_shards
from aspectra.views.settings import IndexSettings

os.environ["RAY_AUTH_MODE"] = "token"  # Ray reads it when it is imported
ray = pytest.importorskip("ray", reason="needs Ray: pip install 'aspectra[cluster]'")
psutil = pytest.importorskip("psutil", reason="needs psutil: pip install 'aspectra[cluster]'")

from aspectra.cluster import nodes  # noqa: E402
from aspectra.cluster.parts import differences  # noqa: E402
from aspectra.cluster.shard import arithmetic  # noqa: E402

WORDS = "owls bees mice night forest network graph train song learn count dark hive river model".split()


def paper(number: int) -> Paper:
    draw = random.Random(number)
    title = " ".join(draw.sample(WORDS, 4))
    return Paper(f"p{number}", title, " ".join(draw.sample(WORDS, 9)), year=1990 + number % 30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cluster") / "collection"
    with Store.create(made, shards=3) as library:
        with library.writing("add") as writer:
            writer.add(map(paper, range(240)))
        index_shards(library, IndexSettings(encoders=(), chunks=(), lenses=("language", "length")))
    return made


@pytest.fixture(scope="module")
def cluster(folder):
    try:
        made = nodes.start(folder, 2, listen=True)
    except AspectraError as error:
        if os.environ.get("ASPECTRA_CLUSTER") != "needed":
            pytest.skip(f"no cluster starts here: {error.what}: {error.why}")
        raise
    yield made
    if is_started(folder):
        nodes.stop(folder)
    assert not made.running()


def plans(searcher):
    for words in ("owls night", "graph network", "reviews of bees"):
        for condition in ("", "prefer recency=new", "require year=>=2001"):
            chosen = (Condition.parse(condition),) if condition else ()
            yield searcher.plan(Query(words, conditions=chosen), "bm25")


def ids(searcher):
    return [searcher.run(plan).ids for plan in plans(searcher)]


def test_answers_are_those_of_one_process(folder, cluster):
    with Searcher(Store(folder)) as alone, open_library(folder) as library:
        assert library.searcher.elsewhere is not None
        assert ids(library.searcher) == ids(alone)
        compared, found = differences(alone, library.searcher, 5)
        assert compared >= 5
        assert not found
    told = nodes.status(folder)
    assert told["nodes"] == 2
    assert [*told["shards"]] == ["shards/0", "shards/1", "shards/2"]
    assert len({*told["shards"].values()}) == 3
    assert stat.S_IMODE(nodes.token_file(folder).stat().st_mode) == 0o600
    assert told["listening"]
    with pytest.raises(UsageError, match="running"):
        nodes.start(folder, 1)


def test_a_shard_that_computes_otherwise_is_named(folder, cluster, monkeypatch):
    with open_library(folder) as library:
        for other, why in (({"version": "0", "sums": ""}, "version"), ({"sums": "0"}, "last bits")):
            monkeypatch.setattr(nodes, "arithmetic", lambda other=other: {**arithmetic(), **other})
            with pytest.raises(AspectraError, match=r"shards/0 computes") as raised:
                ids(library.searcher)
            assert why in raised.value.why


def test_nobody_joins_without_the_token(folder, cluster, tmp_path):
    (tmp_path / "token").write_text("0" * 64)
    code = f"import ray; ray.init(address={cluster.address!r}); print('joined', len(ray.nodes()))"

    def tried(mode, token):
        given = {**os.environ, "RAY_AUTH_MODE": mode, "RAY_AUTH_TOKEN_PATH": str(token)}
        words = [sys.executable, "-c", code]
        return subprocess.run(words, env=given, capture_output=True, text=True, timeout=120, check=False)

    refused = tried("token", tmp_path / "token")
    assert refused.returncode
    assert "joined" not in refused.stdout
    assert "joined 3" in tried("token", nodes.token_file(folder)).stdout


def test_a_node_that_is_killed_is_waited_for(folder, cluster, capfd):
    with Searcher(Store(folder)) as alone, open_library(folder) as library:
        expected, held = ids(alone), set()
        victim = psutil.Process(cluster.processes[-1])
        gone = threading.Event()

        def kill():
            for process in [*victim.children(recursive=True), victim]:
                held.add(process.pid)
                process.send_signal(signal.SIGKILL)
            gone.set()

        timer = threading.Timer(1.0, kill)
        timer.start()
        after = 0
        while after < 5:
            assert ids(library.searcher) == expected
            after += gone.is_set()
        timer.join()
    found = nodes.status(folder)
    assert found["nodes"] == 1
    assert all(isinstance(process, int) for process in found["shards"].values())
    assert not held & {*found["shards"].values()}
    assert not capfd.readouterr().out


def test_a_shard_that_is_gone_for_good_is_named(folder, cluster):
    ray.kill(ray.get_actor("shard shards/1", namespace="aspectra"), no_restart=True)
    with open_library(folder) as library, pytest.raises(AspectraError, match="shards/1") as raised:
        ids(library.searcher)
    assert "aspectra cluster status" in str(raised.value)
    assert raised.value.what.startswith("the shard shards/1")


def test_the_whole_cluster_is_started_again_from_the_folder(folder, cluster):
    for process in cluster.running():
        process.send_signal(signal.SIGKILL)
    ray.shutdown()
    with Searcher(Store(folder)) as alone, open_library(folder) as library:
        with pytest.raises(AspectraError, match="cannot be reached"):
            ids(library.searcher)
        nodes.stop(folder)
        expected = ids(alone)
        assert ids(library.searcher) == expected  # by this process
        again = nodes.start(folder, 1, listen=True)
        shards = library.searcher.elsewhere(library.searcher.index)
        plan = alone.plan(Query("owls"), "bm25")
        parts = shards(library.searcher.index.look_up(plan.search.probes), None)
        assert [part.elsewhere for part in parts] == [True] * 3
        assert ids(library.searcher) == expected
    ray.shutdown()
    nodes.stop(folder)
    assert not again.running()


def test_ports_that_others_may_reach_end_the_cluster(folder, cluster, monkeypatch):
    if is_started(folder):
        nodes.stop(folder)
    monkeypatch.setattr(nodes, "can_be_reached", lambda _: True)
    with pytest.raises(UsageError, match="other machines"):
        nodes.start(folder, 1)
    assert not is_started(folder)


@pytest.mark.parametrize(
    ("listening", "held", "reached"),
    [
        (["127.0.0.1:1", "[::1]:2"], ["127.0.0.1", "192.0.2.2"], False),
        (["[::]:1"], ["127.0.0.1", "::1"], False),
        (["[::]:1"], ["127.0.0.1", "192.0.2.2"], True),
        (["0.0.0.0:1"], ["127.0.0.1", "fe80::1%eth0"], True),
        (["192.0.2.2:1"], ["192.0.2.2"], True),
        ([], ["192.0.2.2"], False),
    ],
)
def test_what_other_machines_can_reach(monkeypatch, listening, held, reached):
    class Address:
        def __init__(self, address):
            self.address = address

    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"one": [*map(Address, held), Address("00:11:22")]})
    assert nodes.can_be_reached(listening) is reached


def test_what_a_folder_names_is_not_connected_to(tmp_path):
    """Messages of a cluster could run any code: a library from elsewhere must not bring one."""
    with Store.create(tmp_path / "held", shards=2) as library, library.writing("add") as writer:
        writer.add([Paper("owl", "Owls hunt at night")])
    (tmp_path / "held" / "CLUSTER.json").write_text(
        json.dumps({"address": "127.0.0.1:1", "processes": [], "temporary": "/"})
    )
    with open_library(tmp_path / "held") as library:
        library.index(encoders=[])
        assert library.searcher.elsewhere is None
        assert [*library.search("owls").ids] == ["owl"]


def test_what_is_no_collection_has_no_cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Store.create(tmp_path / "one").close()
    with pytest.raises(UsageError, match="no collection"):
        nodes.start(tmp_path / "one", 1)
    with pytest.raises(UsageError, match="no cluster was started"):
        nodes.stop(tmp_path / "one")
    state = state_file(CLUSTERS)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({str((tmp_path / "one").resolve()): {"address": 1}}))
    with pytest.raises(AspectraError, match="damaged"):
        nodes.status(tmp_path / "one")
    state.write_text("{")
    with pytest.raises(UsageError, match="no cluster was started"):
        nodes.status(tmp_path / "one")
    assert "cluster" in COMMANDS


def test_a_node_that_is_killed_while_shards_are_indexed_loses_nothing(folder, cluster, tmp_path):
    """Values that were stored are not made again, and the index is that of one process."""
    held, alone = tmp_path / "held", tmp_path / "alone"
    settings = IndexSettings(encoders=(), chunks=(), lenses=("language", "length", "kind"))
    for made in (held, alone):
        with Store.create(made, shards=3) as library, library.writing("add") as writer:
            writer.add(map(paper, range(2400)))
    with Store(alone) as library:
        index_shards(library, settings)
    if is_started(folder):
        nodes.stop(folder)
    shutil.copy2(
        nodes.token_file(folder), nodes.token_file(held)
    )  # Ray keeps the first token that a process reads
    own = nodes.start(held, 2, listen=True)
    try:
        victim = psutil.Process(own.processes[-1])
        killed = [*victim.children(recursive=True), victim]

        def kill(step, done, total):
            if step == "indexing shards" and done == 1 and killed:  # the first is there, two are made
                while killed:
                    killed.pop().send_signal(signal.SIGKILL)

        with Store(held) as library:
            index_shards(library, settings, build=nodes.builder(held, kill))
            again = index_shards(library, settings, build=nodes.builder(held))
        assert not again.changed
        assert not killed
    finally:
        nodes.stop(held)
    with Searcher(Store(alone)) as one, Searcher(Store(held)) as many:
        assert ids(many) == ids(one)
        assert many.index.ids == one.index.ids
