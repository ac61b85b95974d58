# kernimpute from R, through reticulate: fill, predict, compare. tests/docs/test_r.py runs it.

library(reticulate)
kernimpute <- import("kernimpute", convert = FALSE)

# reticulate passes the NA of a numeric or a factor as missing. The NA of an integer would become
# -2147483648, that of a text "NA" and that of a logical TRUE, so these columns are converted.
to_python <- function(frame) {
  whole <- names(frame)[vapply(frame, is.integer, NA)]
  frame[] <- lapply(frame, function(column) {
    if (is.integer(column)) as.numeric(column)
    else if (is.character(column) || is.logical(column)) factor(column)
    else column
  })
  table <- r_to_py(frame)
  if (length(whole) == 0) return(table)
  table$astype(setNames(rep(list("Int64"), length(whole)), whole))
}

# Only the missing cells are replaced, so every column keeps its R type and its levels.
from_python <- function(table, frame) {
  values <- py_to_r(table$to_dict("list"))
  for (name in names(frame)) {
    gaps <- is.na(frame[[name]])
    if (all(gaps)) next # kernimpute leaves a column without any value as it is.
    fills <- values[[name]][gaps]
    frame[[name]][gaps] <- if (is.logical(frame[[name]])) as.logical(fills) else fills
  }
  frame
}

# 1. A table with missing integers, and a factor of which we remove three cells.
air <- airquality
air$Month <- factor(month.abb[air$Month], levels = month.abb[5:9])
air$Month[c(5, 50, 100)] <- NA
print(colSums(is.na(air)))

# 2. Fill it.
filled <- from_python(kernimpute$impute_table(to_python(air))$table, air)
stopifnot(!anyNA(filled), identical(lapply(filled, class), lapply(air, class)))
print(filled[c(5, 25, 50), ])

# 3. Predict Ozone for the days on which it was not measured. Predictors take missing cells.
measured <- !is.na(air$Ozone)
features <- names(air) != "Ozone"
model <- kernimpute$KernelImputationRegressor()
invisible(model$fit(to_python(air[measured, features]), as.numeric(air$Ozone[measured])))
predicted <- py_to_r(model$predict(to_python(air[!measured, features]))$tolist())
print(head(round(predicted, 1)))

# 4. Ask whether filling helps to predict Ozone, and with what. L makes an integer for Python.
found <- kernimpute$compare(
  to_python(air[measured, ]), "Ozone",
  methods = c("means", "joint", "linear", "unfilled", "kernimpute"), repeats = 1L, n_jobs = 1L
)
cat(py_to_r(found$verdict), sep = "\n")
