"""`rdmascope doctor --bundle`: what a report for others has of a staged machine, and what it must not have."""
import json
import subprocess
import tarfile
import unittest

import machines
from command import needs
from machines import CORE
from staged import Staged, doctor


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


if __name__ == "__main__":
    unittest.main()
