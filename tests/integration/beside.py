"""Runs the tests of a class beside each other: each has servers of its own, and waits for most of its time."""
import unittest
from concurrent.futures import ThreadPoolExecutor


class Beside(unittest.TestSuite):
    """Those of one class, or several classes."""

    def run(self, result, debug=False):
        tests = list(self)
        if not tests or isinstance(tests[0], Beside):
            for those in tests:
                those.run(result)
            return result
        its = type(tests[0])
        try:
            its.setUpClass()
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda test: test.run(result), tests))
        finally:
            its.tearDownClass()
            its.doClassCleanups()
        return result


def main():
    loader = unittest.TestLoader()
    loader.suiteClass = Beside
    unittest.main(testLoader=loader)
