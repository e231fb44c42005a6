# expect: passed
# problem: affine
# why: the plain contract
import torch


def launch(inputs, outputs, stream):
    torch.add(inputs[0], inputs[0], out=outputs[0])
    outputs[0].add_(1)
