from experiments.words import counted, some_of


def test_a_count_agrees_with_its_noun():
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_at_most_three_names_are_told_each_once():
    assert some_of([]) == ""
    assert some_of(["a", "b", "a", "c"]) == "a, b, c"
    assert some_of("abcde") == "a, b, c and 2 more"
