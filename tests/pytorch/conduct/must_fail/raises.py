# expect: crashed
# problem: affine
# why: an error of its own, told with its line
def launch(inputs, outputs, stream):
    outputs[0].copy_(inputs[0][:-1])
