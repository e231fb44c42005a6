# expect: refused
# problem: affine
# why: NotImplementedError is how Python declines
def launch(inputs, outputs, stream):
    raise NotImplementedError("only on Tuesdays")
