# SPDX-License-Identifier: MIT
"""A coordinator on a TCP port with keys: who has one works, and whoever has none, another, a revoked one or one of
another role gets nothing, and is logged."""
import json
import os
import re
import signal
import stat
import unittest

from farm import FarmTest, Started, config, processes_of, tunefarm, wait_until

WORKERS = "SELECT count(*) FROM worker WHERE lost_us IS NULL"


class Keys(FarmTest):
    def setUp(self):
        super().setUp()
        self.keys = os.path.join(self.scratch, "keys")
        self.log = os.path.join(self.scratch, "coordinator.log")
        self.started = []
        self.keygen("coordinator", "farm")
        self.allow = self.allow_list()

    def tearDown(self):
        for process in reversed(self.started):
            if process.running():
                process.signal(signal.SIGTERM)
                process.ended(30)
        self.assertEqual(processes_of(self.scratch), {}, "left behind")
        super().tearDown()

    def keygen(self, role, name):
        ended = tunefarm("keygen", role, name, "--to", self.keys)
        self.assertEqual(ended.rc, 0, ended)

    def key(self, name):
        return os.path.join(self.keys, name + ".key")

    def pub(self, name):
        return os.path.join(self.keys, name + ".pub")

    def allow_list(self, *names):
        lines = ["# who may connect\n"]
        for name in names:
            with open(self.pub(name)) as file:
                lines.append(file.read())
        return self.write("allow", "".join(lines))

    def with_role(self, name, role):
        """The key of `name`, as somebody would forge it who wants to be `role`."""
        with open(self.key(name)) as file:
            text = re.sub(r"(?m)^role .*$", f"role {role}", file.read())
        path = self.write(f"{name}-as-{role}.key", text)
        os.chmod(path, 0o600)
        return path

    def start(self, arguments):
        process = Started(arguments)
        self.started.append(process)
        return process

    def coordinator(self, *arguments):
        """With its log in a file, which can be read while it runs."""
        process = Started(["coordinator", self.out, "--listen", "tcp://127.0.0.1:*", "--key", self.key("farm"), "--allow",
                           self.allow, *arguments],
                          wrapper=["/bin/sh", "-c", 'log=$1; shift; exec "$@" 2>>"$log"', "sh", self.log])
        self.started.append(process)
        place = os.path.join(self.out, "coordinator.json")

        def ready():
            if not process.running():
                raise AssertionError(f"{process.ended()}\n{self.logged()}")
            try:
                with open(place) as file:
                    document = json.load(file)
                return document if document["pid"] == process.pid else None
            except FileNotFoundError:
                return None

        self.endpoint = wait_until(ready, "the coordinator")["endpoint"]
        return process

    def logged(self):
        try:
            with open(self.log) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def worker(self, name, *keys):
        return self.start(["worker", "--connect", self.endpoint, "--state", os.path.join(self.scratch, "w-" + name),
                           "--slots", "2", "--host", name, *keys])

    def worker_with(self, name, key=None):
        return self.worker(name, "--key", key or self.key(name), "--server-key", self.pub("farm"))

    def stopped(self, process):
        if process.running():
            process.signal(signal.SIGTERM)
        return process.ended(30)

    def test_a_campaign_over_tcp(self):
        self.keygen("worker", "node1")
        self.keygen("client", "ann")
        self.allow = self.allow_list("node1", "ann")
        coordinator = self.coordinator()
        worker = self.worker_with("node1")
        wait_until(lambda: self.count(WORKERS), "the worker")
        submitted = tunefarm("submit", config("many_kernels.yaml"), "--to", self.out, "--build-only", "--wait", "--key",
                             self.key("ann"))
        self.assertEqual(submitted.rc, 0, submitted)
        self.assertEqual(self.sql("SELECT state FROM campaigns"), [("done",)])
        asked = tunefarm("explain", self.out, "--json", env={"TUNEFARM_KEY": self.key("ann")})
        self.assertEqual(asked.rc, 0, asked)
        self.assertEqual(json.loads(asked.out)["workers"], 1)
        another = tunefarm("explain", self.out, "--key", self.key("ann"), "--server-key", self.pub("node1"))
        self.assertEqual(another.rc, 2, another)
        self.assertIn("the key of a worker, not of a coordinator", another.err)
        self.assertNotIn("refused", self.logged())
        ended = self.stopped(coordinator)
        self.assertEqual(ended.rc, 0, ended)
        self.assertIn("--key NAME.key --server-key FARM.pub", ended.out)
        self.assertEqual(worker.ended(30).rc, 0)

    def test_strangers_get_nothing(self):
        for name in ("node1", "node2", "stranger"):
            self.keygen("worker", name)
        self.keygen("client", "ann")
        self.keygen("client", "eve")
        self.allow = self.allow_list("node1", "node2", "ann")
        first = self.coordinator()
        good = self.worker_with("node1")
        wait_until(lambda: self.count(WORKERS) == 1, "the worker")
        self.stopped(good)
        self.stopped(first)

        # node1 is revoked.
        self.allow = self.allow_list("node2", "ann")
        self.coordinator()
        tried = {"stranger": self.worker_with("stranger"), "node1": self.worker_with("node1"),
                 "none": self.worker("none", "--insecure"),
                 "ann": self.worker_with("ann", self.with_role("ann", "worker"))}
        forged = tried.pop("ann").ended(60)
        self.assertEqual(forged.rc, 3, forged)
        self.assertIn("key 'ann' has the role 'client', which may not work", forged.err)
        wait_until(lambda: self.logged().count("unknown key") >= 2, "both unknown keys in the log")
        wait_until(lambda: "one side uses keys, the other none" in self.logged(), "the one without keys in the log")
        self.assertIn("key 'ann' has the role 'client', which may not work", self.logged())
        for name in ("stranger", "node1"):
            with open(self.pub(name)) as file:
                self.assertIn(file.read().split()[2], self.logged())
        # Only a key that is on the list joins, while the others go on trying.
        self.worker_with("node2")
        wait_until(lambda: self.count(WORKERS) == 1, "the worker")
        submitted = tunefarm("submit", config("many_kernels.yaml"), "--to", self.out, "--build-only", "--wait", "--key",
                             self.key("ann"))
        self.assertEqual(submitted.rc, 0, submitted)
        self.assertTrue(all(process.running() for process in tried.values()))
        said = {name: self.stopped(process).err for name, process in tried.items()}
        for name in ("stranger", "node1"):
            self.assertIn("does not accept this worker's key", said[name])
        self.assertIn("one side uses keys, the other none", said["none"])
        self.assertEqual({host for host, in self.sql("SELECT host FROM worker")}, {"node1", "node2"})
        self.assertEqual({host for host, in self.sql("SELECT DISTINCT w.host FROM attempt a JOIN worker w ON w.id = a.worker")},
                         {"node2"})

        # Clients likewise.
        unknown = tunefarm("explain", self.out, "--key", self.key("eve"))
        self.assertEqual(unknown.rc, 3, unknown)
        self.assertIn("does not accept this key", unknown.err)
        without = tunefarm("cancel", self.out)
        self.assertEqual(without.rc, 2, without)
        self.assertIn("this coordinator wants a key: --key FILE", without.err)
        forged = tunefarm("submit", config("many_kernels.yaml"), "--to", self.out, "--key",
                          self.with_role("node2", "client"))
        self.assertEqual(forged.rc, 3, forged)
        self.assertIn("key 'node2' has the role 'worker', which may not ask", forged.err)
        self.assertEqual(self.count("SELECT count(*) FROM campaign"), 1)

    def test_what_is_refused_before_anything_is_sent(self):
        self.keygen("worker", "node1")
        self.keygen("client", "ann")
        self.endpoint = "tcp://127.0.0.1:9"
        self.assertEqual(stat.S_IMODE(os.stat(self.key("node1")).st_mode), 0o600)
        server = ("--server-key", self.pub("farm"))
        for keys, words in (
                ((), "over TCP a worker needs --key and --server-key"),
                (("--key", self.key("node1")), "needs both --key"),
                (server, "needs both --key"),
                (("--key", self.key("node1"), "--insecure", *server), "exclude each other"),
                (("--key", self.key("ann"), *server), "a key of role 'client'"),
                (("--key", self.pub("node1"), *server), "chmod 600"),
                (("--key", self.key("node1"), "--server-key", self.pub("ann")), "the key of a client")):
            with self.subTest(words):
                ended = self.worker("node1", *keys).ended(30)
                self.assertEqual(ended.rc, 2, ended)
                self.assertIn(words, ended.err)
        os.chmod(self.key("node1"), 0o640)
        ended = self.worker_with("node1").ended(30)
        self.assertEqual(ended.rc, 2, ended)
        self.assertIn(f"{self.key('node1')}: has mode 0640", ended.err)

        listen = ("coordinator", self.out, "--listen", "tcp://127.0.0.1:*")
        os.chmod(self.allow, 0o666)
        bad_list = self.write("bad", "worker node1 short\n")
        for arguments, words in (
                ((), "insecure"),
                (("--key", self.key("farm")), "needs both --key"),
                (("--key", self.key("ann"), "--allow", bad_list), "not of a coordinator"),
                (("--key", self.key("farm"), "--allow", self.allow), "chmod go-w"),
                (("--key", self.key("farm"), "--allow", bad_list), f"{bad_list}:1")):
            with self.subTest(words):
                ended = tunefarm(*listen, *arguments)
                self.assertEqual(ended.rc, 2, ended)
                self.assertIn(words, ended.err)
        self.assertFalse(os.path.exists(os.path.join(self.out, "coordinator.json")))
        again = tunefarm("keygen", "worker", "node1", "--to", self.keys)
        self.assertEqual(again.rc, 2, again)
        self.assertIn("a key is never replaced", again.err)
        self.assertEqual(tunefarm("keygen", "boss", "node3", "--to", self.keys).rc, 2)


if __name__ == "__main__":
    unittest.main()
