"""Debian's own programs of libibverbs and librdmacm, unmodified, on the software stack: rdma-core's."""
import re
import socket
import unittest

import software
from software import ADDRESS, TestCase, free_port, needs


class Device(TestCase):
    @needs("ibv_devices")
    def test_there_is_one_device(self):
        lines = self.succeeds(self.start("ibv_devices"), 20).splitlines()
        self.assertEqual([line.split()[0] for line in lines[2:]], ["rdmascope0"], lines)

    @needs("ibv_devinfo")
    def test_it_is_an_iwarp_adapter_with_an_active_port(self):
        text = self.succeeds(self.start("ibv_devinfo", "-v"), 20)
        for wanted in (r"hca_id:\s+rdmascope0", r"transport:\s+iWARP", r"phys_port_cnt:\s+1\b", r"state:\s+PORT_ACTIVE",
                       r"link_layer:\s+Ethernet", r"GID\[\s*\d+\]:"):
            self.assertRegex(text, wanted)

    @needs("ibv_devinfo")
    def test_it_has_the_addresses_that_it_is_given(self):
        text = self.succeeds(self.start("ibv_devinfo", "-v", options=["--address", ADDRESS]), 20)
        self.assertEqual(re.findall(r"GID\[\s*\d+\]:\s+([0-9a-f:]+)", text), ["0000:0000:0000:0000:0000:ffff:7f00:0001"])


@needs("rping")
class Rping(TestCase):
    """Its Reads and Writes bring back what was sent: with -V it compares every octet."""

    def rounds(self, size, count, server_options=(), client_options=(), options=()):
        port = free_port()
        server = self.start("rping", "-s", "-a", ADDRESS, "-p", port, "-C", count, "-S", size, "-V", *server_options,
                            options=options).wait_for_port(port)
        client = self.start("rping", "-c", "-a", ADDRESS, "-p", port, "-C", count, "-S", size, "-V", "-v", *client_options,
                            options=options)
        said, _ = self.both(server, client)
        self.assertEqual(len(re.findall(r"^ping data: ", said, re.MULTILINE)), count)

    def test_sizes(self):
        for size in (50, 1024, 16384, 65000):  # rping's limit is 64 KiB - 1
            with self.subTest(size=size):
                self.rounds(size, 100)

    def test_settings_of_the_connection(self):
        for options in (["--crc", "off"], ["--markers", "on"], ["--mpa-revision", "1"], ["--peer-to-peer", "on"], ["--strict", "on"],
                        ["--max-ulpdu", "512"], ["--address", ADDRESS]):
            with self.subTest(options=options):
                self.rounds(1000, 20, options=options)

    def test_a_queue_pair_of_the_programs_own(self):
        self.rounds(100, 20, ["-q"], ["-q"])

    @needs("stdbuf")
    def test_a_persistent_server_and_many_clients(self):
        port, count = free_port(), 3000
        server = self.start("rping", "-s", "-P", "-a", ADDRESS, "-p", port, "-S", 1000, "-V").wait_for_port(port)
        clients = []
        for _ in range(12):
            # rping's server mistakes requests that come together: each waits until the one before is served, and all go on.
            clients.append(self.start("rping", "-c", "-a", ADDRESS, "-p", port, "-C", count, "-S", 1000, "-V", "-v",
                                      prefix=["stdbuf", "-oL"]).wait_for_text("ping data: "))
        self.assertGreater(sum(client.process.poll() is None for client in clients), 1, "they did not go on together")
        for client in clients:
            self.assertEqual(self.succeeds(client).count("ping data: "), count)
        self.assertIsNone(server.process.poll(), server.text())

    @unittest.skipUnless(socket.has_ipv6 and software.pathlib.Path("/proc/net/if_inet6").exists(), "no IPv6 here")
    def test_ipv6(self):
        port = free_port()
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError as error:
            self.skipTest(f"::1 is not there: {error}")
        server = self.start("rping", "-s", "-a", "::1", "-p", port, "-C", 10, "-V").wait_for_port(port)
        self.both(server, self.start("rping", "-c", "-a", "::1", "-p", port, "-C", 10, "-V"))


@needs("ucmatose")
class Ucmatose(TestCase):
    def test_connections_and_messages(self):
        for connections, count, size in ((1, 10, 100), (8, 100, 1), (4, 20, 100000), (100, 5, 1000)):
            with self.subTest(connections=connections, count=count, size=size):
                port = free_port()
                shared = ["-p", port, "-c", connections, "-C", count, "-S", size]
                server = self.start("ucmatose", "-b", ADDRESS, *shared).wait_for_port(port)
                for said in self.both(server, self.start("ucmatose", "-s", ADDRESS, *shared)):
                    self.assertIn("test complete", said)
                    self.assertIn("return status 0", said)

    def test_identifiers_move_between_channels(self):
        port = free_port()
        server = self.start("ucmatose", "-m", "-b", ADDRESS, "-p", port).wait_for_port(port)
        for said in self.both(server, self.start("ucmatose", "-m", "-s", ADDRESS, "-p", port)):
            self.assertIn("return status 0", said)


@needs("rdma_client", "rdma_server")
class Synchronous(TestCase):
    """Identifiers without a channel, made by rdma_create_ep."""

    def test_a_message_each_way(self):
        port = free_port()
        server = self.start("rdma_server", "-p", port).wait_for_port(port)
        client, served = self.both(server, self.start("rdma_client", "-s", ADDRESS, "-p", port))
        self.assertIn("end 0", client)
        self.assertIn("end 0", served)


@needs("qperf")
class Qperf(TestCase):
    def test_bandwidth_and_latency(self):
        port = free_port()
        # Its server forks a child for each client, which opens the device itself. rc_bw and rc_rdma_write_bw send without regard to
        # receives: their messages wait for them (--receive-patience).
        server = self.start("qperf", "--listen_port", port).wait_for_port(port)
        for test in ("rc_lat", "rc_bw", "rc_bi_bw", "rc_rdma_write_bw", "rc_rdma_read_bw", "rc_rdma_write_lat", "rc_rdma_read_lat",
                     "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr"):
            with self.subTest(test=test):
                said = self.succeeds(self.start("qperf", "--listen_port", port, ADDRESS, "--use_cm", 1, "-t", 1, test), 40)
                self.assertRegex(said, rf"{test}:\n\s+(bw|send_bw|latency|msg_rate)\s+=\s+[1-9]")
        self.succeeds(self.start("qperf", "--listen_port", port, ADDRESS, "quit"))
        server.wait(20)


if __name__ == "__main__":
    software.main()
