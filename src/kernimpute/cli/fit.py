"""The command `kernimpute fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli.options import (
    CategoricalOption,
    DropOption,
    EtaOption,
    ForceOption,
    GammaOption,
    IgnoreOption,
    JobsOption,
    KernelName,
    KernelOption,
    MaxIterOption,
    MaxMemoryOption,
    MissingValuesOption,
    PenaltyOption,
    QuietOption,
    SubsetSizeOption,
    TableArgument,
    TargetOption,
    TaskName,
    TaskOption,
    TolOption,
    VariantName,
    VariantOption,
)

__all__ = ["fit_command"]


def fit_command(
    table: TableArgument,
    target: TargetOption,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="The model to write; .skops is added to a bare name.",
        ),
    ],
    task: TaskOption = TaskName.AUTO,
    ignore: IgnoreOption = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    missing_values: MissingValuesOption = None,
    variant: VariantOption = VariantName.DIRECT,
    kernel: KernelOption = KernelName.GAUSSIAN,
    C: PenaltyOption = 1.0,
    gamma: GammaOption = None,
    eta: EtaOption = None,
    tol: TolOption = None,
    max_iter: MaxIterOption = None,
    subset_size: SubsetSizeOption = None,
    max_memory: MaxMemoryOption = None,
    jobs: JobsOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn from TABLE how to fill tables of its kind, and keep that in the file MODEL.

    `kernimpute apply` then fills further tables, without their labels. Rows of TABLE without a
    label are not used. Columns are read as by `kernimpute impute`. MODEL holds rows of TABLE.

    Example: `kernimpute fit patients.csv --target outcome -o patients.skops --ignore patient_id`
    """
    from kernimpute.cli.choices import chosen_kernel
    from kernimpute.cli.fitting import fit_model

    chosen_kernel(kernel, gamma)
    options = {"gamma": gamma, "eta": eta}
    fit_model(
        table,
        target,
        output,
        drop=drop,
        ignore=ignore,
        categorical=categorical,
        missing_values=missing_values,
        task=task.value,
        force=force,
        quiet=quiet,
        variant=variant.value,
        kernel=kernel.value,
        C=C,
        tol=tol,
        max_iter=max_iter,
        subset_size=subset_size,
        **({} if max_memory is None else {"max_memory": max_memory}),
        n_jobs=jobs,
        # What is not given is the imputer's own default.
        **{name: one for name, one in options.items() if one is not None},
    )
