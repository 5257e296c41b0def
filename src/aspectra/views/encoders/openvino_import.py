"""OpenVINO without its reports about users.

The package ``openvino`` imports its conversion tools, and these report each import to a web service through
the package ``openvino_telemetry``, where that is installed and the user has not declined. Where it is not
installed they use a stand-in that does nothing: they are made to find it absent.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

__all__ = ["import_openvino"]

_LOCK = threading.Lock()
_REPORTS = "openvino_telemetry"


def import_openvino() -> Any:
    """The package ``openvino``.

    Raises:
        ImportError: it is not installed.
    """
    with _LOCK:
        modules: dict[str, Any] = sys.modules  # None in it makes an import fail
        before = modules.get(_REPORTS)
        modules[_REPORTS] = None
        try:
            import openvino
        finally:
            if before is None:
                del modules[_REPORTS]
            else:
                modules[_REPORTS] = before
    return openvino
