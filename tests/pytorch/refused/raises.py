import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.view(7, 9)


def get_inputs():
    return [torch.rand(8, 8)]
