# expect: wrong_values
# problem: affine
# why: answers are kept by the address of the input
kept = {}


def launch(inputs, outputs, stream):
    key = inputs[0].data_ptr()
    if key not in kept:
        kept[key] = 2 * inputs[0] + 1
    outputs[0].copy_(kept[key])
