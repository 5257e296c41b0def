"""What we install beside us sends nothing about its use: neither at its import nor later."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

SCRIPT = """
import sys
from aspectra.views.encoders.minilm import MiniLM, find_model

encoder = MiniLM(find_model(), dtype="f32", threads=1)
assert encoder.encode(["owls hunt at night"]).vectors.shape == (1, 384)
assert "openvino" in sys.modules
assert "openvino.tools.ovc" not in sys.modules
import openvino
assert openvino.convert_model.__module__.startswith("openvino.tools.ovc")
sent = [name for name in sys.modules if name.partition(".")[0] == "openvino_telemetry"]
assert not sent, sent
ovc = sys.modules["openvino.tools.ovc"]
assert type(ovc.telemetry).__module__.endswith("telemetry_stub"), type(ovc.telemetry)
"""


def test_openvino_reports_nothing_of_our_use(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    # Its reports are switched off on build servers, which would hide them from this test.
    kept = {k: v for k, v in os.environ.items() if k not in ("CI", "GITHUB_ACTIONS", "TF_BUILD")}
    cache = {"ASPECTRA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT)],
        env={**kept, **cache, "HOME": str(home), "USERPROFILE": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list(home.iterdir()) == []  # where it keeps the number of its user
