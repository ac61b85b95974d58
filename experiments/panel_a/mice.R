# mice at its defaults: five imputations by predictive mean matching after five rounds.
# Rscript mice.R ROWS.csv IGNORED OUT.csv SEED: the last IGNORED rows do not enter the models.
library(mice, warn.conflicts = FALSE)
arguments <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(arguments[1], na.strings = "", stringsAsFactors = TRUE, colClasses = NA)
n <- nrow(rows)
ignore <- seq_len(n) > n - as.integer(arguments[2])
fit <- mice(rows, ignore = ignore, seed = as.integer(arguments[4]), printFlag = FALSE)
filled <- complete(fit, "long")
write.csv(filled, arguments[3], row.names = FALSE, na = "")
