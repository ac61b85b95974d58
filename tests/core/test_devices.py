"""A device is a name that torch can compute on here, or is refused in a sentence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kernimpute.core.devices import check_device, import_torch, on_device

torch = pytest.importorskip("torch", reason="install kernimpute[torch]")


def test_the_cpu_is_a_device():
    assert check_device("learn_kernel", "cpu") == "cpu"
    moved = on_device(np.eye(2), "cpu")
    assert moved.dtype is torch.float64
    np.testing.assert_array_equal(np.asarray(moved), np.eye(2))


@pytest.mark.parametrize("device", ["abacus", "cpu:x", "meta", ""])
def test_what_cannot_compute_is_refused_and_told_what_can(device):
    with pytest.raises(ValueError, match=r"'device' parameter of learn_kernel must be .*'cpu'"):
        check_device("learn_kernel", device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="torch computes on this machine's CUDA")
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"\(here: 'cpu'\)\. Got 'cuda' instead"):
        check_device("learn_kernel", "cuda")


def test_a_device_is_a_name():
    with pytest.raises(TypeError, match="'device' parameter of impute must be the name"):
        check_device("impute", 0)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"impute needs torch, .* 'kernimpute\[torch\]'"):
        import_torch("impute")


def test_torch_is_not_imported_before_a_device_is_asked_for():
    script = (
        "import sys; import numpy as np; from kernimpute import learn_kernel; "
        "learn_kernel(np.array([[0.0], [np.nan], [1.0]]), [0, 1, 1], kernel='gaussian'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)
