"""Reports as one HTML file each: on a filled table, and on a comparison of candidates."""

from __future__ import annotations

from kernimpute.report.html import write_comparison_report, write_report

__all__ = ["write_comparison_report", "write_report"]
