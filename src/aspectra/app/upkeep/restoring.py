"""A library out of a backup, with its index."""

from __future__ import annotations

from pathlib import Path

from aspectra.app.library import Library, open_library
from aspectra.base.progress import Progress, quiet
from aspectra.papers.library.copies.backup import restore


def restore_library(
    file: Path | str, folder: Path | str, *, replace: bool = False, progress: Progress = quiet
) -> Library:
    """Make a library of a backup, and its index; nothing is encoded again.

    Args:
        file: what :meth:`Library.backup` wrote, or a copy of a ``library.db``.
        folder: of the library; made where it does not exist.
        replace: also where there is a library with papers. Its database is kept in the folder, as
            ``library.db.replaced-1``.
        progress: called with (step, done, total).

    Returns:
        The library, opened.

    Raises:
        BadInput: ``file`` is no backup, or is damaged.
        UsageError: there is a library with papers, and no ``replace``.
        LibraryBusy: another process is writing to the library.
        AspectraError: the index could not be built, as an encoder is not installed; the papers are there.
    """
    from aspectra.views.build.work import SETTINGS_KEY

    path = Path(folder).expanduser()
    restore(Path(file), path, replace=replace)
    library = open_library(path)
    if library.store.meta(SETTINGS_KEY):  # else it was never indexed
        try:
            library.index(rebuild=True, progress=progress)
        except BaseException:
            library.close()
            raise
    return library
