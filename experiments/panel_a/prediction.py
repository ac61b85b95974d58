PREDICTORS = ()


def predicted(problem, method):
    raise NotImplementedError
