"""Files and folders that are there whole: what was there before outlives every failure."""

import os

import pytest

from kernimpute.core import files
from kernimpute.core.files import replacing, replacing_folder


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "part").write_text("former")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_are_replaced_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("former")
    first.chmod(0o600)
    with pytest.raises(KeyError), replacing(first, second) as temporary:
        for path in temporary:
            path.write_text("new")
        raise KeyError
    assert names(tmp_path) == ["first"] and first.read_text() == "former"
    with replacing(first, second) as temporary:
        for path in temporary:
            path.write_text("new")
    assert [path.read_text() for path in (first, second)] == ["new", "new"]
    assert first.stat().st_mode & 0o777 == 0o600


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "absent" / "out"
    with pytest.raises(OSError) as raised, replacing(path) as (temporary,):
        temporary.write_text("new")
    assert raised.value.filename == str(path)


def test_a_folder_is_replaced(place):
    with replacing_folder(place) as temporary:
        (temporary / "other").write_text("new")
    assert names(place.parent) == ["out"] and names(place) == ["other"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_failure_while_folders_change_places_keeps_one(
    place, monkeypatch, error, failing, is_done
):
    """An error comes from a call, an interrupt from just after it too."""
    original, calls = os.replace, []

    def replace(source, target):
        calls.append(source)
        if len(calls) != failing:
            original(source, target)
            return
        if is_done:
            original(source, target)
        raise error("here")

    monkeypatch.setattr(files.os, "replace", replace)
    with pytest.raises(error, match="here"), replacing_folder(place) as temporary:
        (temporary / "part").write_text("new")
    assert names(place.parent) == ["out"]
    is_new = failing == 2 and is_done
    assert (place / "part").read_text() == ("new" if is_new else "former")


def test_a_failure_without_a_former_folder_leaves_nothing(tmp_path, monkeypatch):
    def refuse(source, target):
        raise OSError("here")

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(OSError, match="here"), replacing_folder(tmp_path / "out"):
        pass
    assert names(tmp_path) == []
