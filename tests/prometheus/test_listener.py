"""The HTTP listener: pages, errors, addresses, and clients that mean it ill."""
import gzip
import os
import pathlib
import resource
import select
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from tools import PCAPS, TOTALS, totals

CAPTURE = PCAPS / "rxe-verbs-rnr.pcap"


class Server:
    """The listener, serving a capture's totals."""

    def __init__(self, address="127.0.0.1:0", files=None):
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        self.process = subprocess.Popen([TOTALS, "serve", CAPTURE, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        line = self.process.stdout.readline()
        self.port = int(line.split()[1]) if line else None

    def __enter__(self):
        if self.port is None:
            raise RuntimeError(self.process.communicate()[1])
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.status = self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def raw(self, octets):
        """What comes back until the listener closes."""
        with self.connect() as connection:
            connection.sendall(octets)
            return everything(connection)

    def page(self, path, method="GET", **headers):
        """Status, headers, body."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, headers=headers,
                                         data=b"x=1" if method in ("POST", "PUT") else None)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()


def everything(connection):
    answer = b""
    try:
        while piece := connection.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


class Pages(unittest.TestCase):
    def setUp(self):
        self.server = Server().__enter__()
        self.addCleanup(self.server.__exit__)

    def test_metrics(self):
        status, headers, body = self.server.page("/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual(headers["Content-Length"], str(len(body)))
        self.assertEqual(body.decode(), totals("text", CAPTURE, 0))
        self.assertEqual(self.server.page("/metrics?collect=all")[2], body)

    def test_metrics_packed(self):
        plain = self.server.page("/metrics")[2]
        for accepted in ("gzip", "deflate, gzip;q=0.5", "GZIP"):
            _, headers, body = self.server.page("/metrics", **{"Accept-Encoding": accepted})
            self.assertEqual(headers["Content-Encoding"], "gzip", accepted)
            self.assertEqual(gzip.decompress(body), plain)
            self.assertLess(len(body), len(plain) / 3)
        for refused in ("gzip;q=0", "gzip; q=0.0", "identity", "xgzip"):
            _, headers, body = self.server.page("/metrics", **{"Accept-Encoding": refused})
            self.assertIsNone(headers["Content-Encoding"], refused)
            self.assertEqual(body, plain)

    def test_health_and_front_page(self):
        self.assertEqual(self.server.page("/healthz")[::2], (200, b"capturing\n"))
        status, headers, body = self.server.page("/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn(b'href="/metrics"', body)
        self.assertIn(b"&lt;eth1&gt;", body)
        self.assertNotIn(b"<eth1>", body)

    def test_head_has_the_headers_alone(self):
        _, headers, body = self.server.page("/metrics", "HEAD")
        self.assertEqual(body, b"")
        self.assertEqual(headers["Content-Length"], str(len(self.server.page("/metrics")[2])))

    def test_other_pages_and_methods(self):
        for path in ("/metric", "/metrics/", "/../etc/passwd", "//", "/%2e%2e/", "/favicon.ico"):
            self.assertEqual(self.server.page(path)[0], 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            status, headers, _ = self.server.page("/metrics", method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)

    def test_an_absolute_target_is_that_page(self):
        self.assertIn(b"capturing", self.server.raw(b"GET http://h:9/healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))


class Garbage(unittest.TestCase):
    def test_what_is_no_request_is_refused_and_the_next_is_served(self):
        with Server() as server:
            for octets in (b"GET /metrics\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n", b"get / HTTP/1.1\r\nConnection: close\r\n\r\n",
                           b"GET / HTTP/2.0\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n"):
                self.assertRegex(server.raw(octets), rb"^HTTP/1\.1 (400|505) ", octets)
            # The library closes without an answer where no line of a request comes: TLS, a line of one word.
            for octets in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n"):
                self.assertRegex(server.raw(octets), rb"^(HTTP/1\.1 400 |$)", octets)
            self.assertRegex(server.raw(b"GET /" + b"a" * 100_000), rb"^(HTTP/1\.1 4(14|31) |$)")
            self.assertRegex(server.raw(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000), rb"^(HTTP/1\.1 4(14|31) |$)")
            for octets in (b"", b"\r\n" * 10, b"G"):
                with server.connect() as connection:
                    connection.sendall(octets)
            self.assertEqual(server.page("/healthz")[0], 200)
        self.assertEqual(server.status, 0)

    def test_slow_clients_hold_up_nobody(self):
        """Hundreds that never end their request: a scrape is answered all the same, by as many threads as before."""
        with Server() as server:
            before = server.threads()
            slow = [server.connect() for _ in range(300)]
            for connection in slow:
                connection.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
            self.assertEqual(server.page("/healthz")[0], 200)
            self.assertIn(b"rdma_packets_total", server.page("/metrics")[2])
            self.assertEqual(server.threads(), before)
            # All are cut off in the end, though each sends another octet now and then.
            until, open_ones = time.monotonic() + 60, slow
            while open_ones and time.monotonic() < until:
                for connection in open_ones:
                    try:
                        connection.send(b"x")
                    except OSError:
                        pass
                readable = set(select.select(open_ones, [], [], 0.2)[0])
                open_ones = [connection for connection in open_ones if connection not in readable]
            self.assertEqual(len(open_ones), 0)
            for connection in slow:
                connection.close()

    def test_who_does_not_take_the_answer_holds_up_nobody(self):
        with Server() as server:
            idle = [server.connect() for _ in range(100)]
            for connection in idle:
                connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            self.assertEqual(server.page("/healthz")[0], 200)
            for connection in idle:
                connection.close()
            self.assertEqual(server.page("/healthz")[0], 200)

    def test_a_shortage_of_file_handles_passes(self):
        with Server(files=24) as server:
            many = [server.connect() for _ in range(60)]
            for connection in many:
                connection.close()
            self.assertEqual(server.page("/healthz")[0], 200)

    def test_many_scrapes_at_once(self):
        with Server() as server:
            found = []
            threads = [threading.Thread(target=lambda: found.append(server.page("/metrics")[2])) for _ in range(40)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual((len(found), len(set(found))), (40, 1))


class Addresses(unittest.TestCase):
    def failure(self, address):
        with subprocess.Popen([TOTALS, "serve", CAPTURE, address], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            message = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1, address)
        self.assertTrue(message.startswith(f"cannot listen on '{address}': "), message)
        return message

    def reaches(self, host, port):
        try:
            socket.create_connection((host, port), timeout=10).close()
            return True
        except OSError:
            return False

    def test_exactly_the_given_address_is_bound(self):
        with Server("127.0.0.1:0") as server:
            self.assertTrue(self.reaches("127.0.0.1", server.port))
            self.assertFalse(self.reaches("127.0.0.2", server.port))
        with Server(":0") as server:
            self.assertTrue(self.reaches("127.0.0.1", server.port))
            self.assertTrue(self.reaches("127.0.0.2", server.port))

    def test_ipv6(self):
        if not self.has_ipv6():
            self.skipTest("this machine has no IPv6 loopback")
        with Server("[::1]:0") as server:
            self.assertTrue(self.reaches("::1", server.port))
            self.assertFalse(self.reaches("127.0.0.1", server.port))
        with Server(":0") as server:
            self.assertTrue(self.reaches("::1", server.port))
            self.assertTrue(self.reaches("127.0.0.1", server.port))

    def has_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as handle:
                handle.bind(("::1", 0))
            return True
        except OSError:
            return False

    def test_errors_say_what_to_do(self):
        with Server() as server:
            message = self.failure(f"127.0.0.1:{server.port}")
            self.assertIn("another program listens there: ", message)
            self.assertIn(f"(process {server.process.pid})", message)
        self.assertIn("ip address shows", self.failure("203.0.113.1:14791"))
        for address in ("127.0.0.1", "localhost:1", ":65536", ":", ":x", "::1:14791", "[::1:14791", "[]:1", "1.2.3:4"):
            self.assertRegex(self.failure(address), r"an address is like 127\.0\.0\.1:14791", address)

    def test_a_port_that_needs_a_privilege(self):
        floor = int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
        if os.getuid() == 0 or floor <= 1:
            self.skipTest("every port may be bound here")
        self.assertIn("CAP_NET_BIND_SERVICE", self.failure("127.0.0.1:1"))


if __name__ == "__main__":
    unittest.main()
