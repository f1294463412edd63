"""`rdmascope doctor` on the machine that the tests run on, held to what its other programs and the kernel's headers say."""
import json
import os
import re
import shutil
import subprocess
import unittest

from command import TestCase, needs, run, run_unprivileged
from staged import doctor


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


if __name__ == "__main__":
    unittest.main()
