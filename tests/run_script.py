"""Runs a script of tests as if it had been started itself. Where all its tests were skipped it ends with 77, for ctest to say so."""
import os
import pathlib
import runpy
import sys
import tempfile
import unittest

EXIT_SKIPPED = 77


class Program(unittest.TestProgram):
    def runTests(self):
        self.exit = False
        super().runTests()
        # A module that is skipped as a whole has run no test; parts of tests are no tests.
        skipped = {test for test, _ in self.result.skipped if not isinstance(test, unittest.case._SubTest)}
        if not self.result.wasSuccessful():
            raise SystemExit(1)
        raise SystemExit(EXIT_SKIPPED if skipped and self.result.testsRun <= len(skipped) else 0)


if __name__ == "__main__":
    unittest.main = Program
    del sys.argv[0]
    sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
    # Traced programs of tests leave their rings here, and nothing in the folders of this machine.
    with tempfile.TemporaryDirectory(prefix="rdmascope-rings-") as rings:
        os.chmod(rings, 0o1777)
        os.environ.setdefault("RDMASCOPE_TRACE_DIR", rings)
        runpy.run_path(sys.argv[0], run_name="__main__")
