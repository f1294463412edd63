"""Every octet of Sends, Writes, Reads and atomics, 1 B to 16 MiB, as a plain program of the verbs sees its memory."""
import os

import software
from software import ADDRESS, TestCase, free_port

PROGRAM = os.environ["RDMASCOPE_VERIFIED_TRANSFERS"]
SMALL = [1, 2, 3, 7, 8, 63, 64, 65, 255, 1442, 1443, 4096]
LARGE = [65535, 65536, 65537, 1 << 20, (1 << 20) + 13]


class Transfers(TestCase):
    def check(self, rounds, sizes, options=()):
        port = free_port()
        server = self.start(PROGRAM, "serve", ADDRESS, port, options=options).wait_for_port(port)
        for said in self.both(server, self.start(PROGRAM, "check", ADDRESS, port, rounds, *sizes, options=options), 120):
            self.assertIn("all as it should be", said)

    def test_small_ones(self):
        self.check(100, SMALL)

    def test_large_ones(self):
        self.check(20, LARGE)

    def test_16_mib(self):
        self.check(3, [(16 << 20) - 1, 16 << 20])

    def test_settings_of_the_connection(self):
        for options in (["--crc", "off"], ["--markers", "on"], ["--strict", "on"], ["--mpa-revision", "1"], ["--max-ulpdu", "64768"]):
            with self.subTest(options=options):
                self.check(10, [1, 1443, 65537, 1 << 20], options)


if __name__ == "__main__":
    software.main()
