# expect: unwritten
# problem: affine
# why: returns without having written
def launch(inputs, outputs, stream):
    return 0
