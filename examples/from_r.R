# kernimpute from R, through reticulate; tests/docs/test_r.py runs it.

library(reticulate)
kernimpute <- import("kernimpute", convert = FALSE)

# reticulate passes the NA of a numeric or a factor as missing. But
# version 1.28 makes -2147483648 of the NA of an integer, "NA" of that
# of a text, and TRUE of that of a logical. So these are converted.
to_python <- function(frame) {
  whole <- names(frame)[vapply(frame, is.integer, NA)]
  frame[] <- lapply(frame, function(x) {
    if (is.integer(x)) return(as.numeric(x))
    if (is.character(x) || is.logical(x)) return(factor(x))
    x
  })
  table <- r_to_py(frame)
  if (length(whole) == 0) return(table)
  table$astype(setNames(rep(list("Int64"), length(whole)), whole))
}

# Only the missing cells are replaced, so columns keep type and levels.
from_python <- function(table, frame) {
  values <- py_to_r(table$to_dict("list"))
  for (name in names(frame)) {
    missing <- is.na(frame[[name]])
    # A column without any value stays as it is.
    if (all(missing)) next
    fills <- values[[name]][missing]
    if (is.logical(frame[[name]])) fills <- as.logical(fills)
    frame[[name]][missing] <- fills
  }
  frame
}

# 1. A table with missing integers. We remove three cells of a factor.
air <- airquality
air$Month <- factor(month.abb[air$Month], levels = month.abb[5:9])
air$Month[c(5, 50, 100)] <- NA
print(colSums(is.na(air)))

# 2. Fill it.
done <- kernimpute$impute_table(to_python(air))
filled <- from_python(done$table, air)
stopifnot(!anyNA(filled))
stopifnot(identical(lapply(filled, class), lapply(air, class)))
print(filled[c(5, 25, 50), ])

# 3. Predict Ozone for the days on which it was not measured.
#    Predictors take missing cells as they are.
known <- !is.na(air$Ozone)
features <- names(air) != "Ozone"
model <- kernimpute$KernelImputationRegressor()
fitted <- model$fit(
  to_python(air[known, features]), as.numeric(air$Ozone[known])
)
predicted <- model$predict(to_python(air[!known, features]))$tolist()
print(head(round(py_to_r(predicted), 1)))

# 4. Ask whether filling helps to predict Ozone, and with what.
found <- kernimpute$compare(
  to_python(air[known, ]), "Ozone", repeats = 1L, n_jobs = 1L,
  methods = c("means", "joint", "linear", "unfilled", "kernimpute")
)
cat(strwrap(py_to_r(found$verdict), 68), sep = "\n")
