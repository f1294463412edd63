"""`rdmascope doctor --compare`: two staged machines that differ, and inventories that are none."""
import json
import unittest

import machines
from machines import CORE, Machine
from staged import Staged, doctor


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

    def test_the_others_inventory_is_not_overwritten(self):
        exported = self.folder / "other.json"
        self.succeeds(doctor("--root", self.other.root, "--export", exported, "--fail-on=never"))
        before = exported.read_text()
        result = doctor("--root", self.machine.root, "--compare", exported, "--export", exported)
        self.assertIn("being read", self.fails(result))
        self.assertEqual(exported.read_text(), before)

    def test_devices_that_cannot_talk(self):
        self.other.write("/sys/devices/pci0000:00/0000:3b:00.0/infiniband/mlx5_0/node_type", "4: RNIC\n")
        self.assertEqual(self.disagreements()["compare.devices"][0], "broken")

    def test_what_is_no_inventory(self):
        file = self.folder / "odd.json"
        for text, word in (("{", "not JSON"), ("[]", "no inventory"), ("{}", "no inventory"),
                           ('{"format": "rdmascope-doctor-inventory", "version": 2}', "another version"), ("\0" * 100, "not JSON")):
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


if __name__ == "__main__":
    unittest.main()
