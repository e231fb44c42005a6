# expect: out_of_bounds
# problem: affine
# why: a view over the buffer that is longer than it
import ctypes


def launch(inputs, outputs, stream):
    outputs[0].copy_(2 * inputs[0] + 1)
    ctypes.memset(outputs[0].data_ptr(), 0, outputs[0].numel() * 4 + 8192)
