"""Stage II as the authors' code does it."""
