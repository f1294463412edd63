"""Holds what a command printed against the expectations of one check. README.md lists the keys."""
import json
import re

# Verdicts of an answer that says nothing: a document of such answers alone has the grade `nothing`.
SILENT = {"undecidable"}
KEYS = {"run", "status", "timeout", "says", "never", "errors_say", "lines", "grade", "alarm", "alarms", "verdicts", "not_verdicts",
        "answer_says", "notes", "not_notes", "note_says", "values"}


def collapsed(text):
    """Text whose lines were wrapped for a page, as one line."""
    return " ".join(text.split())


def missing(patterns, text):
    return [pattern for pattern in patterns if not re.search(pattern, text, re.IGNORECASE)]


def found(patterns, text):
    return [pattern for pattern in patterns if re.search(pattern, text, re.IGNORECASE)]


def listed(value):
    return value if isinstance(value, list) else [value]


class Absent(Exception):
    """A path leads to nothing."""


def at_path(document, path):
    for part in path.split("."):
        if isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        elif isinstance(document, dict) and part in document:
            document = document[part]
        else:
            raise Absent
    return document


class Judge:
    """The problems of one check; none where everything is as expected."""

    def __init__(self, check):
        unknown = set(check) - KEYS
        assert not unknown, f"unknown keys {sorted(unknown)} in check `{check.get('run')}`"
        self.check, self.problems = check, []

    def judge(self, status, output, errors):
        expected = self.check.get("status", 0)
        if status != expected:
            self.problem(f"exit status {status}, not {expected}: {collapsed(errors)[:200]}")
        self.judge_text(output, errors)
        if "--json" in self.check["run"].split():
            try:
                document = json.loads(output)
            except ValueError:
                self.problem(f"no JSON: {output[:80]!r}")
            else:
                self.judge_document(document)
        return self.problems

    def problem(self, text):
        self.problems.append(f"`{self.check['run']}`: {text}")

    def judge_text(self, output, errors):
        text = collapsed(output)
        for pattern in missing(self.check.get("says", []), text):
            self.problem(f"does not say /{pattern}/")
        for pattern in found(self.check.get("never", []), text):
            self.problem(f"says /{pattern}/")
        for pattern in missing(self.check.get("errors_say", []), collapsed(errors)):
            self.problem(f"standard error does not say /{pattern}/: {collapsed(errors)[:200]}")
        lines = len(output.splitlines())
        if lines != self.check.get("lines", lines):
            self.problem(f"{lines} lines, not {self.check['lines']}")

    def judge_document(self, document):
        if "answers" in document:
            self.judge_answers(document, document["answers"])
        for value in self.check.get("values", []):
            self.judge_value(document, value)

    def judge_answers(self, document, answers):
        verdicts = {answer["verdict"] for answer in answers}
        alarms = {answer["verdict"] for answer in answers if answer["alarm"]}
        if "grade" in self.check and grade_of(document, answers) not in listed(self.check["grade"]):
            self.problem(f"grade {grade_of(document, answers)}, not {self.check['grade']}; alarms: {sorted(alarms)}")
        if "alarm" in self.check and bool(alarms) != self.check["alarm"]:
            self.problem(f"alarms: {sorted(alarms)}")
        if "alarms" in self.check and not alarms <= set(self.check["alarms"]):
            self.problem(f"alarms {sorted(alarms)}, of which only {self.check['alarms']} may be")
        for question, permitted in self.check.get("verdicts", {}).items():
            present = {answer["verdict"] for answer in answers if answer["question"] == question}
            if not present & set(listed(permitted)):
                self.problem(f"{question} is {sorted(present)}, not {permitted}")
        for verdict in sorted(verdicts & set(self.check.get("not_verdicts", []))):
            self.problem(f"verdict {verdict}")
        for question, patterns in self.check.get("answer_says", {}).items():
            text = collapsed(" ".join(f"{answer['summary']} {answer.get('advice') or ''}" for answer in answers
                                      if answer["question"] == question))
            for pattern in missing(patterns, text):
                self.problem(f"{question} does not say /{pattern}/: {text[:200]}")
        self.judge_notes(document)

    def judge_notes(self, document):
        notes = document.get("notes", [])
        kinds = [note["kind"] for note in notes]
        for permitted in self.check.get("notes", []):
            if not set(listed(permitted)) & set(kinds):
                self.problem(f"no note {permitted}" + (f"; notes: {kinds}" if kinds else ""))
        for kind in set(self.check.get("not_notes", [])) & set(kinds):
            self.problem(f"note {kind}")
        text = collapsed(" ".join(note["text"] for note in notes))
        for pattern in missing(self.check.get("note_says", []), text):
            self.problem(f"notes do not say /{pattern}/")

    def judge_value(self, document, expected):
        expected = dict(expected)
        flow, path = expected.pop("flow", None), expected.pop("path")
        name = f"{path} of flow {flow}" if flow is not None else path
        if flow is not None:
            document = next((entry for entry in document.get("flows", []) if entry["id"] == flow), {})
        try:
            value = at_path(document, path)
        except Absent:
            if not expected.pop("absent", False):
                self.problem(f"no {name}")
            return
        self.compare(name, value, **expected)

    def compare(self, name, value, absent=False, or_absent=False, within=0, **expected):
        if or_absent and value is None:
            return
        if absent:
            if value is not None:
                self.problem(f"{name} is {value}, not absent")
            return
        assert expected.keys() <= {"equals", "at_least", "at_most", "one_of"}, expected
        if "equals" in expected and not is_near(value, expected["equals"], within):
            self.problem(f"{name} is {value}, not {expected['equals']}")
        if "one_of" in expected and value not in expected["one_of"]:
            self.problem(f"{name} is {value}, not one of {expected['one_of']}")
        if "at_least" in expected and (value is None or value < expected["at_least"]):
            self.problem(f"{name} is {value}, below {expected['at_least']}")
        if "at_most" in expected and (value is None or value > expected["at_most"]):
            self.problem(f"{name} is {value}, above {expected['at_most']}")


def is_near(value, expected, within):
    """`within` is a share of the expected number."""
    if isinstance(expected, (int, float)) and not isinstance(expected, bool) and isinstance(value, (int, float)):
        return abs(value - expected) <= abs(expected) * within
    return value == expected


def grade_of(document, answers):
    """What stands at the top; where a document has no grade, what its answers come to."""
    if "grade" in document:
        return document["grade"]
    if any(answer["alarm"] for answer in answers):
        return "wrong"
    return "nothing" if {answer["verdict"] for answer in answers} <= SILENT else "ok"
