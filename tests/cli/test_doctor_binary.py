"""`rdmascope doctor --binary`: programs on a staged machine, and whether they start there."""
import json
import os
import unittest

import machines
from machines import CORE, LIBRARIES
from staged import Staged, doctor

VERBS = "int ibv_get_device_list(void); int main(void) { return ibv_get_device_list(); }"
NEW = "int ibv_new_call(void); int main(void) { return ibv_new_call(); }"
OLD = "int ibv_exp_query_device(void); int main(void) { return ibv_exp_query_device(); }"
LATER = """
#include <dlfcn.h>
#include <stddef.h>
int main(void) { void *h = dlopen("libibverbs.so.1", RTLD_NOW); return h && dlsym(h, "ibv_get_device_list") && dlsym(h, "ibv_is_fork_initialized"); }
"""


class Programs(Staged):
    def setUp(self):
        super().setUp()
        # The C library of the machine that the test runs on.
        for name in ("libc.so.6", "libdl.so.2"):
            source = f"{LIBRARIES}/{name}"
            if os.path.exists(source):
                self.machine.copy(source, source)
        interpreter = {"x86_64": "/lib64/ld-linux-x86-64.so.2"}.get(os.uname().machine, "/lib/ld-linux-aarch64.so.1")
        self.machine.copy(interpreter, interpreter)
        self.machine.copy(interpreter, f"{LIBRARIES}/{os.path.basename(interpreter)}")

    def examine(self, file):
        self.machine.copy(file, "/opt/app/program")
        return self.answer("--binary", "/opt/app/program")

    def wrong(self, answer):
        return [finding for finding in answer["findings"] if finding["severity"] in ("warning", "broken")]

    def test_one_that_fits(self):
        answer = self.examine(machines.program(VERBS, machines.core_library()))
        self.assertEqual(self.wrong(answer), [])
        self.assertTrue(answer["binary"]["starts"])
        self.assertIn("1 device", answer["binary"]["verdict"])
        self.assertIn({"name": "libibverbs.so.1", "path": CORE}, answer["binary"]["libraries"])

    def test_one_for_a_later_libibverbs(self):
        file = machines.program(NEW, machines.core_library())
        self.machine.copy(machines.core_library(newest=""), CORE)
        answer = self.examine(file)
        finding, = self.wrong(answer)
        self.assertEqual((finding["check"], finding["severity"], finding["subject"]), ("binary.version", "broken", "IBVERBS_1.14"))
        self.assertIn("ibv_new_call", finding["observed"])
        # debian/libibverbs1.symbols: IBVERBS_1.14@IBVERBS_1.14 36
        self.assertIn("rdma-core 36", finding["expected"])
        self.assertFalse(answer["binary"]["starts"])

    def test_one_whose_library_is_missing(self):
        file = machines.program(VERBS, machines.core_library())
        self.machine.remove(f"{LIBRARIES}/libibverbs.so.1")
        self.machine.remove(CORE)
        finding, = self.wrong(self.examine(file))
        self.assertEqual((finding["check"], finding["subject"], finding["command"]),
                         ("binary.library", "libibverbs.so.1", "apt install libibverbs1"))

    def test_one_for_experimental_verbs(self):
        old = machines.compiled("libibverbs.so.1", "int ibv_exp_query_device(void) { return 1; }",
                                "IBVERBS_1.1 { global: ibv_exp_query_device; };", soname="libibverbs.so.1")
        finding, = self.wrong(self.examine(machines.program(OLD, old)))
        self.assertEqual((finding["check"], finding["subject"]), ("binary.symbol", "ibv_exp_query_device@IBVERBS_1.1"))
        self.assertIn("MLNX_OFED", finding["expected"])

    def test_one_with_a_libibverbs_of_its_own(self):
        self.machine.copy(machines.core_library(suffix=25, newest=""), "/opt/app/lib/libibverbs.so.1")
        file = machines.compiled("program", VERBS, libraries=(machines.core_library(), "-Wl,-rpath,$ORIGIN/lib"), options=("-no-pie",))
        found = {finding["check"]: finding for finding in self.wrong(self.examine(file))}
        self.assertIn("/opt/app/lib/libibverbs.so.1", json.dumps(found["binary.provider"]))

    def test_one_that_asks_while_it_runs(self):
        answer = self.examine(machines.program(LATER))
        self.assertTrue(answer["binary"]["starts"])
        self.assertIn({"name": "libibverbs.so.1 (when it asks)", "path": CORE}, answer["binary"]["libraries"])
        note, = [finding for finding in answer["findings"] if finding["check"] == "binary.dlopen"]
        self.assertEqual((note["severity"], note["subject"]), ("note", "ibv_is_fork_initialized"))

    def test_one_that_uses_no_rdma(self):
        answer = self.examine(machines.program("int main(void) { return 0; }"))
        self.assertIn("does not use RDMA", answer["binary"]["verdict"])

    def test_what_is_no_program(self):
        thirty_two = b"\x7fELF\x01\x01\x01" + bytes(60)
        other_order = b"\x7fELF\x02\x02\x01" + bytes(60)
        for octets, word in ((b"#!/bin/sh\necho\n", "/bin/sh"), (b"", "empty"), (b"hello", "no ELF"), (thirty_two, "32-bit"),
                             (other_order, "byte order"), (b"\x7fELF\x02\x01", "cut off")):
            with self.subTest(word):
                self.machine.write("/opt/app/odd", octets)
                self.assertIn(word, self.fails(doctor("--root", self.machine.root, "--binary", "/opt/app/odd")))
        self.assertIn("no such file", self.fails(doctor("--root", self.machine.root, "--binary", "/nowhere")))
        self.assertIn("not a readable file", self.fails(doctor("--root", self.machine.root, "--binary", "/opt/app")))


if __name__ == "__main__":
    unittest.main()
