"""y = 2 x + 1, and where x is positive."""


def reference(x):
    return 2 * x + 1, x > 0
