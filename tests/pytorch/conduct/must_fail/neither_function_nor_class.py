# expect: build_failed
# problem: affine
# why: nothing to call
def run(x):
    return 2 * x + 1
