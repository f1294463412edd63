"""The samples are built as their readers build them: by CMake and by make, with both compilers, and no warning."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs/samples/verbs"
STRICT = "-O1 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"
LONGEST = 300  # lines of a sample: what a reader takes in at one sitting


def names():
    return sorted(file.stem for file in SAMPLES.glob("*.c"))


class Build(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rdmascope-samples-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name, "verbs")
        shutil.copytree(SAMPLES, self.folder)

    def run_here(self, *command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    def test_make(self):
        self.run_here("make", "-j2", "CC=gcc", f"CFLAGS={STRICT}")
        for name in names():
            self.assertTrue((self.folder / name).exists(), name)

    def test_cmake(self):
        compiler = shutil.which("clang") or shutil.which("clang-14")
        if not compiler:
            self.skipTest("clang is not installed")
        self.run_here("cmake", "-B", "build", f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_C_FLAGS={STRICT}")
        self.run_here("cmake", "--build", "build", "--", "-j2")
        for name in names():
            self.assertTrue((self.folder / "build" / name).exists(), name)


class Text(unittest.TestCase):
    def test_every_sample_is_described(self):
        table = (SAMPLES / "README.md").read_text(encoding="utf-8")
        for name in names():
            self.assertIn(f"[{name}.c]({name}.c)", table)
            lines = (SAMPLES / f"{name}.c").read_text(encoding="utf-8").splitlines()
            self.assertLessEqual(len(lines), LONGEST, name)
            self.assertTrue(lines[0].startswith("// ") and lines[1] == "//" and lines[2].startswith(f"//   {name} "), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
