"""
Quick start
===========

A stand-in until the tutorial is merged.
"""

from kernimpute import KernelImputer

print(KernelImputer())
