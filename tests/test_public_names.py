"""The names of the package: imported when they are asked for, and all there."""

import subprocess
import sys

import pytest

import kernimpute


def test_every_name_is_there_and_listed():
    for name in kernimpute.__all__:
        assert getattr(kernimpute, name) is not None
    assert set(kernimpute.__all__) <= set(dir(kernimpute))
    assert {one for names in kernimpute._HOMES.values() for one in names.split()} | {
        "kernels",
        "stream",
    } == set(kernimpute.__all__)


def test_modules_of_names_are_attributes_after_import_and_dask_is_not_imported():
    code = (
        "import sys, kernimpute; kernimpute.estimators.trusted_types(); kernimpute.core.rows; "
        "import kernimpute.cli, kernimpute.stream; sys.exit('dask' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'kernimpute' has no attribute 'Imputer'"):
        kernimpute.Imputer  # noqa: B018
