"""The methods that the library is compared with: a file each, and a line in the registry."""
