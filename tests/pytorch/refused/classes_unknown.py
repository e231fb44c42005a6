import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, ids):
        return F.one_hot(ids)


def get_inputs():
    return [torch.randint(0, 5, (4, 6))]
