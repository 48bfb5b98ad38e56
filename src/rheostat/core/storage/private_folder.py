"""A folder that nobody but this user can write to: the place for files that are code.

Machine code and the indexes of its cache (numba's are pickles) run when they are read.  Whoever
can write one, or rename a folder above it, runs what they like as this user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GROUP, OTHERS = stat.S_IWGRP, stat.S_IWOTH
REACHED = stat.S_IXGRP | stat.S_IXOTH
"""Without these rights of a folder nobody else gets at what lies in it, whatever its own rights."""


class NotPrivate(OSError):
    """Somebody else can write to a folder, or owns it or what lies in it; the text says which."""


def private_folder(folder: str | Path) -> Path:
    """The folder without links in its path, made if it is not there; nobody else can change it.

    Parameters
    ----------
    folder : str or path
        What is missing of it is made for this user alone (mode 0700).

    Returns
    -------
    Path
        Every folder above belongs to this user or to root, and others can write to none of them
        (in one like ``/tmp`` they can, but not rename what is this user's).  The folder and all
        that lies in it belong to this user and can be written by no one else.

    Raises
    ------
    NotPrivate
        It is not so.
    OSError
        It is not there and cannot be made, as under a read-only home.

    Notes
    -----
    A group's right to write counts as others', but for the group of the user's own that many
    systems give each user: no one else is in it.

    Examples
    --------
    >>> import tempfile
    >>> shared = Path(tempfile.mkdtemp())
    >>> private_folder(shared / "cache").name
    'cache'
    >>> shared.chmod(0o777)
    >>> private_folder(shared / "cache")
    Traceback (most recent call last):
    ...
    rheostat.core.storage.private_folder.NotPrivate: ...: others can write to it
    """
    real = Path(os.path.realpath(folder))
    _make(real)
    if not hasattr(os, "getuid"):  # Windows: the profile's folder is the user's by its own rules
        return real
    for above in real.parents:
        _check(above, os.stat(above), above_it=True)
    own = os.stat(real)
    _check(real, own)
    for path in _inside(real):
        with suppress(FileNotFoundError):  # another process of this user has just renamed it
            _check(path, os.lstat(path), shut_off=not own.st_mode & REACHED)
    return real


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _inside(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        yield from (Path(where, name) for name in (*folders, *files))


def _check(
    path: Path, status: os.stat_result, *, above_it: bool = False, shut_off: bool = False
) -> None:
    mine = os.getuid()
    if status.st_uid != mine and not (above_it and status.st_uid == 0):
        raise NotPrivate(f"{path}: belongs to user {status.st_uid}, not to {mine} who runs this")
    sticky = above_it and status.st_mode & stat.S_ISVTX  # nobody renames what is another's there
    if shut_off or sticky or stat.S_ISLNK(status.st_mode):  # a link has no rights of its own
        return
    if status.st_mode & OTHERS:
        raise NotPrivate(f"{path}: others can write to it")
    if status.st_mode & GROUP and not _alone(status.st_gid, mine):
        raise NotPrivate(f"{path}: its group {status.st_gid} can write to it")


def _alone(group: int, user: int) -> bool:
    """Whether a group is the one of the user's own name, with no other member."""
    import grp
    import pwd

    try:
        named, me = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return me.pw_gid == group and named.gr_name == me.pw_name and set(named.gr_mem) <= {me.pw_name}
