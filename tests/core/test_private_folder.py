"""A folder for files that are code: this user's alone, with all above and all in it."""

from __future__ import annotations

import os

import pytest

from rheostat.core.storage.private_folder import NotPrivate, private_folder


def test_it_is_made_for_this_user_alone_and_links_are_followed_once(tmp_path):
    old = os.umask(0)
    try:
        made = private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    assert [p.stat().st_mode & 0o777 for p in (made, made.parent)] == [0o700, 0o700]
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert private_folder(tmp_path / "link" / "b") == made


@pytest.mark.parametrize("bits", [0o002, 0o020])
def test_who_could_write_to_it_or_rename_what_is_above_makes_it_unusable(
    tmp_path, bits, monkeypatch
):
    monkeypatch.setattr("rheostat.core.storage.private_folder._alone", lambda _group, _user: False)
    cache = tmp_path / "home" / "cache"
    cache.mkdir(parents=True)
    (cache / "index.nbi").write_bytes(b"x")
    private_folder(cache)
    for path in (cache, cache.parent, cache / "index.nbi"):
        mode = path.stat().st_mode
        path.chmod(mode | bits)
        with pytest.raises(NotPrivate, match=rf"{path.name}: (others|its group \d+) can write"):
            private_folder(cache)
        path.chmod(mode)
    (cache / "index.nbi").chmod(0o666)
    cache.chmod(0o700)  # nobody else gets that far
    private_folder(cache)


def test_above_it_a_folder_like_tmp_is_no_danger_but_as_the_cache_itself_it_is(tmp_path):
    tmp_path.chmod(0o1777)
    private_folder(tmp_path / "cache")
    with pytest.raises(NotPrivate, match="others can write"):
        private_folder(tmp_path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("what", ["cache", "cache/index.nbi", "."])
def test_what_belongs_to_another_user_is_refused(tmp_path, what):
    cache = private_folder(tmp_path / "cache")
    (cache / "index.nbi").write_bytes(b"x")
    os.chown(tmp_path / what, 12345, 12345)
    with pytest.raises(NotPrivate, match="belongs to user 12345"):
        private_folder(cache)


def test_a_folder_of_root_or_of_another_is_not_ours_though_we_were_ordinary(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.raises(NotPrivate, match=r"belongs to user \d+, not to 4321"):
        private_folder(tmp_path / "cache")
