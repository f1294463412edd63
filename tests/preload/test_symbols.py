"""Every function of libibverbs and librdmacm that an installed program asks for is ours, and nothing else is visible.

What programs ask for, and what the libraries define, is read with nm from what is installed.
"""
import os
import re
import shutil
import subprocess
import unittest

FACE = os.environ["RDMASCOPE_VERBS"]

PROGRAMS = """ibv_devices ibv_devinfo ibv_asyncwatch ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong ibv_ud_pingpong
ibv_xsrq_pingpong rping ucmatose udaddy udpong mckey cmtime rdma_client rdma_server rdma_xclient rdma_xserver rcopy
riostream rstream ib_atomic_bw ib_atomic_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_write_bw ib_write_lat
raw_ethernet_bw raw_ethernet_lat qperf""".split()

# Functions that only convert a number or a word: the real library's do, and say the same as without us.
PURE = {
    "ibv_event_type_str", "ibv_node_type_str", "ibv_port_state_str", "ibv_wc_status_str", "ibv_rate_to_mbps",
    "ibv_rate_to_mult", "ibv_copy_ah_attr_from_kern", "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern",
    "ibv_copy_qp_attr_from_kern", "ibv_get_sysfs_path", "ibv_dofork_range", "ibv_dontfork_range",
}
# For providers, who are never asked while the face is there.
PROVIDERS = {"ibv_register_driver"}


def symbols(path, *options):
    """Names without their version."""
    listing = subprocess.run(["nm", "-D", *options, path], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def library(name):
    for line in subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.strip().startswith(name + " "):
            return line.split("=> ")[1]
    return None


class Symbols(unittest.TestCase):
    ours = symbols(FACE, "--defined-only")

    def test_programs_find_everything(self):
        asked = set()
        for program in PROGRAMS:
            path = shutil.which(program)
            if path is None:
                continue
            wanted = {name for name in symbols(path, "--undefined-only") if re.match(r"_?(ibv|rdma)_|r(poll|socket)$", name)}
            with self.subTest(program=program):
                self.assertEqual(wanted - self.ours - PURE, set())
            asked |= wanted
        if not asked:
            self.skipTest("none of the programs is installed (Debian: ibverbs-utils rdmacm-utils perftest qperf)")

    def test_libraries_are_covered(self):
        """Also what none of those programs uses."""
        for name, prefix in (("libibverbs.so.1", r"_?ibv_"), ("librdmacm.so.1", r"rdma_|r[a-z]+$")):
            path = library(name)
            if path is None:
                self.skipTest(f"{name} is not installed")
            listing = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
            public = {line.split()[-1].split("@")[0] for line in listing.splitlines() if "PRIVATE" not in line}
            theirs = {symbol for symbol in public if re.match(prefix, symbol)}
            self.assertGreater(len(theirs), 30)
            with self.subTest(library=name):
                self.assertEqual(theirs - self.ours - PURE - PROVIDERS, set())

    def test_nothing_else_is_visible(self):
        self.assertEqual({name for name in self.ours if not re.match(r"_?ibv_|rdma_|r[a-z]+$", name)}, set())


if __name__ == "__main__":
    unittest.main()
