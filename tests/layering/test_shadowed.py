"""The check finds a class and a test that a later one hides, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'shadowed.py')


class Planted(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, 'tests'))
            with open(os.path.join(root, 'tests', 'test_shop.py'), 'w', encoding='utf-8') as file:
                file.write(text)
            done = subprocess.run([sys.executable, '-B', CHECK, '--root', root], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def test_a_class_that_is_hidden(self):
        self.assertEqual(self.check('class Door:\n    pass\n\n\nclass Door:\n    pass\n'),
                         (1, 'tests/test_shop.py:5: Door hides the Door of line 1, which never runs\n'))

    def test_a_test_that_is_hidden(self):
        self.assertEqual(self.check('class Door:\n    def test(self):\n        pass\n    def test(self):\n        pass\n'),
                         (1, 'tests/test_shop.py:4: test hides the test of line 2, which never runs\n'))

    def test_names_that_are_the_same_on_purpose(self):
        self.assertEqual(self.check('class Door:\n    @property\n    def key(self):\n        pass\n'
                                    '    @key.setter\n    def key(self, key):\n        pass\n\n\n'
                                    'class Gate:\n    def key(self):\n        pass\n'
                                    'try:\n    def key():\n        pass\nexcept OSError:\n    def key():\n        pass\n'),
                         (0, ''))


if __name__ == '__main__':
    unittest.main()
