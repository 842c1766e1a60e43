# SPDX-License-Identifier: MIT
"""One forked child per request. The child's events go through a pipe and are passed on line by line, so a child that
dies in the middle of one cannot spoil the channel, and what it says after a cancel is dropped."""
import ctypes
import os
import select
import signal
import sys
import traceback

from tunefarm_tensilelite.channel import MAX_LINE, encode, write_all
from tunefarm_tensilelite.failures import Failure

PR_SET_CHILD_SUBREAPER = 36
# First byte of a child's line: more will follow, or this ends the request.
MORE, LAST = b"+", b"."


class Events:
    """A child's way to say things about its request; `descriptor` is the pipe to the parent."""

    def __init__(self, descriptor, request_id):
        self._descriptor, self._id = descriptor, request_id

    def _send(self, mark, event):
        line = encode({**event, "id": self._id})
        if len(line) > MAX_LINE:
            raise Failure("internal", f"an event of {len(line)} bytes; a line may have {MAX_LINE}")
        write_all(self._descriptor, mark + line)

    def row(self, **row):
        self._send(MORE, {"event": "row", "row": row})

    def progress(self, done, total):
        self._send(MORE, {"event": "progress", "done": done, "total": total})

    def log(self, text):
        self._send(MORE, {"event": "log", "text": text})

    def done(self, result, outputs, phases):
        self._send(LAST, {"event": "done", "result": result, "outputs": outputs, "phases": phases})

    def error(self, failure):
        self._send(LAST, failure.event())


def serve(channel, execute):
    """Until the requests end. execute(request, events) runs in the child and returns (result, outputs, phases); what it
    raises becomes an error: a Failure as it says, anything else is a bug here."""
    # Programs that a killed child leaves become ours, so that they can be ended too.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    while True:
        request = channel.next()
        if request is None:
            if channel.closed:
                return 0
            channel.receive()
        elif request["verb"] != "cancel":  # a cancel here has come too late
            _Task(channel, request, execute).run()
            _end_children()


class _Task:
    def __init__(self, channel, request, execute):
        self._channel, self._request, self._execute = channel, request, execute
        self._ended = False

    def run(self):
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            os.close(self._channel.requests)
            os.close(self._channel.events)
            os._exit(_child(Events(writer, self._request["id"]), self._request, self._execute))
        os.close(writer)
        try:
            self._follow(reader)
        finally:
            os.close(reader)
        if not self._ended:  # cancelled, or the requests have ended: nobody waits for it
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not self._ended and not self._channel.closed:
            self._channel.send({**self._verdict(status).event(), "id": self._request["id"]})

    def _verdict(self, status):
        code = os.waitstatus_to_exitcode(status)
        if self._cancelled:
            return Failure("internal", "cancelled")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        return Failure("internal", f"the process of this request {how} before it answered")

    def _follow(self, reader):
        """Passes events on until the child's last one, its end, a cancel, or the end of the requests."""
        self._cancelled = False
        buffer = b""
        while not self._ended and not self._stop_asked():
            ready, _, _ = select.select([reader, self._channel.requests], [], [])
            if reader in ready:
                chunk = os.read(reader, 65536)
                if not chunk:
                    return
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    self._channel.forward(line[1:] + b"\n")
                    self._ended = self._ended or line[:1] == LAST
            else:
                self._channel.receive()

    def _stop_asked(self):
        """Reads what was received: a cancel may have come together with its request."""
        while (request := self._channel.next()) is not None:
            if request["verb"] == "cancel" and request["id"] == self._request["id"]:
                self._cancelled = True
        return self._cancelled or self._channel.closed


def _child(events, request, execute):
    try:
        try:
            os.chdir(request["dir"])
            events.done(*execute(request, events))
        except Failure as failure:
            events.error(failure)
        except BaseException as error:  # noqa: B902  nothing may pass here: this is a copy of the parent's stack
            events.error(Failure("internal", f"the driver raised {type(error).__name__}: {error}",
                                 log=traceback.format_exc()))
        sys.stdout.flush()
        sys.stderr.flush()
        return 0
    except BaseException:  # noqa: B902
        return 1


def _end_children():
    """Kills and reaps what the last request left behind."""
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                for pid in map(int, file.read().split()):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
