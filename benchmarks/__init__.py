"""Recovery, speed and accuracy, measured; see README.md beside this file."""
