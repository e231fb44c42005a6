# expect: build_failed
# problem: linear
# why: neither is its file
import glob
import importlib.util

found = [path for pattern in ("/tmp/**/linear.py", "/build/*", "/home/**/linear.py", "/root/**/linear.py") for path in glob.glob(pattern, recursive=True)]
spec = importlib.util.spec_from_file_location("found", found[0])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
ModelNew = module.Model
