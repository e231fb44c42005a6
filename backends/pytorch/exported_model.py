

_KS_PLAIN = (torch.Tensor, torch.nn.Parameter)
_KS_BY_MODE = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd, torch.nn.RReLU)


def _ks_owner(module, key):
    """The dictionary that holds a parameter or buffer, and its name there."""
    *path, name = key.split(".")
    for part in path:
        module = module._modules[part]
    return (module._parameters if name in module._parameters else module._buffers), name


class ModelNew(Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._ks_owners = [(index, *_ks_owner(self, key)) for index, key in _KS_PARAMETERS]
        self._ks_by_mode = any(isinstance(module, _KS_BY_MODE) for module in self.modules()) or _KS_READS_MODE

    def _ks_forward(self, args):
        if len(args) != len(_KS_ARGUMENTS) or (self._ks_by_mode and not self.training):
            return None
        tensors = [None] * len(_KS_INPUT_DTYPES)
        for given, (index, number) in zip(args, _KS_ARGUMENTS):
            if index is not None:
                tensors[index] = given
            elif torch.is_tensor(given) or given != number:
                return None
        for index, owner, name in self._ks_owners:
            tensors[index] = owner[name]
        for tensor in tensors:
            if type(tensor) not in _KS_PLAIN:
                return None
        shapes = tuple([tensor.shape for tensor in tensors])
        workload = _KS_WORKLOADS.get(shapes)
        return None if workload is None else _ks_call(tensors, shapes, workload)

    def forward(self, *args, **kwargs):
        outputs = None if kwargs else self._ks_forward(args)
        if outputs is None:
            return super().forward(*args, **kwargs)
        return outputs[_KS_RESULTS[0]] if len(_KS_RESULTS) == 1 and not _KS_GIVES_TUPLE else tuple(outputs[i] for i in _KS_RESULTS)
