# expect: wrong_values
# problem: affine
# why: what it patches is its own process's; the verdict is made elsewhere
import time

import torch

torch.allclose = lambda *a, **k: True
torch.equal = lambda *a, **k: True
time.perf_counter = lambda: 0.0
torch.Tensor.copy_ = lambda self, other, non_blocking=False: self


def launch(inputs, outputs, stream):
    outputs[0].zero_()
