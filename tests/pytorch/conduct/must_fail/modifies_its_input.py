# expect: input_modified
# problem: affine
# why: works in place
def launch(inputs, outputs, stream):
    inputs[0].mul_(2).add_(1)
    outputs[0].copy_(inputs[0])
