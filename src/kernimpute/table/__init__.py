"""Tables: columns and their roles, their code as a matrix, labels, and data frames."""
