"""Mean hinge loss of signed scores; about half of the terms are cut off."""
import torch
import torch.nn as nn

ROWS = 2800
COLUMNS = 1400


class Model(nn.Module):
    def forward(self, score, label):
        return torch.mean(torch.clamp(1.0 - score * label, min=0.0))


def get_inputs():
    score = torch.exp(torch.randn(ROWS, 1)) * torch.randn(ROWS, COLUMNS)
    return [score, torch.randint(0, 2, (ROWS, COLUMNS)).float() * 2.0 - 1.0]


def get_init_inputs():
    return []
