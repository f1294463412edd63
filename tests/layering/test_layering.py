"""The layering check sees what it is for: mistakes that are planted in a small house of its own."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'layering.py')

TABLE = '''
# folder | namespace | may include
base      | base        |
shop      | shop        | base shop/*
shop/till | shop::till  | shop/store
shop/store | shop::store | base
'''


class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.write('cmake/layers.txt', TABLE)
        self.write('base/result.h', 'namespace base {\nstruct Result {};\n}\n')
        self.write('shop/store/shelf.h', '#include "base/result.h"\nnamespace shop::inline store {\nstruct Shelf {};\n}\n')
        self.write('shop/till/coin.h', '#include "shop/store/shelf.h"\nnamespace shop::till {\nstruct Coin {};\n}\n')
        self.write('shop/open.h', 'namespace shop {\nclass Door;\n}\nnamespace shop {\nvoid open();\n}\n')
        self.write('shop/open.cpp', '#include "shop/open.h"\n#include "base/result.h"\n'
                   '#include "shop/till/coin.h"\nnamespace shop {\n}\n')

    def write(self, path, text):
        whole = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, 'w', encoding='utf-8') as file:
            file.write(text)

    def check(self, *arguments):
        done = subprocess.run([sys.executable, '-B', CHECK, '--root', self.folder.name, *arguments],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_a_sound_house_passes(self):
        for arguments in (['--folder', 'base'], ['--folder', 'shop'], ['--cycles'], ['--stems']):
            self.assertEqual(self.check(*arguments), (0, ''), arguments)

    def test_a_folder_that_may_not_be_included(self):
        self.write('base/back.h', '#include "shop/open.h"\nnamespace base {\n}\n')
        status, text = self.check('--folder', 'base')
        self.assertEqual(status, 1)
        self.assertIn('base/back.h: base/ may not include shop/open.h', text)

    def test_a_subfolder_that_may_not_be_included(self):
        self.write('shop/store/shelf.h', '#include "shop/till/coin.h"\nnamespace shop::store {\n}\n')
        status, text = self.check('--folder', 'shop')
        self.assertEqual(status, 1)
        self.assertIn('shop/store/ may not include shop/till/coin.h', text)

    def test_a_cycle_of_subfolders(self):
        self.write('shop/store/shelf.h', '#include "shop/till/coin.h"\nnamespace shop::store {\n}\n')
        status, text = self.check('--cycles')
        self.assertEqual(status, 1)
        self.assertIn('include cycle: shop/store shop/till', text)
        self.assertIn('shop/till/coin.h includes shop/store/shelf.h', text)

    def test_a_cycle_through_a_file_of_the_parent_folder(self):
        self.write('shop/open.h', '#include "shop/till/coin.h"\nnamespace shop {\nvoid open();\n}\n')
        self.write('shop/till/coin.h', '#include "shop/open.h"\nnamespace shop::till {\n}\n')
        status, text = self.check('--cycles')
        self.assertEqual(status, 1)
        self.assertIn('include cycle: shop/open.h shop/till', text)

    def test_another_namespace_than_the_folders(self):
        self.write('shop/till/coin.h', 'namespace coins {\nstruct Coin {};\n}\n')
        status, text = self.check('--folder', 'shop')
        self.assertEqual(status, 1)
        self.assertIn('shop/till/coin.h: namespace coins, but the folder has shop::till', text)

    def test_a_folder_without_a_row(self):
        self.write('shop/attic/box.h', 'namespace shop {\n}\n')
        status, text = self.check('--folder', 'shop')
        self.assertEqual(status, 1)
        self.assertIn('shop/attic/ has no row', text)

    def test_a_word_of_a_row_that_no_file_needs(self):
        self.write('shop/open.cpp', '#include "shop/open.h"\nnamespace shop {\n}\n')
        status, text = self.check('--folder', 'shop')
        self.assertEqual(status, 1)
        self.assertEqual(text, 'cmake/layers.txt: shop/ may include base, and no file of shop/ does\n'
                               'cmake/layers.txt: shop/ may include shop/*, and no file of shop/ does\n')
        self.assertEqual(self.check('--folder', 'base'), (0, ''))

    def test_a_row_without_a_folder(self):
        self.write('cmake/layers.txt', TABLE + 'cellar | cellar |\n')
        status, text = self.check('--cycles')
        self.assertEqual(status, 1)
        self.assertIn('there is no folder cellar/', text)

    def test_a_header_that_has_one_home(self):
        self.write('shop/open.cpp', '#include <pcap.h>\nnamespace shop {\n}\n')
        status, text = self.check('--folder', 'shop')
        self.assertEqual(status, 1)
        self.assertIn('<pcap.h> is for capture/ alone', text)

    def test_the_engine_behind_the_analyzer(self):
        self.write('cmake/layers.txt', TABLE + 'metrics/measure/engine | metrics::measure::engine |\n' +
                   'cli | cli | metrics/measure/engine\n')
        self.write('metrics/measure/engine/analyzer.h', 'namespace metrics::measure::engine {\n}\n')
        self.write('metrics/measure/engine/worker.h', 'namespace metrics::measure::engine {\n}\n')
        self.write('cli/flows.h', '#include "metrics/measure/engine/analyzer.h"\nnamespace cli {\n}\n')
        self.assertEqual(self.check('--folder', 'cli')[0], 0)
        self.write('cli/flows.h', '#include "metrics/measure/engine/worker.h"\nnamespace cli {\n}\n')
        status, text = self.check('--folder', 'cli')
        self.assertEqual(status, 1)
        self.assertIn('metrics/measure/engine/worker.h is for metrics/ alone', text)

    def test_a_name_that_two_headers_have(self):
        self.write('base/coin.h', 'namespace base {\n}\n')
        status, text = self.check('--stems')
        self.assertEqual(status, 1)
        self.assertIn('coin.h stands in several folders', text)
        self.assertIn('base/coin.h shop/till/coin.h', text)

    def test_a_name_that_a_test_took(self):
        self.write('tests/unit/shop/coin.h', 'namespace shop_test {\n}\n')
        status, text = self.check('--stems')
        self.assertEqual(status, 1)
        self.assertIn('shop/till/coin.h tests/unit/shop/coin.h', text)

    def test_names_that_are_parallel_on_purpose(self):
        self.write('shop/till/options.h', 'namespace shop::till {\n}\n')
        self.write('shop/store/options.h', 'namespace shop::inline store {\n}\n')
        self.assertEqual(self.check('--stems'), (0, ''))


if __name__ == '__main__':
    unittest.main()
