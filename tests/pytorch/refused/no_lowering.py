import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.linalg.inv(y)


def get_inputs():
    return [torch.rand(8, 8)]
