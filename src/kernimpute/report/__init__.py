"""The report: one HTML file on a filled table."""

from __future__ import annotations

from kernimpute.report.html import render_report, write_report

__all__ = ["render_report", "write_report"]
