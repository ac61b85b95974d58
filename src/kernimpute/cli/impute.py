"""The command `kernimpute impute`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernimpute.cli.errors import RefusedError
from kernimpute.cli.formats import is_parquet
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

__all__ = ["impute_command"]


def impute_command(
    table: TableArgument,
    target: TargetOption,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The filled table to write.")
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
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fill subsets of a Parquet table on Dask's workers: local, or tcp://host:port.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a report.")
    ] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fill the gaps of TABLE, guided by its label column, and write the result to OUT.

    Rows without a label are filled as new rows. Observed cells keep their text. In a CSV or TSV
    a column is numeric if more than half of its cells look like numbers; codes with leading
    zeros are categories.

    With --subset-size, a Parquet file, or a folder of such, is not held in memory if it is written
    as one; a run that was interrupted goes on if it is started again.

    Example: `kernimpute impute patients.csv --target outcome -o filled.csv --ignore patient_id`
    """
    from kernimpute.cli.choices import chosen_kernel

    made = chosen_kernel(kernel, gamma)
    for option, value in {"--jobs": jobs, "--scheduler": scheduler}.items():
        if subset_size is None and value is not None:
            raise RefusedError(f"{option} is for subsets: give --subset-size, too.")
    method = {"variant": variant.value, "kernel": made, "C": C, "eta": eta}
    limits = {"tol": tol, "max_iter": max_iter, "subset_size": subset_size, "n_jobs": jobs}
    if subset_size is not None and is_parquet(table) and (is_parquet(output) or table.is_dir()):
        for option, given in {"--report": report, "--max-memory": max_memory}.items():
            if given is not None:
                raise RefusedError(
                    f"{option} is for tables in memory, and --subset-size holds none of Parquet "
                    "there: leave one of them out."
                )
        from kernimpute.cli.out_of_core import impute_out_of_core

        impute_out_of_core(
            table,
            target,
            output,
            drop=drop,
            ignore=ignore,
            categorical=categorical,
            missing_values=missing_values,
            quiet=quiet,
            task=task.value,
            **method,
            **limits,
            scheduler=scheduler,
            force=force,
        )
        return
    if scheduler is not None:
        raise RefusedError("--scheduler is for tables that are read and written as Parquet.")
    from kernimpute.cli.in_memory import impute_in_memory

    impute_in_memory(
        table,
        target,
        output,
        report=report,
        drop=drop,
        ignore=ignore,
        categorical=categorical,
        missing_values=missing_values,
        force=force,
        quiet=quiet,
        task=task.value,
        **method,
        **limits,
        **({} if max_memory is None else {"max_memory": max_memory}),
    )
