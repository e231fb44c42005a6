import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, x, grid):
        return F.grid_sample(x, grid, mode="nearest", align_corners=False)


def get_inputs():
    return [torch.rand(2, 3, 8, 8), torch.rand(2, 4, 4, 2)]
