# expect: crashed
# problem: affine
# why: ends its process
import os


def launch(inputs, outputs, stream):
    os._exit(0)
