"""What the tests of `rdmascope doctor` share: a staged machine each, and what is found wrong with it."""
import json

import machines
from command import TestCase, run
from machines import Machine


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
            if finding["severity"] not in ("ok", "unseen", "not_applicable"):
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
