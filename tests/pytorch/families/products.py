"""Matrix products of every form."""
import torch
import torch.nn as nn
import torch.nn.functional as F

m = 4
k = 6
n = 5
batch = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(k, n)
        self.bare = nn.Linear(k, n, bias=False)
        self.two = nn.Bilinear(k, n, 4)

    def forward(self, a, b, v, A, B, T):
        split = a.view(m, 2, k // 2)
        return {
            "matmul": a @ b, "transposed": torch.matmul(a, b.t().contiguous().T), "left": a.T @ a, "mv": a @ v, "vm": v @ b, "dot": torch.dot(v, v), "mm": torch.mm(a, b),
            "bmm": torch.bmm(A, B), "batched": A @ b, "broadcast": a @ B, "linear": self.fc(a), "linear3": self.fc(A), "bare": self.bare(T), "addmm": torch.addmm(b[:1, :], a, b, beta=0.5, alpha=2.0),
            "baddbmm": torch.baddbmm(torch.ones(batch, 1, n), A, B), "einsum": torch.einsum("bmk,bkn->bmn", A, B), "trace": torch.einsum("ij,ji->i", a[:, :4], a[:, :4]),
            "ein4": torch.einsum("bijl,lk->bijk", T, b), "sum_all": torch.einsum("bmk,bkn->", A, B), "outer": torch.outer(v, v), "bilinear": self.two(a, a @ b),
            "diag": torch.diag(v) @ b, "triu": torch.triu(a[:, :4] @ a[:, :4].T), "tril": torch.tril(a[:, :4]) @ b[:4], "scaled": (a @ b) * 0.5 + 1.0,
            "joined": split.reshape(m, k) @ b, "heads": (A.view(batch, m, 2, k // 2).transpose(1, 2) @ A.view(batch, m, 2, k // 2).transpose(1, 2).transpose(-1, -2)),
            "tensordot": torch.tensordot(A, b, dims=1), "three": torch.einsum("mk,kn,n->m", a, b, b[0]),
        }


def get_inputs():
    return [torch.randn(m, k), torch.randn(k, n), torch.randn(k), torch.randn(batch, m, k), torch.randn(batch, k, n), torch.randn(2, 3, 4, k)]


def get_init_inputs():
    return []
