"""Tables: columns, their code as a matrix, data frames, and the roles of columns."""
