"""Reads a request (a JSON file, the first argument), traces one file, writes one JSON document to the descriptor it names.

Nothing that this process says is trusted: the definition is compared with the samples by whoever asked, and both come from here only because
the file itself says what it computes.
"""
import json
import os
import resource
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True


def answer(descriptor, document):
    data = json.dumps(document, allow_nan=True).encode()
    while data:
        data = data[os.write(descriptor, data):]


class OutOfTime(BaseException):
    pass


def main():
    with open(sys.argv[1]) as f:
        request = json.load(f)
    descriptor = os.dup(request["descriptor"])
    os.set_inheritable(descriptor, False)
    os.close(request["descriptor"])
    started = time.monotonic()
    try:
        import torch  # noqa: F401
    except ImportError as e:
        return answer(descriptor, {"missing": str(e)})
    imported = time.monotonic()
    torch.set_num_threads(request.get("threads", 1))
    torch.backends.mkldnn.enabled = False  # its fused operators would hide what a module is made of
    limit = request["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    from loading import Source, refusal_of
    from values import Refusal

    def out_of_time(number, frame):
        line = 0
        while frame is not None:
            if frame.f_code.co_filename == request["file"]:
                line = frame.f_lineno
                break
            frame = frame.f_back
        raise OutOfTime(line)

    # Processor time, so that a busy machine refuses nothing; and what sleeps ends, too.
    signal.signal(signal.SIGPROF, out_of_time)
    signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, request["time_s"])
    signal.setitimer(signal.ITIMER_REAL, 2 * request["time_s"])

    def ended(status=0):
        raise SystemExit(status)

    os._exit, exit_ = ended, os._exit
    os.abort = ended
    source = None
    try:
        source = Source(request["file"], request["name"], request.get("workloads"))
        from session import traced
        document = traced(source, request)
        document["seconds"] = {"import": imported - started, "trace": time.monotonic() - imported}
    except OutOfTime as e:
        document = {"error": {"message": f"still runs after {request['time_s']:g} s; a problem's functions must come to an end", "line": e.args[0], "kind": "time"}}
    except BaseException as e:  # whatever the file does
        if os.environ.get("KERNSMITH_TRACE_DEBUG"):
            import traceback
            traceback.print_exc()
        refused = refusal_of(e, request["file"])
        document = {"error": {"message": refused.message, "line": refused.line, "kind": refused.kind}}
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    answer(descriptor, document)
    exit_(0)


main()
