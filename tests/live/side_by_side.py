"""Tests that mostly wait, several at once: each in a process of its own, with namespaces of its own.

A script says `from side_by_side import load_tests`. RDMASCOPE_TESTS_AT_ONCE is the number of processes (default: 4)."""
import concurrent.futures
import multiprocessing
import os
import sys
import traceback
import unittest


class Elsewhere(Exception):
    """What failed in another process, as text."""


def run_one(case, method):
    """In a process of its own: the outcome, and the text that belongs to it."""
    test, result = case(method), unittest.TestResult()
    test.run(result)
    for outcome in ("errors", "failures"):
        if getattr(result, outcome):
            return outcome, "\n".join(text for _, text in getattr(result, outcome))
    if result.skipped and all(skipped is test for skipped, _ in result.skipped):
        return "skipped", result.skipped[0][1]
    return "passed", ""


def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each


class SideBySide(unittest.TestSuite):
    def run(self, result, debug=False):
        tests = list(tests_of(self))
        prepare = getattr(sys.modules[type(tests[0]).__module__], "setUpModule", lambda: None) if tests else lambda: None
        try:
            prepare()
        except unittest.SkipTest as reason:
            result.addSkip(unittest.suite._ErrorHolder("setUpModule"), str(reason))
            return result
        workers = int(os.environ.get("RDMASCOPE_TESTS_AT_ONCE", "4"))
        with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            running = {pool.submit(run_one, type(test), test._testMethodName): test for test in tests}
            for done in concurrent.futures.as_completed(running):
                self.report(result, running[done], done)
        return result

    @staticmethod
    def report(result, test, done):
        result.startTest(test)
        outcome, text = done.result() if done.exception() is None else ("errors", "".join(traceback.format_exception(done.exception())))
        failure = (Elsewhere, Elsewhere("\n" + text), None)
        if outcome == "passed":
            result.addSuccess(test)
        elif outcome == "skipped":
            result.addSkip(test, text)
        elif outcome == "failures":
            result.addFailure(test, failure)
        else:
            result.addError(test, failure)
        result.stopTest(test)


def load_tests(loader, standard, pattern):
    return SideBySide(standard)
