"""The methods that are compared, as ordered candidates to select among."""
