# SPDX-License-Identifier: MIT
"""Descriptors 3 and 4 of the driver protocol: one JSON object per line."""
import json
import os

MAX_LINE = 1 << 20


def encode(event):
    """The event as a line. Text that is not UTF-8 (a compiler may quote anything) becomes escapes."""
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


class Channel:
    """Used by the parent alone: children write to it (tasks.py)."""

    def __init__(self, requests, events):
        self.requests, self.events = requests, events
        for descriptor in (requests, events):
            os.set_inheritable(descriptor, False)
        self._buffer = b""
        self.closed = False

    def send(self, event):
        self.forward(encode(event))

    def forward(self, line):
        write_all(self.events, line)

    def receive(self):
        """Reads what is there, at least once: blocks where nothing is. At the end of the requests, `closed`."""
        chunk = os.read(self.requests, 65536)
        self._buffer += chunk
        self.closed = not chunk

    def next(self):
        """The next whole request that was received, or None."""
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            if len(self._buffer) > MAX_LINE:
                self.closed = True
            return None
        self._buffer = rest
        return json.loads(line)
