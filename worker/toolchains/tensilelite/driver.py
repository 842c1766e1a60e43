# SPDX-License-Identifier: MIT
"""The program: driver.py --root DIR [--rocm DIR]. Imports TensileLite once, then forks a child per request, so that its
global state (parameters, naming, random numbers) never reaches from one request into the next."""
import argparse
import os
import sys

# A script's own folder comes first in sys.path; its parent must stand there, so that these modules are a package and
# cannot be mistaken for one of TensileLite's or of its libraries.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# numpy's linear algebra would start threads, and a process with threads must not fork.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from tunefarm_tensilelite import hello, split, upstream  # noqa: E402
from tunefarm_tensilelite.channel import Channel  # noqa: E402
from tunefarm_tensilelite.failures import Failure  # noqa: E402
from tunefarm_tensilelite.tasks import serve  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="tunefarm's TensileLite driver; a tunefarm worker starts it")
    parser.add_argument("--root", required=True, help="TensileLite: the folder that holds the package Tensile")
    options = parser.parse_args()
    channel = Channel(requests=3, events=4)
    installed, trouble = None, None
    try:
        installed = upstream.load(options.root)
    except Failure as failure:
        trouble = failure
    channel.send(hello.event(installed, trouble))

    def execute(request, events):
        if trouble is not None:
            raise trouble
        verbs = {"split": split.run}
        if request["verb"] not in verbs:
            raise Failure("internal", f"toolchain tensilelite does not have the verb {request['verb'][:40]}")
        return verbs[request["verb"]](installed, request, events)

    return serve(channel, execute)


if __name__ == "__main__":
    sys.exit(main())
