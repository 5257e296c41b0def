"""OpenVINO without its tools for converting models, which report each import to a web service.

The package ``openvino`` imports them, which takes a third of its time, and they use the package
``openvino_telemetry`` where that is installed and the user has not declined. The package also works without
them, so they are made to appear absent. ``openvino.convert_model``, the only name that it takes from them,
is imported when it is first used.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.RLock()
_REPORTS = "openvino_telemetry"
_TOOLS = "openvino.tools.ovc"
_OF_TOOLS = "convert_model"


@contextmanager
def _absent(name: str) -> Iterator[None]:
    """Make a module appear absent while others are imported."""
    modules: dict[str, Any] = sys.modules  # None in it makes an import fail
    with _LOCK:
        before = modules.get(name)
        modules[name] = None
        try:
            yield
        finally:
            if before is None:
                del modules[name]
            else:
                modules[name] = before


def _of_tools(name: str) -> Any:
    """Attribute of the package ``openvino`` that comes from its tools, imported on first use."""
    if name != _OF_TOOLS:
        raise AttributeError(f"module 'openvino' has no attribute {name!r}")
    with _absent(_REPORTS):
        from openvino.tools.ovc import convert_model
    return convert_model


def import_openvino() -> Any:
    """The package ``openvino``.

    Raises:
        ImportError: it is not installed.
    """
    if "openvino" in sys.modules:
        import openvino

        return openvino
    with _absent(_TOOLS):
        import openvino
    if not hasattr(openvino, "__getattr__") and not hasattr(openvino, _OF_TOOLS):
        openvino.__getattr__ = _of_tools
    return openvino
