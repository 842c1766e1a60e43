#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A driver that misbehaves as its argument says, either instead of its hello or during its first request."""
import json, os, subprocess, sys, time

mode = sys.argv[1]
events = os.fdopen(4, "w")


def send(**event):
    events.write(json.dumps(event) + "\n")
    events.flush()


if mode == "dies-at-start":
    print("cannot find the compiler")
    sys.exit(3)
if mode == "no-hello":
    time.sleep(60)
if mode == "garbage-hello":
    events.write("hello?\n")
    events.flush()
    time.sleep(60)
limits = {"silence": {"silence_s": {"build": 0.2}}, "bad-limits": {"silence_s": {"build": -1}},
          "greedy": {"memory_mib": {"build": 64}, "idle_memory_mib": 32}}.get(mode, {})
send(event="hello", protocol=1, toolchain="bad", version="1", files={}, capabilities=[], missing=[], limits=limits)
if mode == "ignores-end":
    time.sleep(60)
for line in os.fdopen(3):
    request = json.loads(line)
    if request["verb"] == "cancel":
        continue
    me = request["id"]
    if mode == "ok" or mode == "flood-stdout":
        if mode == "flood-stdout":
            chunk = b"x" * 65536
            for _ in range(1024):  # 64 MiB
                os.write(1, chunk)
            os.write(1, b"the end\n")
        send(id=me, event="done", result={"pid": os.getpid()}, outputs={}, phases={})
    elif mode == "silence":
        for n in range(10):
            send(id=me, event="row", row={"n": n})
            time.sleep(0.05)
        time.sleep(60)
    elif mode == "greedy":
        eaten = bytearray(b"x") * (128 << 20)
        time.sleep(60)
    elif mode == "dies":
        print("about to die")
        sys.stdout.flush()
        send(id=me, event="row", row={"n": 1})
        os.abort()
    elif mode == "hangs":
        subprocess.Popen(["sleep", "60"])
        time.sleep(60)
    elif mode == "garbage":
        events.write("segmentation fault\n")
        events.flush()
        time.sleep(60)
    elif mode == "flood-rows":
        while True:
            send(id=me, event="log", text="x" * 1000)
    elif mode == "long-line":
        events.write("[" * 5_000_000)
        events.flush()
        time.sleep(60)
    elif mode == "deep":
        events.write("[" * 500_000 + "\n")
        events.flush()
        time.sleep(60)
    elif mode == "wrong-id":
        send(id=me + 1, event="done", result={}, outputs={}, phases={})
        time.sleep(60)
    elif mode == "leaks":
        hoard = []
        while True:
            hoard.append(b"x" * (8 << 20))
    elif mode == "leaks-in-child":
        subprocess.run([sys.executable, "-c", "import time; b = [bytes([7]) * (8 << 20) for _ in range(40)]; time.sleep(60)"])
    elif mode == "daemon":
        # Leaves the session and loses its parent; the environment is empty, so nothing marks it.
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve("/bin/sleep", ["sleep", "61.5"], {})
            os._exit(0)
        os.wait()
        time.sleep(0.05)
        send(id=me, event="row", row={"started": True})
        os.abort()
    elif mode == "escapes":
        open(os.path.join(request["dir"], "plain"), "w").write("plain")
        os.symlink("/etc/passwd", os.path.join(request["dir"], "link"))
        os.symlink("/etc", os.path.join(request["dir"], "dir"))
        send(id=me, event="done", result={}, phases={},
             outputs={"a": "../../etc/passwd", "b": "link", "c": "dir/passwd", "d": "/etc/passwd", "e": "plain"})
    elif mode == "spins":
        end = time.process_time() + 0.15
        while time.process_time() < end:
            pass
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.15: pass"])
        send(id=me, event="done", result={}, outputs={}, phases={"spin": 150000})
