# SPDX-License-Identifier: MIT
"""How a request fails: one exception, which becomes the protocol's `error` event."""
import traceback


class Failure(Exception):
    """klass: input (a property of the input), environment (of this host) or internal. path: the place in the config."""

    def __init__(self, klass, message, path="", allowed="", log=""):
        super().__init__(message)
        self.klass, self.message, self.path, self.allowed, self.log = klass, message, path, allowed, log

    def event(self):
        event = {"event": "error", "class": self.klass, "message": self.message[:8000]}
        for name in ("path", "allowed", "log"):
            if getattr(self, name):
                event[name] = getattr(self, name)[-8000:]
        return event


def described(error):
    """One line about an exception that TensileLite raised."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:1000]}" if text else type(error).__name__


def of_exception(error, path=""):
    """What an exception out of TensileLite's code says about the request. It checks little of what it reads, so whatever
    its own code raises is a property of the config; what the operating system refuses is one of the host."""
    if isinstance(error, Failure):
        return error
    log = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    if isinstance(error, (MemoryError, OSError)):
        return Failure("environment", described(error), path, log=log)
    return Failure("input", f"TensileLite refuses it: {described(error)}", path, log=log)
