#!/usr/bin/env python3
"""Prints Kernsmith's result stream, and says so when events were missed.

    python3 docs/examples/subscribe.py                                   every event of a run at the default address
    python3 docs/examples/subscribe.py tcp://127.0.0.1:5571 champion.    only topics that begin with "champion."

Needs pyzmq (Debian: python3-zmq). It may be started before the run or during one; Ctrl-C ends it. docs/formats/result-stream.md
describes the frames.
"""
import json
import sys

import zmq


def print_events(address: str, prefix: str) -> None:
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.subscribe(prefix)
    socket.connect(address)
    expected: dict[str, int] = {}  # by stream: the next sequence number
    while True:
        topic, header, payload = socket.recv_multipart()
        header = json.loads(header)
        stream, seq = header["stream"], header["seq"]
        # The count runs over all topics, so only a subscriber to all of them can tell a gap.
        if not prefix and seq > expected.get(stream, seq):
            print(f"      missed {seq - expected[stream]} events", flush=True)
        expected[stream] = seq + 1
        print(f"{seq:5}  {header['time']}  {topic.decode():20}  {json.dumps(json.loads(payload))}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 3 or "-h" in sys.argv or "--help" in sys.argv:
        sys.exit(__doc__)
    try:
        print_events(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:5571", sys.argv[2] if len(sys.argv) > 2 else "")
    except KeyboardInterrupt:
        pass
