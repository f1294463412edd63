"""`rdmascope doctor`: staged machines, each with one thing wrong, whose finding and no other it must have."""
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile
import unittest

import machines
from command import BINARY, ROOT, TestCase, needs, run, run_unprivileged
from machines import CORE, KERNEL, LIBRARIES, PROVIDERS, Machine

ORDER = ("ok", "unseen", "note", "warning", "broken")


def doctor(*arguments, **options):
    return run("doctor", *arguments, **options)


class Staged(TestCase):
    def setUp(self):
        super().setUp()
        if not machines.has_compiler():
            self.skipTest("there is no C compiler to make libraries with")
        self.machine = Machine(self.folder / "root")

    def answer(self, *arguments, machine=None):
        result = doctor("--root", (machine or self.machine).root, "--json", *arguments)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        answer = json.loads(result.stdout)
        broken = any(finding["severity"] == "broken" for finding in answer["findings"])
        self.assertEqual(result.returncode, 1 if broken else 0)
        return answer

    def findings(self, *arguments, machine=None):
        """What is wrong, by check."""
        found = {}
        for finding in self.answer(*arguments, machine=machine)["findings"]:
            if finding["severity"] not in ("ok", "unseen"):
                found.setdefault(finding["check"], []).append(finding)
        return found

    def only(self, check, severity, *words, **options):
        """The one thing that is wrong; its finding."""
        found = self.findings(**options)
        self.assertEqual(list(found), [check], json.dumps(found, indent=1))
        finding = found[check][0]
        self.assertEqual(finding["severity"], severity)
        self.assertEqual(finding["host"], machines.HOST)
        said = " ".join(str(finding[part]) for part in ("subject", "observed", "expected", "command"))
        for word in words:
            self.assertIn(word, said)
        return finding


class Healthy(Staged):
    def test_nothing_is_found(self):
        answer = self.answer()
        self.assertEqual(self.findings(), {})
        self.assertIn(answer["worst"], ("ok", "unseen"))
        self.assertEqual(answer["system"], "Debian GNU/Linux 12 (bookworm)")
        self.assertEqual(answer["kernel"], KERNEL)
        # What sysfs cannot tell is said, not left out.
        self.assertIn("network.pauses", [f["check"] for f in answer["findings"] if f["severity"] == "unseen"])

    def test_the_inventory_has_what_was_staged(self):
        inventory = json.loads(self.succeeds(doctor("--root", self.machine.root, "--export", "-")))
        libraries = {library["path"]: library for library in inventory["libraries"]}
        self.assertEqual(set(libraries), {CORE, f"{LIBRARIES}/librdmacm.so.1",
                                          *(f"{PROVIDERS}/lib{name}-rdmav34.so" for name in ("mlx5", "rxe", "siw"))})
        core = libraries[CORE]
        self.assertEqual((core["package"], core["private_abi"], core["provider_suffix"], core["provider_folder"], core["preferred"]),
                         ("libibverbs1 44.0-2", 34, 34, PROVIDERS, True))
        self.assertEqual(core["names"], ["libibverbs.so.1", "libibverbs.so.1.14.44.0"])
        self.assertEqual(libraries[f"{PROVIDERS}/libmlx5-rdmav34.so"]["kernel_abi"], [1, 1])
        self.assertEqual(inventory["devices"][0]["netdevs"], ["ens1f0"])
        self.assertEqual([gid["index"] for gid in inventory["devices"][0]["ports"][0]["gids"]], [0, 1, 2])
        self.assertEqual(inventory["limits"]["memlock"], "unlimited")
        self.assertEqual(inventory["kernel"]["verbs_abi"], 6)

    @needs("readelf")
    def test_libraries_are_read_as_readelf_reads_them(self):
        inventory = json.loads(self.succeeds(doctor("--root", self.machine.root, "--export", "-")))
        for library in inventory["libraries"]:
            file = self.machine.at(library["path"])
            notes = subprocess.run(["readelf", "-nVW", file], capture_output=True, text=True, check=True).stdout
            self.assertEqual(library["build_id"], re.search(r"Build ID: (\w+)", notes)[1])
            defined = re.findall(r"Flags: none +Index: \d+ +Cnt: \d+ +Name: (\S+)", notes)
            self.assertEqual(library["defined"], defined)


class Libraries(Staged):
    def test_none(self):
        for path in (CORE, f"{LIBRARIES}/libibverbs.so.1", f"{LIBRARIES}/librdmacm.so.1"):
            self.machine.remove(path)
        found = self.findings()
        self.assertEqual(set(found), {"library.core", "device.provider"})
        self.assertIn("apt install", found["library.core"][0]["command"])

    def test_a_second_one_of_another_release(self):
        self.machine.copy(machines.core_library(suffix=25, newest=""), "/opt/vendor/lib/libibverbs.so.1")
        finding = self.only("library.several", "warning", "/opt/vendor/lib/libibverbs.so.1", f"the loader takes {CORE}")
        self.assertIn("rm /opt/vendor/lib/libibverbs.so.1", finding["command"])

    def test_a_copy_of_the_same_does_no_harm(self):
        self.machine.copy(machines.core_library(), "/opt/vendor/lib/libibverbs.so.1")
        self.assertEqual(self.findings(), {})

    def test_the_environment_prefers_another(self):
        self.machine.copy(machines.core_library(suffix=25, newest=""), "/opt/old/deep/libibverbs.so.1")
        self.machine.write("/proc/4242/environ", b"PATH=/bin\0LD_LIBRARY_PATH=/opt/old/deep\0")
        found = self.findings()
        self.assertIn("the loader takes /opt/old/deep/libibverbs.so.1", found["library.several"][0]["observed"])
        # All that hangs on it no longer fits.
        self.assertIn("IBVERBS_1.14", found["library.versions"][0]["observed"])
        self.assertEqual(found["library.versions"][0]["severity"], "broken")

    def test_one_that_is_damaged(self):
        self.machine.write("/opt/vendor/lib/librdmacm.so.1", b"\x7fELF\x02\x01\x01" + bytes(20))
        self.only("library.files", "note", "/opt/vendor/lib/librdmacm.so.1", "damaged")

    def test_versions_that_librdmacm_needs(self):
        self.machine.copy(machines.core_library(newest=""), CORE)
        self.only("library.versions", "broken", "librdmacm.so.1", "IBVERBS_1.14", CORE)

    def test_releases_that_differ(self):
        self.machine.package("librdmacm1", "33.2-1", f"{LIBRARIES}/librdmacm.so.1")
        self.only("library.versions", "warning", "librdmacm1 33.2-1", "libibverbs1 44.0-2")

    def test_headers_of_another_release(self):
        header = "/usr/include/infiniband/verbs.h"
        self.machine.write(header)
        self.machine.package("libibverbs-dev", "28.0-1", header)
        self.only("library.headers", "warning", "libibverbs-dev 28.0-1", "libibverbs1 44.0-2")

    def test_a_process_whose_library_was_replaced(self):
        self.machine.process(77, "storaged", f"{CORE} (deleted)")
        self.only("library.processes", "warning", "storaged", "77", CORE, "restart")

    def test_a_process_with_two(self):
        self.machine.copy(machines.core_library(), "/opt/app/lib/libibverbs.so.1")
        self.machine.process(78, "mpirun", CORE, "/opt/app/lib/libibverbs.so.1")
        self.only("library.processes", "warning", "mpirun", "2 libibverbs")

    def test_a_process_that_uses_what_is_installed(self):
        self.machine.process(79, "fine", CORE)
        self.assertEqual(self.findings(), {})

    def test_a_vendors_stack_beside_the_distributions(self):
        self.machine.write("/usr/bin/ofed_info", "#!/bin/bash\necho 'MLNX_OFED_LINUX-5.8-1.1.2.1 (OFED-5.8-1.1.2):'\n")
        self.only("library.ofed", "warning", "MLNX_OFED_LINUX-5.8-1.1.2.1", "libibverbs1 44.0-2")


class Providers(Staged):
    def test_an_entry_without_its_library(self):
        self.machine.write("/etc/libibverbs.d/hfi1verbs.driver", "driver hfi1verbs\n")
        self.only("provider.missing", "warning", "/etc/libibverbs.d/hfi1verbs.driver", "libhfi1verbs-rdmav34.so")

    def test_a_library_without_its_entry(self):
        self.machine.remove("/etc/libibverbs.d/rxe.driver")
        self.only("provider.undeclared", "warning", "librxe-rdmav34.so", "driver rxe")

    def test_the_devices_entry_is_gone(self):
        self.machine.remove("/etc/libibverbs.d/mlx5.driver")
        found = self.findings()
        self.assertEqual(set(found), {"provider.undeclared", "device.provider"})
        self.assertEqual(found["device.provider"][0]["severity"], "broken")
        self.assertEqual(found["device.provider"][0]["subject"], "mlx5_0")

    def test_the_devices_provider_is_gone(self):
        self.machine.remove(f"{PROVIDERS}/libmlx5-rdmav34.so")
        found = self.findings()
        self.assertEqual(set(found), {"provider.missing", "device.provider"})
        self.assertIn("libmlx5-rdmav34.so", found["device.provider"][0]["observed"])

    def test_a_suffix_that_is_not_looked_for(self):
        self.machine.copy(machines.provider_library("mlx4", suffix=25), f"{PROVIDERS}/libmlx4-rdmav25.so")
        found = self.findings()
        self.assertIn("-rdmav34.so", found["provider.suffix"][0]["observed"])
        self.assertIn("libmlx4-rdmav25.so", found["provider.suffix"][0]["observed"])

    def test_a_private_abi_that_the_core_lacks(self):
        # Renamed by hand: the name fits, the ABI does not.
        self.machine.copy(machines.provider_library("mlx5", suffix=25), f"{PROVIDERS}/libmlx5-rdmav34.so")
        self.only("provider.abi", "broken", "IBVERBS_PRIVATE_25", "IBVERBS_PRIVATE_34", "libmlx5-rdmav34.so")

    def test_the_same_where_no_device_needs_it(self):
        self.machine.copy(machines.provider_library("siw", suffix=25), f"{PROVIDERS}/libsiw-rdmav34.so")
        self.only("provider.abi", "warning", "libsiw-rdmav34.so")

    def test_a_kernel_driver_of_another_time(self):
        self.machine.write("/sys/class/infiniband_verbs/uverbs0/abi_version", "4\n")
        self.only("provider.kernel_abi", "broken", "mlx5_0", "ABI 4", "1 to 1")

    def test_a_provider_that_speaks_several(self):
        self.machine.provider("mlx5", least=2, most=4)
        self.machine.write("/sys/class/infiniband_verbs/uverbs0/abi_version", "4\n")
        self.assertEqual(self.findings(), {})


class Kernel(Staged):
    def test_a_module_that_is_not_loaded(self):
        self.machine.remove("/dev/infiniband/rdma_cm")
        path, _ = self.machine.loaded.pop("rdma_ucm")
        self.machine.load("mlx5_ib")
        dep = self.machine.at(f"/lib/modules/{KERNEL}/modules.dep")
        dep.write_text(dep.read_text() + f"{path}:\n")
        found = self.findings()
        self.assertEqual(set(found), {"kernel.modules", "device.cm"})
        self.assertIn("modprobe rdma_ucm", found["kernel.modules"][0]["command"])

    def test_no_uverbs(self):
        self.machine.remove("/sys/class/infiniband_verbs")
        self.machine.loaded.pop("ib_uverbs")
        self.machine.load("mlx5_ib")
        found = self.findings()
        self.assertEqual({check: finding[0]["severity"] for check, finding in found.items()},
                         {"kernel.modules": "broken", "kernel.abi": "broken", "device.nodes": "broken"})

    def test_an_adapter_without_its_rdma_half(self):
        self.machine.loaded.pop("mlx5_ib")
        self.machine.load("ib_core")
        self.machine.remove("/sys/class/infiniband")
        self.machine.remove("/sys/class/infiniband_verbs/uverbs0")
        found = self.findings()
        self.assertEqual(set(found), {"kernel.adapters", "device.any"})
        self.assertIn("mlx5_ib", found["kernel.adapters"][0]["observed"])
        self.assertIn("0000:3b:00.0", found["kernel.adapters"][0]["subject"])

    def test_modules_of_two_stacks(self):
        path = "updates/dkms/ib_core.ko"
        self.machine.copy(machines.module_file("AAAA456789ABCDEF01234567", in_tree=False), f"/lib/modules/{KERNEL}/{path}")
        self.machine.load("ib_core", path, taint="OE", srcversion="AAAA456789ABCDEF01234567")
        self.machine.write("/proc/sys/kernel/tainted", "12288\n")
        found = self.findings()
        self.assertEqual({check: finding[0]["severity"] for check, finding in found.items()},
                         {"kernel.foreign": "warning", "kernel.taint": "note"})
        self.assertIn("ib_core is not the kernel's own", found["kernel.foreign"][0]["observed"])
        self.assertIn("unsigned", found["kernel.taint"][0]["observed"])

    def test_one_module_from_elsewhere(self):
        self.machine.load("siw", in_tree=False, taint="O")
        self.only("kernel.foreign", "note", "siw")

    def test_a_module_that_was_replaced_on_the_disk(self):
        self.machine.write("/sys/module/mlx5_ib/srcversion", "FFFFFFFFFFFFFFFFFFFFFFFF\n")
        self.only("kernel.stale", "warning", "mlx5_ib", "FFFFFFFFFFFFFFFFFFFFFFFF", "0123456789ABCDEF01234567", "modprobe -r")

    def test_a_module_for_another_kernel(self):
        self.machine.load("mlx5_ib", vermagic="5.10.0-1-amd64 SMP")
        self.only("kernel.stale", "warning", "5.10.0-1-amd64", KERNEL)

    @needs("zstd")
    def test_packed_modules(self):
        for packer, ending in ((["gzip", "-k"], ".gz"), (["zstd", "-q"], ".zst")):
            with self.subTest(ending):
                path = self.machine.module("mlx5_ib")
                subprocess.run([*packer, self.machine.at(f"/lib/modules/{KERNEL}/{path}")], check=True)
                self.machine.remove(f"/lib/modules/{KERNEL}/{path}")
                self.machine.load("mlx5_ib", path + ending)
                self.assertEqual(self.findings(), {})
                self.machine.write("/sys/module/mlx5_ib/srcversion", "FFFFFFFFFFFFFFFFFFFFFFFF\n")
                self.only("kernel.stale", "warning", "0123456789ABCDEF01234567")

    def test_an_abi_of_another_age(self):
        self.machine.write("/sys/class/infiniband_verbs/abi_version", "7\n")
        self.only("kernel.abi", "broken", "ABI 7", "3 to 6")


class Devices(Staged):
    def test_a_node_that_is_missing(self):
        self.machine.remove("/dev/infiniband/uverbs0")
        self.only("device.nodes", "broken", "/dev/infiniband/uverbs0", "mlx5_0")

    def test_a_node_for_root_alone(self):
        self.machine.at("/dev/infiniband/uverbs0").chmod(0o600)
        self.only("device.nodes", "warning", "0600")

    def test_a_port_that_is_down(self):
        port = "/sys/class/infiniband/mlx5_0/ports/1"
        target = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1"
        self.assertTrue(self.machine.at("/sys/class/infiniband/mlx5_0").is_symlink())
        self.machine.write(f"{target}/state", "1: DOWN\n")
        self.machine.write(f"{target}/phys_state", "3: Disabled\n")
        self.machine.write("/sys/class/net/ens1f0/operstate", "down\n")
        found = self.findings()
        self.assertEqual(set(found), {"device.ports", "network.netdev"}, port)
        self.assertIn("Disabled", found["device.ports"][0]["observed"])

    def test_none_on_a_machine_of_today(self):
        for path in ("/sys/class/infiniband", "/sys/class/infiniband_verbs", "/dev/infiniband", "/sys/bus/pci/devices"):
            self.machine.remove(path)
        found = self.findings()
        self.assertEqual(set(found), {"device.any"} | (set(found) & {"kernel.modules"}))
        self.assertEqual(self.answer()["worst"], "warning")


class Limits(Staged):
    def test_so_little_that_queues_do_not_fit(self):
        self.machine.memlock("65536")
        self.only("limit.memlock", "warning", "64 KiB", "unlimited")

    def test_a_limit_for_users(self):
        self.machine.memlock("8388608")
        self.machine.write("/proc/4242/status", "CapEff:\t0000000000000000\n")
        found = self.findings()
        self.assertEqual(found["limit.memlock"][0]["severity"], "warning")
        self.assertIn("8 MiB", found["limit.memlock"][0]["observed"])
        # Without rights there is no capturing and tracing either.
        self.assertEqual(set(found), {"limit.memlock", "observe.capture", "observe.trace"})

    def test_limits_of_logins_and_services(self):
        self.machine.write("/etc/security/limits.d/a.conf", "# memlock\n* soft memlock 64\n@rdma hard memlock unlimited\n")
        self.machine.write("/etc/systemd/system.conf", "[Manager]\n#DefaultLimitMEMLOCK=1\nDefaultLimitMEMLOCK=8M\n")
        found = self.findings()["limit.configured"]
        self.assertEqual([(f["subject"], f["severity"]) for f in found],
                         [("/etc/security/limits.d/a.conf", "warning"), ("/etc/systemd/system.conf", "note")])


class Network(Staged):
    def test_the_mtu(self):
        # include/rdma/ib_addr.h: what is left behind 96 octets of headers, rounded down to an IB MTU.
        for mtu, roce, share in ((1500, 1024, "92.6 %"), (4191, 2048, "96.2 %"), (2143, 1024, "92.6 %")):
            with self.subTest(mtu):
                self.machine.write("/sys/class/net/ens1f0/mtu", f"{mtu}\n")
                self.only("network.mtu", "note", f"MTU of {mtu}", f"MTU of {roce}", share)
        self.machine.write("/sys/class/net/ens1f0/mtu", "4192\n")
        self.assertEqual(self.findings(), {})

    def test_gids(self):
        self.machine.gids()
        self.assertEqual(self.findings()["network.gids"][0]["severity"], "warning")
        self.machine.gids(("0000:0000:0000:0000:0000:ffff:c633:644d", "IB/RoCE v1"))
        self.only("network.gids", "warning", "RoCE v1")
        self.machine.gids(("fe80:0000:0000:0000:0e42:a1ff:fe5e:7710", "RoCE v2"))
        self.only("network.gids", "note", "link-local")

    def test_the_roce_mode(self):
        self.machine.write("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "IB/RoCE v1\n")
        self.only("network.roce_mode", "warning", "cma_roce_mode -d mlx5_0 -p 1 -m 2")

    def test_flow_control(self):
        self.machine.write("/sys/class/net/ens1f0/qos/pfc", "0 0 0 0 0 0 0 0\n")
        self.only("network.flow_control", "note", "no priority has PFC")

    def test_ecn_by_half(self):
        self.machine.write("/sys/class/net/ens1f0/ecn/roce_rp/enable/3", "0\n")
        self.only("network.ecn", "warning", "priority 3", "echo 1 > /sys/class/net/ens1f0/ecn/roce_rp/enable/3")


class Observing(Staged):
    def test_tracefs_is_not_mounted(self):
        self.machine.write("/proc/4242/mounts", "proc /proc proc rw 0 0\n")
        self.only("observe.tracefs", "note", "mount -t tracefs")

    def test_the_rest(self):
        self.machine.remove("/sys/kernel/btf/vmlinux")
        self.machine.remove("/sys/kernel/tracing/uprobe_events")
        self.machine.remove("/sys/kernel/tracing/events/rdma_core")
        self.machine.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
        self.machine.write("/proc/sys/kernel/kptr_restrict", "2\n")
        self.assertEqual(set(self.findings()), {"observe.btf", "observe.uprobes", "observe.events", "observe.clock", "observe.perf"})


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
        self.assertIn("no file that can be read", self.fails(doctor("--root", self.machine.root, "--binary", "/opt/app")))


class Compare(Staged):
    def setUp(self):
        super().setUp()
        self.other = Machine(self.folder / "other")
        self.other.write("/proc/sys/kernel/hostname", "other\n")

    def disagreements(self):
        exported = self.folder / "other.json"
        self.succeeds(doctor("--root", self.other.root, "--export", exported, "--fail-on=never"))
        return {check: (findings[0]["severity"], findings[0]["observed"])
                for check, findings in self.findings("--compare", exported).items()}

    def test_two_alike(self):
        self.assertEqual(self.disagreements(), {})

    def test_all_that_can_differ(self):
        port = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0"
        self.other.write("/sys/class/net/ens1f0/mtu", "1500\n")
        self.other.write("/sys/class/net/ens1f0/qos/pfc", "0 0 0 0 0 1 0 0\n")
        self.other.write("/sys/class/net/ens1f0/ecn/roce_np/enable/3", "0\n")
        self.other.write("/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "IB/RoCE v1\n")
        self.other.write(f"{port}/fw_ver", "16.35.2000\n")
        self.other.write(f"{port}/ports/1/rate", "25 Gb/sec (1X EDR)\n")
        self.other.gids(("0000:0000:0000:0000:0000:ffff:c633:644e", "IB/RoCE v1"))
        self.other.package("libibverbs1", "33.2-1", CORE)
        found = self.disagreements()
        self.assertEqual({check: severity for check, (severity, _) in found.items()}, {
            "compare.mtu": "warning", "compare.flow_control": "warning", "compare.ecn": "warning", "compare.roce_mode": "broken",
            "compare.gids": "broken", "compare.firmware": "note", "compare.rate": "note", "compare.stack": "note"})
        self.assertIn(f"{machines.HOST} has 9000, other has 1500", found["compare.mtu"][1])

    def test_devices_that_cannot_talk(self):
        self.other.write("/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/node_type", "4: RNIC\n")
        self.assertEqual(self.disagreements()["compare.devices"][0], "broken")

    def test_what_is_no_inventory(self):
        file = self.folder / "odd.json"
        for text, word in (("{", "no JSON"), ("[]", "no inventory"), ("{}", "no inventory"),
                           ('{"format": "rdmascope-doctor-inventory", "version": 2}', "another version"), ("\0" * 100, "no JSON")):
            file.write_text(text)
            self.assertIn(word, self.fails(doctor("--root", self.machine.root, "--compare", file)))
        self.assertIn("no such file", self.fails(doctor("--compare", self.folder / "nowhere")))

    def test_an_inventory_of_wrong_types(self):
        """Every member in turn becomes another type; nothing else may happen than other findings."""
        inventory = json.loads(self.succeeds(doctor("--root", self.machine.root, "--export", "-")))
        file = self.folder / "odd.json"

        def spoil(value):
            if isinstance(value, dict):
                for name in value:
                    for other in (None, 7, "x", [], {}, [1], ["x"], {"x": 1}):
                        kept, value[name] = value[name], other
                        yield
                        value[name] = kept
                    yield from spoil(value[name])
            elif isinstance(value, list) and value:
                yield from spoil(value[0])

        tried = 0
        for number, _ in enumerate(spoil({"devices": inventory["devices"], "netdevs": inventory["netdevs"], "host": inventory["host"]})):
            if number % 9:
                continue
            file.write_text(json.dumps(inventory))
            result = doctor("--root", self.machine.root, "--compare", file, "--json")
            self.assertIn(result.returncode, (0, 1))
            json.loads(result.stdout)
            tried += 1
        self.assertGreater(tried, 20)


class Bundle(Staged):
    SECRETS = (machines.HOST, machines.DOMAIN, "example.org", "storage03", machines.USER, machines.FULL_NAME, "Mustermann", machines.MAC,
               machines.MAC.replace(":", ""), machines.GUID, machines.IPV4, machines.IPV6, "c633:644d", "2001:0db8", "fe80:", "a1ff:fe5e")

    def bundle(self):
        path = self.folder / "report.tar.gz"
        self.succeeds(doctor("--root", self.machine.root, "--bundle", path, "--fail-on=never"))
        with tarfile.open(path) as archive:
            return {member.name.split("/", 1)[1]: archive.extractfile(member).read().decode() for member in archive.getmembers()}

    def test_it_has_all_that_is_wrong_and_nothing_that_is_private(self):
        # What is private, in as many places as it can get to.
        self.machine.write("/etc/security/limits.d/own.conf", f"{machines.USER} soft memlock 64\n")
        self.machine.process(99, machines.USER, f"/home/{machines.USER}/lib/libibverbs.so.1 (deleted)")
        self.machine.write(f"/sys/class/net/enx{machines.MAC.replace(':', '')}/address", f"{machines.MAC}\n")
        gid = "/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1"
        self.machine.write(gid, f"enx{machines.MAC.replace(':', '')}\n")
        # The staged machine does have it all to tell.
        plain = self.succeeds(doctor("--root", self.machine.root, "--export", "-"))
        for secret in (machines.HOST, machines.USER, "c633:644d", machines.MAC.replace(":", "")):
            self.assertIn(secret, plain)
        files = self.bundle()
        self.assertEqual(set(files), {"README", "findings.txt", "findings.json", "inventory.json", "files.txt"})
        for name, text in files.items():
            for secret in self.SECRETS:
                with self.subTest(file=name, secret=secret):
                    self.assertNotIn(secret.lower(), text.lower())

    def test_it_keeps_what_is_needed(self):
        files = self.bundle()
        inventory = json.loads(files["inventory.json"])
        self.assertEqual(inventory["host"]["name"], "host-1")
        self.assertEqual([library["path"] for library in inventory["libraries"]][0], CORE)
        self.assertEqual(inventory["kernel"]["adapters"][0]["slot"], "0000:3b:00.0")
        self.assertEqual(inventory["devices"][0]["firmware"], "22.36.1010")
        gids = [gid["gid"] for gid in inventory["devices"][0]["ports"][0]["gids"]]
        self.assertEqual(len(set(gids)), 3)
        # The same address has the same name in all files.
        for gid in gids:
            self.assertRegex(gid, r"^ip-\d+$")
            self.assertIn(gid, files["files.txt"])
        self.assertIn("==> /sys/class/infiniband/mlx5_0/fw_ver <==\n22.36.1010\n", files["files.txt"])
        self.assertEqual(json.loads(files["findings.json"])["worst"], "unseen")

    @needs("tar")
    def test_tar_unpacks_it(self):
        path = self.folder / "report.tar.gz"
        self.succeeds(doctor("--root", self.machine.root, "--bundle", path))
        subprocess.run(["tar", "-xzf", path, "-C", self.folder], check=True)
        self.assertIn("rdmascope doctor --bundle", (self.folder / "rdmascope-doctor/README").read_text())

    def test_a_place_that_cannot_be_written(self):
        self.assertIn("/no/such", self.fails(doctor("--root", self.machine.root, "--bundle", "/no/such/file")))


class Hostile(Staged):
    def test_trees_that_lead_astray(self):
        """Links in circles and out of the tree, FIFOs, folders where files should be, texts without end."""
        secret = self.folder / "secret"
        secret.write_text("driver outside\n")
        self.machine.link("/etc/libibverbs.d/circle.driver", "/etc/libibverbs.d/circle.driver")
        self.machine.link("/etc/libibverbs.d/outside.driver", "../" * 20 + str(secret))
        os.mkfifo(self.machine.at("/etc/libibverbs.d/fifo.driver"))
        self.machine.at("/etc/libibverbs.d/folder.driver").mkdir()
        self.machine.write("/proc/5/comm", "x" * 100000)
        self.machine.write("/proc/6/maps", "/libibverbs.so" * 100000)
        self.machine.write("/etc/ld.so.conf.d/loop.conf", "include /etc/ld.so.conf.d/*.conf\n" + "/x" * 3000 + "\n")
        self.machine.write("/etc/ld.so.cache", b"glibc-ld.so.cache1.1" + b"\xff" * 4000)
        self.machine.write("/usr/local/lib/libibverbs.so.1", os.urandom(3000))
        result = doctor("--root", self.machine.root, "--json", timeout=60)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertNotIn("outside", json.dumps([f["observed"] for f in json.loads(result.stdout)["findings"]]))

    def test_names_do_not_control_the_terminal(self):
        self.machine.write("/proc/sys/kernel/hostname", "\x1b[31mred\n")
        self.machine.write("/etc/libibverbs.d/\x1b[2Jx.driver", "driver \x1b]0;title\x07\n")
        page = doctor("--root", self.machine.root, "-v").stdout
        self.assertNotIn("\x1b", page)
        self.assertIn("?[2Jx.driver", page)

    def test_octets_that_are_no_text(self):
        self.machine.write("/proc/sys/kernel/hostname", b"\xff\xfe\n")
        json.loads(doctor("--root", self.machine.root, "--json").stdout)


class Page(Staged):
    def test_each_finding_has_its_four_parts(self):
        self.machine.remove("/dev/infiniband/uverbs0")
        result = doctor("--root", self.machine.root)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"^quartz17  Linux 6\.1\.0-56-amd64, Debian GNU/Linux 12 \(bookworm\)\n")
        self.assertRegex(result.stdout, r"\nbroken +mlx5_0  \[device\.nodes\]\n  seen +/dev/infiniband/uverbs0 is missing")
        self.assertRegex(result.stdout, r"\n  expected .*\n( .*\n)*  mend +udevadm trigger")
        self.assertRegex(result.stdout, r"\n1 broken, 0 warnings, 0 notes; \d+ checks found as they should be; ")
        self.assertNotIn("\x1b", result.stdout)
        self.assertIn("\x1b[1;31mbroken", doctor("--root", self.machine.root, "--color=always").stdout)

    def test_it_fits_eighty_columns_but_for_commands(self):
        self.machine.gids()
        for line in doctor("--root", self.machine.root, "-v").stdout.splitlines()[1:-1]:
            if not line.startswith(("  mend", "  shown by", "ok ")):
                self.assertLessEqual(len(line), 80, line)

    def test_scripts_may_be_stricter(self):
        self.machine.write("/sys/class/net/ens1f0/mtu", "1500\n")
        for severity, status in (("broken", 0), ("warning", 0), ("note", 1), ("never", 0)):
            self.assertEqual(doctor("--root", self.machine.root, f"--fail-on={severity}").returncode, status, severity)
        self.machine.remove("/dev/infiniband/uverbs0")
        for severity, status in (("broken", 1), ("warning", 1), ("never", 0)):
            self.assertEqual(doctor("--root", self.machine.root, f"--fail-on={severity}").returncode, status, severity)


class ThisMachine(TestCase):
    """Whatever machine that is."""

    def test_it_is_examined(self):
        for result in (doctor("--json"), run_unprivileged("doctor", "--json")):
            self.assertIn(result.returncode, (0, 1), result.stderr)
            answer = json.loads(result.stdout)
            self.assertEqual(result.returncode, 1 if answer["worst"] == "broken" else 0)
            self.assertEqual(answer["kernel"], os.uname().release)
            self.assertEqual(answer["host"], os.uname().nodename)
            self.assertEqual({finding["check"] for finding in answer["findings"]}, set(listed_checks("machine")))
            if not os.path.exists("/sys/class/infiniband"):
                self.assertIn("device.any", [f["check"] for f in answer["findings"] if f["severity"] in ("warning", "unseen")])

    @needs("ldd")
    def test_programs_get_the_libraries_that_ldd_says(self):
        tried = 0
        for program in ("ls", "bash", "python3", "tshark", "tcpdump", "ibv_devinfo", "ib_write_bw", "rping"):
            path = shutil.which(program)
            if path is None or not open(path, "rb").read(4) == b"\x7fELF":
                continue
            theirs = subprocess.run(["ldd", path], capture_output=True, text=True)
            if theirs.returncode != 0:
                continue
            expected = {name: os.path.realpath(file) for name, file in re.findall(r"^\s+(\S+) => (/\S+)", theirs.stdout, re.MULTILINE)}
            answer = json.loads(self.succeeds(doctor("--binary", path, "--json", "--fail-on=never")))
            ours = {library["name"]: library["path"] for library in answer["binary"]["libraries"] if not library["name"].startswith("ld-linux")}
            ours = {name: file for name, file in ours.items() if "when it asks" not in name}
            self.assertEqual(ours, {name: file for name, file in expected.items() if not name.startswith("ld-linux")}, program)
            self.assertTrue(answer["binary"]["starts"], program)
            tried += 1
        self.assertGreater(tried, 1)

    def test_providers_speak_the_abis_of_the_kernels_headers(self):
        """The kernel's own headers have the newest ABI of each driver; Debian's providers speak it."""
        headers = {"mlx4": ("mlx4-abi.h", "MLX4_IB_UVERBS_ABI_VERSION"), "mlx5": ("mlx5-abi.h", "MLX5_IB_UVERBS_ABI_VERSION"),
                   "siw": ("siw-abi.h", "SIW_ABI_VERSION"), "erdma": ("erdma-abi.h", "ERDMA_ABI_VERSION"),
                   "bnxt_re": ("bnxt_re-abi.h", "BNXT_RE_ABI_VERSION"), "irdma": ("irdma-abi.h", "IRDMA_ABI_VER"),
                   "qedr": ("qedr-abi.h", "QEDR_ABI_VERSION"), "mthca": ("mthca-abi.h", "MTHCA_UVERBS_ABI_VERSION"),
                   "ocrdma": ("ocrdma-abi.h", "OCRDMA_ABI_VERSION"), "efa": ("efa-abi.h", "EFA_UVERBS_ABI_VERSION")}
        inventory = json.loads(self.succeeds(doctor("--export", "-")))
        compared = 0
        for library in inventory["libraries"]:
            for name in library["names"] if library["part"] == "provider" else ():
                file, macro = headers.get(re.sub(r"^lib|-rdmav.*", "", name), (None, None))
                path = f"/usr/include/rdma/{file}"
                if file is None or not os.path.exists(path) or not (library["package"] or "").startswith("ibverbs-providers"):
                    continue
                version = int(re.search(rf"#define\s+{macro}\s+\(?(\d+)", open(path).read())[1])
                self.assertEqual(library["kernel_abi"][1], version, name)
                compared += 1
        if compared == 0:
            self.skipTest("neither providers of Debian nor the kernel's headers are installed")


def listed_checks(kind):
    names = re.findall(r"^(\S+) ", run("doctor", "--list").stdout, re.MULTILINE)
    return [name for name in names if (name.split(".")[0] if name.split(".")[0] in ("binary", "compare") else "machine") == kind]


class Usage(TestCase):
    def test_what_cannot_be_obeyed(self):
        for arguments in (["--binarry", "x"], ["what"], ["--binary"], ["--binary", "x", "--compare", "y"], ["--color=red"],
                          ["--fail-on=always"], ["--bundle", "x", "--binary", "y"], ["--export="]):
            with self.subTest(arguments=arguments):
                self.assertIn("rdmascope help doctor", self.fails(doctor(*arguments), 2))
        self.assertIn("--root /no/such/folder", self.fails(doctor("--root", "/no/such/folder")))
        self.assertEqual(self.succeeds(run("help", "doctor")), self.succeeds(doctor("--help")))
        self.assertEqual(self.succeeds(doctor("--version")), self.succeeds(run("--version")))

    def test_manual_and_completions_have_every_option(self):
        manual = (ROOT / "docs/man/rdmascope-doctor.1").read_text().replace("\\-", "-")
        completions = [(ROOT / "cli/completion" / name).read_text() for name in ("rdmascope.bash", "_rdmascope", "rdmascope.fish")]
        options = set(re.findall(r"(--[a-z-]+)", doctor("--help").stdout))
        self.assertGreater(len(options), 10)
        for option in options:
            self.assertIn(option, manual)
            for text in completions:
                part = text[text.index("doctor"):]
                self.assertTrue(option in part or f"-l {option[2:]} " in part, option)

    def test_manual_and_documentation_have_every_check(self):
        listing = re.findall(r"^(\S+) +(\w+) +([^(]+) \((.+)\)$", self.succeeds(doctor("--list")), re.MULTILINE)
        self.assertGreater(len(listing), 40)
        self.assertEqual(len({name for name, *_ in listing}), len(listing))
        manual = (ROOT / "docs/man/rdmascope-doctor.1").read_text().replace("\\-", "-")
        page = (ROOT / "docs/doctor.md").read_text()
        for name, worst, title, evidence in listing:
            self.assertIn(f"| `{name}` | {title} | {worst} | {evidence} |", page)
            self.assertIn(f".B {name}\n{title[0].upper()}{title[1:]}. Worst: {worst}.", manual)
        for name in re.findall(r"^\| `(\w+\.\w+)` \|", page, re.MULTILINE):
            self.assertIn(name, [row[0] for row in listing])


if __name__ == "__main__":
    unittest.main()
