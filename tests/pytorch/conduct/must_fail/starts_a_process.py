# expect: crashed
# problem: affine
# why: kernels start no processes
import subprocess


def launch(inputs, outputs, stream):
    outputs[0].copy_(2 * inputs[0] + 1)
    subprocess.run(["true"], check=True)
