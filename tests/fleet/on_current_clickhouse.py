#!/usr/bin/env python3
"""Runs tests of the fleet on a current ClickHouse: Debian has 18.16 only, and ./dev test takes nothing from elsewhere. By hand:

  npm install --prefix FOLDER chdb
  RDMASCOPE_BINARY=build/release/rdmascope RDMASCOPE_ROWS_PROBE=build/release/rows_probe NODE_PATH=FOLDER/node_modules \\
      python3 tests/fleet/on_current_clickhouse.py test_questions [NAME ...]

Modules: test_questions, test_dashboard, and of test_fleet the classes Questions and Schema, but for the test that begins with the tables
of 18.16. The engine is embedded: one server, no cluster, no accounts."""
import os
import pathlib
import subprocess
import sys
import time
import unittest

import clickhouse

ENGINE = pathlib.Path(__file__).with_name('embedded_engine.js')


class Embedded(clickhouse.Server):
    """A process of node with the engine. It stands for all shards."""

    def start(self, patience=60):
        if self.process is not None:
            return
        self.process = subprocess.Popen(['node', ENGINE, str(self.http), self.folder], stdout=subprocess.DEVNULL)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                self.query('SELECT 1')
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise RuntimeError('the engine does not start: is NODE_PATH the folder node_modules that has chdb?')

    def query(self, sql, data=b'', timeout=120, gzip=False, **settings):
        # Before version 25, numbers of 64 bits were texts in JSON.
        return super().query(sql, data, timeout, gzip, output_format_json_quote_64bit_integers=1, **settings)


class EmbeddedCluster(clickhouse.Cluster):
    """The surface of clickhouse.Cluster."""

    def __init__(self, folder, shards=2, addresses=None, password='secret', zstd=False):
        self.servers = [Embedded(folder, '127.0.0.1', clickhouse.free_ports(3), password)] * len(addresses or range(shards))


def schema(*options):
    """For a current server: the options of a cluster are left out."""
    kept = [option for at, option in enumerate(options) if '--cluster' not in (option, options[at - 1] if at else '')]
    return subprocess.run([os.environ['RDMASCOPE_BINARY'], 'fleet', 'schema', *kept], check=True, capture_output=True, text=True).stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    clickhouse.Cluster = EmbeddedCluster
    clickhouse.find_server = lambda: 'node'
    import test_fleet  # pylint: disable=import-outside-toplevel
    test_fleet.schema = schema
    unittest.main(module=sys.argv[1], argv=[sys.argv[0], '-v', *sys.argv[2:]])


if __name__ == '__main__':
    main()
