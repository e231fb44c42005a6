# expect: refused
# problem: affine
# why: says what is missing
import cutlass
import cutlass.cute as cute


def launch(inputs, outputs, stream):
    cute.compile()
