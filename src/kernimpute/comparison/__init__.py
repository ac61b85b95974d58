"""Which filling and which learner suit a table: candidates, folds, tests and the verdict."""
