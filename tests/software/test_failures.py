"""What goes wrong reaches a program as it would with an adapter: as an event or a completion, in bounded time; nothing crashes,
nothing hangs."""
import contextlib
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import software
from software import ADDRESS, TestCase, free_port, needs


class Peer:
    """A TCP server that is no iWARP peer: does `behave` to every connection."""

    def __init__(self, behave):
        self.socket = socket.create_server((ADDRESS, 0))
        self.port = self.socket.getsockname()[1]
        self.behave, self.open = behave, []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.open.append(connection)
                self.behave(connection)

    def close(self):
        for one in (self.socket, *self.open):
            one.close()


def reset(connection):
    connection.recv(20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def another_protocol(connection):
    connection.recv(20)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def silence(_):
    pass


@needs("rping")
class Connecting(TestCase):
    def client(self, port, address=ADDRESS, **options):
        started = time.monotonic()
        program = self.start("rping", "-c", "-a", address, "-p", port, "-C", 1, options=["--verbose", "on"], **options)
        said = self.fails(program, 30)
        return said, time.monotonic() - started

    def holds(self, said, pattern, event, error):
        cause = software.explained(said)[pattern]
        self.assertEqual((cause["event"], cause["error"]["number"]), (event, error))
        return cause

    def peer(self, behave):
        peer = Peer(behave)
        self.addCleanup(peer.close)
        return peer.port

    def test_nobody_listens(self):
        port = free_port()
        said, seconds = self.client(port)
        self.assertIn("RDMA_CM_EVENT_REJECTED, error -111", said)
        self.assertIn(f"Connection refused by {ADDRESS}:{port}", said)
        self.assertIn("no program listens on the port", self.holds(said, "cm_rejected", "REJECTED", 111)["meaning"])
        self.assertLess(seconds, 10)

    def test_a_peer_that_resets(self):
        said, _ = self.client(self.peer(reset))
        self.assertIn("RDMA_CM_EVENT_REJECTED, error -104", said)
        self.holds(said, "cm_rejected", "REJECTED", 104)

    def test_a_peer_of_another_protocol(self):
        said, _ = self.client(self.peer(another_protocol))
        self.assertIn("RDMA_CM_EVENT_CONNECT_ERROR, error -71", said)
        self.assertIn("no MPA Reply", said)
        self.assertIn("another protocol", self.holds(said, "cm_event", "CONNECT_ERROR", 71)["meaning"])

    def test_a_peer_that_says_nothing(self):
        said, seconds = self.client(self.peer(silence))
        self.assertIn("RDMA_CM_EVENT_UNREACHABLE, error -110", said)
        self.holds(said, "cm_unreachable", "UNREACHABLE", 110)
        self.assertGreaterEqual(seconds, 4.5)  # the Reply's time is 5 s
        self.assertLess(seconds, 20)

    def test_an_address_that_the_device_has_not(self):
        program = self.start("rping", "-c", "-a", ADDRESS, "-p", free_port(), "-C", 1, options=["--address", "::1"])
        said = self.fails(program, 30)
        self.assertIn("RDMA_CM_EVENT_ADDR_ERROR, error -19", said)
        self.holds(said, "cm_event", "ADDR_ERROR", 19)
        program = self.start("rping", "-s", "-a", ADDRESS, "-p", free_port(), options=["--address", "::1"])
        self.assertIn("No such device", self.fails(program, 30))

    def test_a_port_in_use(self):
        port = free_port()
        first = self.start("rping", "-s", "-a", ADDRESS, "-p", port).wait_for_port(port)
        self.assertIn("Address already in use", self.fails(self.start("rping", "-s", "-a", ADDRESS, "-p", port), 30))
        self.assertIsNone(first.process.poll())

    def test_settings_that_make_no_sense(self):
        said = self.fails(self.start("rping", "-s", environment={"RDMASCOPE_SOFTWARE_CRC": "perhaps"}), 30)
        self.assertIn('RDMASCOPE_SOFTWARE_CRC is "perhaps"; it is on or off', said)


def in_a_network(*commands):
    """A shell in a network namespace of its own, with nothing but what the commands make."""
    return ["unshare", "--net", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-e", "-c",
            "; ".join(["ip link set lo up", *commands, 'exec "$@"']), "sh"]


def has_networks():
    return shutil.which("unshare") and shutil.which("ip") and subprocess.run(in_a_network() + ["true"], capture_output=True).returncode == 0


@needs("rping")
class Unreachable(TestCase):
    def setUp(self):
        if not has_networks():
            self.skipTest("network namespaces are not permitted here")

    def client(self, *commands):
        program = self.start("rping", "-c", "-a", "192.0.2.2", "-p", 7174, "-C", 1, options=["--verbose", "on"],
                             prefix=in_a_network(*commands))
        return self.fails(program, 60)

    def test_no_route(self):
        self.assertIn("RDMA_CM_EVENT_ADDR_ERROR, error -101", self.client())

    def test_no_neighbour(self):
        said = self.client("ip link add near type veth peer name far", "ip addr add 192.0.2.1/24 dev near", "ip link set near up",
                           "ip link set far up")
        self.assertIn("RDMA_CM_EVENT_UNREACHABLE, error -113", said)

    def test_a_peer_that_swallows_everything(self):
        said = self.client("ip link add near type veth peer name far", "ip addr add 192.0.2.1/24 dev near", "ip link set near up",
                           "ip link set far up", "ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev near")
        self.assertIn("RDMA_CM_EVENT_UNREACHABLE, error -110", said)


class Killed(TestCase):
    """The other side is killed in the middle."""

    def pair(self, program, *arguments):
        port = free_port()
        shared = [program, "-R", "-F", "-p", port, *arguments]
        server = self.start(*shared).wait_for_port(port)
        return server, self.start(*shared, ADDRESS)

    @staticmethod
    def traffic_flows(program, seconds=90):
        """Waits until the program has a connection and has been busy for a while, on a machine that may be busy itself."""
        end = time.monotonic() + seconds
        busy = 0
        while time.monotonic() < end:
            with open(f"/proc/{program.process.pid}/stat", encoding="ascii") as stat:
                words = stat.read().rpartition(")")[2].split()
            busy = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
            if busy > 0.5:
                return
            time.sleep(0.05)
        raise AssertionError(f"{program} had a processor for {busy} of {seconds} s:\n{program.text()}")

    def reports_the_end(self, said):
        """perftest's line names the status of a lost connection, or of a request that came after its end; `explain` knows the line."""
        self.assertIn("Completion with error at ", said)
        (status,) = re.findall(r"Failed status (\d+): wr_id", said)
        self.assertIn(int(status), (5, 12), said)
        self.assertEqual(software.explained(said)["perftest_completion"]["status"]["number"], int(status))

    @needs("ib_write_bw", "ib_read_bw", "ib_send_bw")
    def test_the_server(self):
        for program in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
            with self.subTest(program=program):
                server, client = self.pair(program, "-D", 30)
                self.traffic_flows(client)
                server.kill()
                self.reports_the_end(self.fails(client, 20))

    @needs("ib_send_bw")
    def test_the_client(self):
        server, client = self.pair("ib_send_bw", "-D", 30)
        self.traffic_flows(server)
        client.kill()
        self.reports_the_end(self.fails(server, 20))

    @needs("rping")
    def test_a_persistent_server_goes_on(self):
        port = free_port()
        server = self.start("rping", "-s", "-P", "-a", ADDRESS, "-p", port, "-V").wait_for_port(port)
        for _ in range(3):
            client = self.start("rping", "-c", "-a", ADDRESS, "-p", port, "-V")
            self.traffic_flows(client)
            client.send_signal(signal.SIGKILL)
            client.wait()
        self.succeeds(self.start("rping", "-c", "-a", ADDRESS, "-p", port, "-V", "-C", 10))
        self.assertIsNone(server.process.poll(), server.text())

    @needs("rping")
    def test_strangers_at_a_server(self):
        """Who connects and does not speak MPA does not disturb it."""
        port = free_port()
        server = self.start("rping", "-s", "-P", "-a", ADDRESS, "-p", port, "-V").wait_for_port(port)
        for octets in (b"", b"GET / HTTP/1.0\r\n\r\n", b"MPA ID Req Frame", b"MPA ID Req Frame\x40\x02\xff\xff" + bytes(100)):
            with socket.create_connection((ADDRESS, port)) as stranger:
                stranger.sendall(octets)
                self.succeeds(self.start("rping", "-c", "-a", ADDRESS, "-p", port, "-V", "-C", 5))
        self.assertIsNone(server.process.poll(), server.text())


class Impossible(TestCase):
    """What cannot work says so."""

    @needs("ibv_rc_pingpong")
    def test_connecting_without_the_connection_manager(self):
        port = free_port()
        server = self.start("ibv_rc_pingpong", "-p", port, "-g", 0)
        end = time.monotonic() + 20
        while not software.listens(port) and time.monotonic() < end:
            time.sleep(0.02)
        client = self.start("ibv_rc_pingpong", "-p", port, "-g", 0, ADDRESS)
        self.fails(client, 30)  # whichever was to be connected first says why
        self.assertIn("connected by the connection manager", self.fails(server, 30) + client.text())

    @needs("rstream")
    def test_rsockets(self):
        said = self.start("rstream", "-b", ADDRESS, "-p", free_port())
        said.wait(30)
        self.assertIn("rsockets run inside the real librdmacm", said.text())

    @needs("ib_send_bw")
    def test_datagrams(self):
        port = free_port()
        server = self.start("ib_send_bw", "-R", "-c", "UD", "-p", port).wait_for_port(port)
        self.assertIn("iWARP has connections alone", self.fails(self.start("ib_send_bw", "-R", "-c", "UD", "-p", port, ADDRESS), 30))
        self.fails(server, 30)


class Children(TestCase):
    """The device stays with the process that opened it."""

    @needs("python3")
    def test_a_program_that_starts_others(self):
        """What a program starts runs on the software stack too: here a shell that starts rping twice."""
        if not shutil.which("rping"):
            self.skipTest("rping not installed")
        port = free_port()
        said = self.succeeds(self.start("sh", "-c", f"rping -s -a {ADDRESS} -p {port} -C 3 & sleep 1; rping -c -a {ADDRESS} -p {port} "
                                        "-C 3 -v && wait"))
        self.assertEqual(said.count("ping data: "), 3)


if __name__ == "__main__":
    software.main()
