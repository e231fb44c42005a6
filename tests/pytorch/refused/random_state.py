import torch


class Model(torch.nn.Module):
    def forward(self, x):
        h = torch.randn(8, 8)
        return x + h


def get_inputs():
    return [torch.rand(8, 8)]
