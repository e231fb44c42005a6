"""Recurrent cells and layers, unrolled."""
import torch
import torch.nn as nn

batch = 2
length = 3
width = 4
hidden = 5


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.gru = nn.GRU(width, hidden)
        self.rnn = nn.RNN(width, hidden, bidirectional=True)
        self.cell = nn.GRUCell(width, hidden)
        self.to_hidden = nn.Linear(width + hidden, hidden)

    def forward(self, x, h):
        lstm, (last, c) = self.lstm(x)
        gru, _ = self.gru(x.transpose(0, 1), h.unsqueeze(0))
        rnn, both = self.rnn(x.transpose(0, 1))
        for t in range(length):
            h = torch.tanh(self.to_hidden(torch.cat((x[:, t], h), dim=1)))
        return lstm, last, c, gru, rnn, both, h, self.cell(x[:, 0], h)


def get_inputs():
    return [torch.randn(batch, length, width), torch.randn(batch, hidden)]


def get_init_inputs():
    return [width, hidden]
