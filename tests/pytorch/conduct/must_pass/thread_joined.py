# expect: passed
# problem: affine
# why: a thread that is joined before the return leaves nothing behind
import threading

import torch


def launch(inputs, outputs, stream):
    half = inputs[0].numel() // 2

    def part(begin, end):
        torch.add(inputs[0][begin:end] * 2, 1, out=outputs[0][begin:end])

    worker = threading.Thread(target=part, args=(0, half))
    worker.start()
    part(half, inputs[0].numel())
    worker.join()
