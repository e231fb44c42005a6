"""Lookups by value: one-hot rows, bags of embeddings, places among sorted borders, tensors written out in forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3
length = 5
classes = 7


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = nn.EmbeddingBag(11, 4, mode="sum")
        self.mean = nn.EmbeddingBag(11, 4)
        self.max = nn.EmbeddingBag(11, 4, mode="max")
        self.padded = nn.EmbeddingBag(11, 4, mode="mean", padding_idx=2)
        self.register_buffer("borders", torch.tensor([-1.5, -0.25, 0.5, 2.0]))
        self.register_buffer("steps", torch.linspace(-2, 2, 9))

    def forward(self, x, ids, edges, line, weights, counts):
        return {
            "one_hot": F.one_hot(ids, 11), "one_hot_float": F.one_hot(ids[:, 0], 12).float(), "one_class": F.one_hot(ids * 0, 1), "bag_sum": self.sum(ids), "bag_mean": self.mean(ids), "bag_max": self.max(ids),
            "bag_padded": self.padded(ids), "bag_max_padded": F.embedding_bag(ids, self.max.weight, mode="max", padding_idx=3), "bag_weighted": self.sum(ids, per_sample_weights=weights), "bag_columns": F.embedding_bag(ids.t(), self.mean.weight),
            "bag_one": self.mean(ids[:, :1]), "bag_table": F.embedding_bag(ids[:, :3], self.sum.weight * 2.0, mode="sum"), "rows": torch.searchsorted(edges, x), "rows_right": torch.searchsorted(edges, x, right=True), "rows_side": torch.searchsorted(edges, x, side="right", out_int32=True),
            "line": torch.searchsorted(line, x), "scalar": torch.searchsorted(line, 0.3), "bucketize": torch.bucketize(x, self.borders), "bucketize_right": torch.bucketize(x, self.borders, right=True), "steps": torch.bucketize(x, self.steps, out_int32=True),
            "written": torch.bucketize(x, torch.tensor([-1.0, 0.1, 1.0])), "own_border": torch.bucketize(line, line, right=True), "integers": torch.bucketize(ids, counts), "integers_right": torch.searchsorted(counts, ids, right=True), "one_border": torch.bucketize(x, line[2:3]),
            "scaled": x[:, :3] * torch.tensor([0.1, -2.5, 3.0]), "chosen": x[:, torch.tensor([4, 0, 2, 2])], "matrix": torch.tensor([[1, -2], [3, 4], [5, 6]]) * ids[:, :2], "same": x + torch.tensor([0.3, 0.3, 0.3, 0.3, 0.3]), "halves": x * torch.tensor(0.7),
        }


def get_inputs():
    return [
        torch.randn(batch, length), torch.randint(0, 11, (batch, length)), torch.sort(torch.randn(batch, 6), dim=1).values, torch.sort(torch.randn(9)).values, torch.randn(batch, length),
        torch.sort(torch.randint(0, 11, (6,))).values,
    ]


def get_init_inputs():
    return []
