"""Views, reshapes, joins and gathers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 3
length = 8
width = 6


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, width)

    def forward(self, x, ids, order):
        a, b = x.chunk(2, dim=1)
        first, *rest = torch.split(x, 3, dim=2)
        filled = torch.zeros(batch, length, width)
        filled[:, 2:5] = x[:, :3] * 2
        filled[:, 6, 1] = 7.5
        return {
            "transpose": x.transpose(1, 2), "permute": x.permute(2, 0, 1), "reshape": x.reshape(batch, length * width), "view": x.view(batch, 4, 2, width), "flatten": torch.flatten(x, 1), "split_join": x.view(batch, length, 2, 3).permute(0, 2, 1, 3).reshape(batch, 2, length * 3),
            "joined_math": torch.relu(x.transpose(1, 2).reshape(batch, width * length)) + 1, "regroup": x.reshape(batch, 12, 4) * 2, "odd_regroup": (x.transpose(1, 2).reshape(batch, 16, 3)) + 1, "slice": x[:, 1:5, ::2], "ellipsis": x[..., -1], "none": x[:, None, :, 0],
            "select": x[1], "negative": x[:, -3:-1], "cat": torch.cat([x, x * 2, x[:, :, :1]], dim=2), "cat0": torch.cat([a, b], dim=0), "stack": torch.stack([x, x + 1], dim=1), "unbind": torch.stack(x.unbind(1)[:3], 0), "chunks": a * b, "split": first + rest[0], "flip": x.flip(1, 2),
            "expand": x[:, :1].expand(-1, 4, -1) * 1.0, "repeat": x.repeat(1, 2, 1) + 0.0, "interleave": x.repeat_interleave(2, dim=1) + 0.0, "roll": torch.roll(x, 3, 1), "pad": F.pad(x, (1, 2, 0, 1), value=0.5), "reflect": F.pad(x, (2, 1), mode="reflect"), "replicate": F.pad(x, (2, 1), mode="replicate"),
            "squeeze": x[:, :1].squeeze(1), "unsqueeze": x.unsqueeze(2), "embedding": self.table(ids), "gather": torch.gather(x, 2, order), "index_select": torch.index_select(x, 1, ids[0]), "chosen": x[:, ids[1]], "diagonal": torch.diagonal(x[:, :6], dim1=1, dim2=2), "tril": torch.tril(x), "triu": torch.triu(x, diagonal=1),
            "filled": filled, "unfold": x.unfold(1, 3, 2), "swap": x.swapaxes(0, 2), "movedim": torch.movedim(x, 0, -1), "diag_embed": torch.diag_embed(x[0]), "narrow": x.narrow(1, 2, 3), "meshed": torch.stack(torch.meshgrid(x[0, :, 0], x[0, 0], indexing="ij")), "same": x,
        }


def get_inputs():
    return [torch.randn(batch, length, width), torch.randint(0, 8, (2, 4)), torch.randint(0, width, (batch, length, 4))]


def get_init_inputs():
    return []
