# expect: refused
# problem: linear
# why: the module that it is to replace is not there to be called
import linear


class ModelNew(linear.Model):
    pass
