import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


def get_inputs():
    return [torch.rand(8, 8)]
