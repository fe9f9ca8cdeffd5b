"""Runs a test's file. What failed runs again, alone, until it passes or has run HEADWAY_TRIES times: a share of a real
server's limit depends on what else the machine does."""
import os
import runpy
import sys
import unittest


class Tries(unittest.TextTestRunner):
    def run(self, test):
        result = super().run(test)
        for _ in range(int(os.environ.get("HEADWAY_TRIES", "1")) - 1):
            failed = {getattr(case, "test_case", case) for case, _ in result.failures + result.errors}  # of a subtest: its test
            if not failed or not all(isinstance(case, unittest.TestCase) for case in failed):  # a fixture is no test
                break
            for case in failed:
                self.stream.writeln(f"failed at first: {case}")
            result = super().run(unittest.TestSuite(failed))
        return result


if __name__ == "__main__":
    unittest.runner.TextTestRunner = Tries  # which unittest.main looks up there
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
