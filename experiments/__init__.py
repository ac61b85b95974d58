"""Every table and figure of the paper by one command, against strong simple methods.

``python -m experiments run CONFIG``, then ``table CONFIG``, ``figure CONFIG`` and ``page``. A
second package beside the library: it is not in the wheel and uses the library's public names only.
"""
