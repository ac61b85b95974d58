"""Where torch computes: the only place that imports it, and only once a device is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernimpute.core.checks import refusal

__all__ = ["check_device", "import_torch", "on_device"]

FloatArray = NDArray[np.float64]


def import_torch(owner: str, extra: str = "torch") -> Any:
    """Return torch.

    Parameters
    ----------
    owner : str
        Who needs it, for the message.
    extra : str, default="torch"
        The extra of the package that installs it for the owner.

    Returns
    -------
    module
        torch.

    Raises
    ------
    ImportError
        If it is not installed; the sentence names the extra.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"{owner} needs torch, which the extra 'kernimpute[{extra}]' installs."
        ) from error
    return torch


def check_device(owner: str, device: object, extra: str = "torch") -> str:
    """Return the name of a device, or refuse one on which torch has no doubles here.

    Parameters
    ----------
    owner : str
        Whose parameter it is, for the message.
    device : str
        The device's name.
    extra : str, default="torch"
        As for `import_torch`.

    Returns
    -------
    str
        The name.

    Raises
    ------
    ImportError
        If torch is not installed.
    TypeError
        If the device is no text.
    ValueError
        If torch does not know it, or cannot use it on this machine.
    """
    if not isinstance(device, str):
        raise TypeError(refusal(owner, "device", "the name of a device, such as 'cpu'", device))
    torch = import_torch(owner, extra)
    try:
        # Only a value that comes back proves a device: some exist by name alone.
        torch.zeros(1, dtype=torch.float64, device=device).numpy(force=True)
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        found = ", ".join(repr(name) for name in _devices(torch))
        must_be = (
            "the name of a device of this machine, such as 'cpu', on which torch has doubles "
            f"(here: {found})"
        )
        raise ValueError(refusal(owner, "device", must_be, device)) from error
    return device


def _devices(torch: Any) -> list[str]:
    """Return the names of the devices that torch finds here."""
    return ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]


def on_device(array: FloatArray, device: str) -> FloatArray:
    """Return a NumPy array as a tensor.

    Parameters
    ----------
    array : ndarray of float64
        The array.
    device : str
        A name that `check_device` has returned.

    Returns
    -------
    Tensor
        A copy on the device, in float64.
    """
    torch = import_torch("on_device")
    tensor: FloatArray = torch.tensor(array, dtype=torch.float64, device=device)
    return tensor
