"""`rdmascope doctor`: staged machines, each with one thing wrong, whose finding and no other it must have."""
import json
import os
import re
import subprocess
import unittest

import machines
from command import needs
from machines import CORE, KERNEL, LIBRARIES, PROVIDERS
from staged import Staged, doctor


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
        # include/rdma/ib_addr.h: what is left after 96 octets of headers, rounded down to an IB MTU.
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

    def test_a_kernel_that_loads_no_modules_is_not_told_to(self):
        self.machine.remove("/sys/kernel/tracing/events/rdma_core")
        self.assertEqual(self.findings()["observe.events"][0]["command"], "modprobe rdma_cm")
        self.machine.remove("/proc/modules")
        self.assertIn("loads no modules", self.findings()["observe.events"][0]["command"])


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


if __name__ == "__main__":
    unittest.main()
