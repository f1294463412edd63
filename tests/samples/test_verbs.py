"""The samples of docs/samples/verbs on the software stack, under sanitizers: what they transfer, and what they say of wrong use.

Expected are the bytes that were sent, sums that follow from the numbers of clients and operations, and the statuses that RFC 5040
and 5041 and the verbs give to each mistake."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "software"))
import software  # noqa: E402
from software import ADDRESS, TestCase, free_port  # noqa: E402

FOLDER = pathlib.Path(os.environ["RDMASCOPE_SAMPLES"])
NAMES = sorted(file.stem for file in (software.ROOT / "docs/samples/verbs").glob("*.c"))


class SampleCase(TestCase):
    def sample(self, name, *arguments, **options):
        return self.start(FOLDER / name, *arguments, **options)

    def server(self, name, *arguments, **options):
        """The program that listens, and its port, which is the last argument."""
        port = free_port()
        return self.sample(name, *arguments, port, **options).wait_for_port(port), port

    def says(self, program, *texts, status=0):
        self.assertEqual(program.wait(30), status, f"{program}:\n{program.text()}")
        for text in texts:
            self.assertIn(text, program.text())


class Transfers(SampleCase):
    def test_hello(self):
        server, port = self.server("hello", "server")
        self.says(self.sample("hello", "client", ADDRESS, port), "sent: hello from the client\nreceived: hello from the server\n")
        self.says(server, "received: hello from the client\nsent: hello from the server\n")

    def test_round_trips(self):
        for how, words in (("event", "events"), ("poll", "polling")):
            for size in (1, 64, 65, 65536):  # 64 bytes go inline
                with self.subTest(how=how, size=size):
                    server, port = self.server("ping_pong", "-w", how, "server")
                    client = self.sample("ping_pong", "-w", how, "-n", 100, "-s", size, "client", ADDRESS, port)
                    self.says(client, f"100 round trips of {size} bytes, {words}: median ")
                    self.says(server, "answered 100 messages")

    def test_many_clients_of_one_thread(self):
        server, port = self.server("echo_server", "-n", 12)
        clients = [self.sample("echo_client", "-n", 200, "-s", 1 + 300 * i, "-d", 1 + i, ADDRESS, port) for i in range(12)]
        for i, client in enumerate(clients):
            self.says(client, f"200 messages of {1 + 300 * i} bytes returned, depth {1 + i}: ")
        self.says(server, "served 12 clients")

    def test_files(self):
        with tempfile.TemporaryDirectory(prefix="rdmascope-samples-") as folder:
            shown = pathlib.Path(folder, "shown")
            shown.mkdir()
            contents = {"empty": b"", "small": b"x", "large": random.Random(1).randbytes(3 * 1024 * 1024 + 5)}
            for name, content in contents.items():
                (shown / name).write_bytes(content)
            pathlib.Path(folder, "hidden").write_bytes(b"not for clients")
            server, port = self.server("file_server", "serve", shown)
            output = pathlib.Path(folder, "output")
            for name, content in contents.items():
                self.says(self.sample("file_server", "get", ADDRESS, name, output, port), f"{len(content)} bytes")
                self.assertEqual(output.read_bytes(), content)
            for name in ("absent", "../hidden", ".."):
                self.says(self.sample("file_server", "get", ADDRESS, name, output, port), "the server has no such file", status=1)
            server.wait_for_text("large: fetched")

    def test_key_value_store(self):
        _, port = self.server("key_value", "server")
        client = self.sample("key_value", "client", ADDRESS, "-p", port, "put", "colour", "blue", "put", "size", "9", "get", "colour")
        self.says(client, "colour = blue\nsize = 9\ncolour = blue\n")
        client = self.sample("key_value", "client", ADDRESS, "-p", port, "put", "colour", "red", "get", "size", "get", "shape")
        self.says(client, "colour = red\nsize = 9\nshape is not there\n")
        self.says(self.sample("key_value", "client", ADDRESS, "-p", port, "get", "k" * 64), "a key has 1 to 63 bytes", status=1)

    def test_counter(self):
        for mode, times in (("add", 250), ("lock", 20)):
            with self.subTest(mode=mode):
                server, port = self.server("counter", "-n", 4, "server")
                for client in [self.sample("counter", "client", "-m", mode, "-n", times, ADDRESS, port) for _ in range(4)]:
                    self.says(client, f"added 1 {times} times; ")
                self.says(server, f"a client left; the counter is {4 * times}\n")

    def test_extended_calls(self):
        server, port = self.server("extended", "server")
        self.says(self.sample("extended", "client", ADDRESS, "-p", port, "one", "two", "three"), "request 4 completed at ")
        self.says(server, "written: onetwothree\n")


class Robust(SampleCase):
    def test_a_server_that_comes_late(self):
        port = free_port()
        client = self.sample("robust_client", "-n", 3, "-i", 0, ADDRESS, port)
        client.wait_for_text("no connection: no server listens there, or it has no place (RDMA_CM_EVENT_REJECTED, status -111)")
        client.wait_for_text("next try in 100 ms")
        self.sample("echo_server", port).wait_for_port(port)
        self.says(client, "connected; 0 messages answered so far", "all 3 messages answered")

    def test_a_server_that_restarts(self):
        server, port = self.server("echo_server")
        client = self.sample("robust_client", "-n", 40, "-i", 20, ADDRESS, port).wait_for_text("connected; 0 messages")
        server.kill()
        client.wait_for_text("next try in")
        self.sample("echo_server", port).wait_for_port(port)
        self.says(client, "all 40 messages answered")

    def test_a_server_that_stops_answering(self):
        server, port = self.server("echo_server")
        server.send_signal(signal.SIGSTOP)
        client = self.sample("robust_client", "-n", 1, "-t", 100, "-r", 2, ADDRESS, port)
        self.says(client, "no connection within 100 ms", "given up after 2 tries; 0 of 1 messages were answered", status=1)
        server.send_signal(signal.SIGCONT)


class WrongUse(SampleCase):
    def test_usage(self):
        for name in NAMES:
            with self.subTest(name=name):
                self.says(self.sample(name, "-?"), f"Usage: {name} ", status=2)

    def test_no_server(self):
        for name, arguments in (("hello", ["client", ADDRESS]), ("ping_pong", ["client", ADDRESS]), ("echo_client", [ADDRESS]),
                                ("counter", ["client", ADDRESS])):
            with self.subTest(name=name):
                client = self.sample(name, *arguments, free_port())
                self.says(client, f"{name}: cannot connect: Connection refused", f"{name}: start ", status=1)

    def test_no_such_host_or_port(self):
        self.says(self.sample("hello", "client", ADDRESS, "telnett"), f"hello: {ADDRESS} port telnett: ", status=1)
        self.says(self.sample("hello", "client", "no.host.invalid"), "hello: no.host.invalid port 7471: ", status=1)

    def test_a_port_in_use(self):
        _, port = self.server("echo_server")
        self.says(self.sample("hello", "server", port), "Address already in use", "hello: another program listens at this port", status=1)

    def test_another_server(self):
        _, port = self.server("echo_server")
        self.says(self.sample("counter", "client", ADDRESS, port), "the server is another program than counter", status=1)
        self.says(self.sample("key_value", "client", ADDRESS, "-p", port, "get", "x"), "the server is another program", status=1)

    def test_datagrams_need_another_transport(self):
        for arguments in (["server"], ["client", ADDRESS]):
            self.says(self.sample("datagram", *arguments), "datagram: this device has no datagrams: iWARP has connections only",
                      "datagram: use an InfiniBand or RoCE device; Linux rxe is one in software", status=1)

    @unittest.skipIf(any(pathlib.Path("/sys/class/infiniband").glob("*")), "this machine has an RDMA device")
    def test_no_device(self):
        for name, arguments in (("hello", ["client", ADDRESS]), ("echo_server", [])):
            done = subprocess.run([FOLDER / name, *arguments], env=software.ENVIRONMENT, capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'start the program with "rdmascope run --software -- {name} ..."', done.stderr)


class Mistakes(SampleCase):
    ENDED = "completion of request 1: success\nevent: RDMA_CM_EVENT_DISCONNECTED\ncompletion of request 2: Work Request Flushed Error\n"
    GOOD = "".join(f"completion of request {i}: success\n" for i in range(1, 5))
    # What the client prints on standard output, what the stack reports on standard error, and what the server prints.
    SEEN = {
        "wrong-key": (ENDED, "your RDMA WRITE used rkey 0x", "the receive: Work Request Flushed Error"),
        "out-of-bounds": ("completion of request 1: remote access error\n", "your RDMA READ went beyond the memory of rkey 0x",
                          "the receive: Work Request Flushed Error"),
        "wrong-access": (ENDED, "whose memory is registered without IBV_ACCESS_REMOTE_WRITE", "the receive: Work Request Flushed Error"),
        "too-long": (ENDED, "your SEND is longer than the receive that the peer had posted", "the receive: local length error"),
        "no-receive": (ENDED, "your SEND arrived and the peer had no receive posted", "no completion here"),
        "queue-full": ("post of request 5: Cannot allocate memory\n" + GOOD, "", "the receive: Work Request Flushed Error"),
        "cq-overrun": ("event: CQ error\ncompletion of request 1: success\n3 completions are lost\n", "",
                       "the receive: Work Request Flushed Error"),
        "peer-gone": (ENDED, "", "the server leaves"),
    }

    def test_each(self):
        server, port = self.server("mistakes", "server", options=["--receive-patience", "100"])
        for name, (client, stack, served) in self.SEEN.items():
            with self.subTest(name=name):
                program = self.sample("mistakes", "client", ADDRESS, "-p", port, name)
                self.says(program, client, stack)
                server.wait_for_text(f"{name}: {served}\n")
        self.assertEqual(server.wait(30), 0)


if __name__ == "__main__":
    software.main()
