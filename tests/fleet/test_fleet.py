"""Rows of daemons in real ClickHouse servers, and the questions that are asked of them. What the engine holds is compared with what the
endpoints say that they did, after daemons and servers were killed at random."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import time
import unittest

import clickhouse
from fleet_hosts import ADDRESSES, BINARY, ENVIRONMENT, FleetDaemon, FleetHosts, wait_for

PASSWORD = 'a secret'
SEED = int(os.environ.get('RDMASCOPE_SEED', time.time_ns() % 1_000_000))
NS = 1_000_000_000
MINUTE = 60 * NS


def setUpModule():
    if clickhouse.find_server() is None:
        raise unittest.SkipTest('there is no clickhouse-server: ./dev test unpacks it')
    if os.geteuid() != 0:
        raise unittest.SkipTest('network namespaces need root')


def schema(*options):
    return subprocess.run([BINARY, 'fleet', 'schema', '--server', '18.16', *options], check=True, capture_output=True,
                          text=True).stdout


class Fleet:
    """Two shards with the schema, in a folder that goes with the test."""

    def __init__(self, addresses=('127.0.0.1', '127.0.0.1'), statements=None):
        self.statements = statements
        self.folder = tempfile.TemporaryDirectory(prefix='rdmascope-fleet-')
        self.cluster = clickhouse.Cluster(self.folder.name, addresses=list(addresses), password=PASSWORD)
        self.password = pathlib.Path(self.folder.name) / 'password'
        self.password.write_text(PASSWORD + '\n')

    def __enter__(self):
        self.cluster.__enter__()
        try:
            for server in self.cluster.servers:
                server.statements(self.statements or schema('--cluster', 'fleet'))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.cluster.stop()
        self.folder.cleanup()

    def ask(self, part, *options, check=True, shard=0):
        """A question, as JSON."""
        asked = subprocess.run(
            [BINARY, 'fleet', part, '--url', f'http://127.0.0.1:{self.cluster.servers[shard].http}', '--user', 'default',
             '--password-file', self.password, '--json', *map(str, options)],
            capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
        if not check:
            return asked
        assert asked.returncode == 0, asked.stderr
        return json.loads(asked.stdout)

    def merge(self):
        """Copies disappear, and rows that roll-ups do not keep."""
        for server in self.cluster.servers:
            for table in ('flows_local', 'flows_minute_local', 'flows_hour_local'):
                server.query(f'OPTIMIZE TABLE rdmascope.{table} FINAL')

    def query(self, sql, shard=0):
        return self.cluster.servers[shard].query(sql, database='rdmascope', distributed_group_by_no_merge=1)

    def insert(self, table, rows):
        """Rows as dictionaries; columns that are left out have their defaults."""
        self.cluster.servers[0].query(f'INSERT INTO rdmascope.{table} FORMAT JSONEachRow',
                                      data='\n'.join(json.dumps(row) for row in rows).encode(), insert_distributed_sync=1)


def state(host, flow, sequence, end_ns, **figures):
    """A row of `flows`."""
    seconds = end_ns // NS
    return {'hour': seconds - seconds % 3600, 'host': host, 'boot': 1, 'flow': flow, 'sequence': sequence,
            'end_ns': end_ns, 'transport': 'roce2', 'service': 'RC', 'begins': 3, **figures}


class Schema(unittest.TestCase):
    def test_statements_can_be_repeated_and_tables_are_empty(self):
        with Fleet() as fleet:
            for server in fleet.cluster.servers:
                server.statements(schema('--cluster', 'fleet'))
            for table in ('flows', 'flows_minute', 'flows_hour', 'commands', 'commands_minute', 'commands_hour', 'events', 'paths', 'paths_minute',
                          'paths_hour', 'answers', 'hosts', 'counters', 'health'):
                self.assertEqual(fleet.query(f'SELECT count() FROM {table}').split()[0], '0', table)
            self.assertEqual(fleet.query('SELECT DISTINCT version FROM schema_version').strip(), '2')

    def test_tables_of_an_older_schema_are_brought_to_the_present_one(self):
        """They get the columns of new tables, in the same order, and keep their rows; daemons of the older version still insert."""
        begin = Questions.BEGIN
        old = [state('a', 7, number, begin + offset * NS, packets=packets, wire_bytes=packets * 10)
               for number, offset, packets in ((1, -30, 100), (2, 30, 250), (3, 90, 300))]
        scope = ('--from', f'@{begin // NS}', '--to', f'@{begin // NS + 3600}')
        with Fleet(statements=(pathlib.Path(__file__).parent / 'schemas/1.sql').read_text()) as fleet:
            fleet.insert('flows', old[:2])
            for server in fleet.cluster.servers:
                server.statements(schema('--cluster', 'fleet', '--migrate', '1'))
                server.statements(schema('--cluster', 'fleet', '--database', 'fresh'))
            fleet.insert('flows', old[2:] + [{**state('b', 1, 1, begin + 30 * NS, packets=5), 'entropy': 9, 'dscp': 26}])
            fleet.merge()
            for server in fleet.cluster.servers:
                names = [set(server.query(f'SHOW TABLES FROM {database}').split()) for database in ('rdmascope', 'fresh')]
                self.assertEqual(*names)
                for name in names[0]:
                    tables = [server.query(f'DESCRIBE TABLE {database}.{name}') for database in ('rdmascope', 'fresh')]
                    self.assertEqual(*tables, name)
                self.assertEqual(set(server.query('SELECT version FROM rdmascope.schema_version').split()), {'1', '2'})
            for resolution in ('interval', 'minute', 'hour'):
                flows = fleet.ask('flows', *scope, '--resolution', resolution)['flows']
                self.assertEqual({(flow['host'], flow['id']): flow['packets'] for flow in flows}, {('a', 7): 200, ('b', 1): 0}, resolution)
            for table in ('flows', 'flows_minute', 'flows_hour'):
                self.assertEqual(set(fleet.query(f"SELECT entropy, dscp FROM {table} WHERE host = 'b'").splitlines()), {'9\t26'}, table)

    def test_only_older_schemas_are_migrated(self):
        for version, reason in (('2', 'nothing to change'), ('7', 'there is no schema 7')):
            refused = subprocess.run([BINARY, 'fleet', 'schema', '--migrate', version], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(reason, refused.stderr)
        current = subprocess.run([BINARY, 'fleet', 'schema', '--migrate', '1', '--ttl', '30'], check=True, capture_output=True, text=True).stdout
        self.assertIn('ADD COLUMN IF NOT EXISTS entropy UInt64 CODEC(Delta, ZSTD(1)) AFTER round_trip_min_ns', current)

    def test_one_server_without_a_cluster(self):
        with tempfile.TemporaryDirectory(prefix='rdmascope-fleet-') as folder:
            with clickhouse.Cluster(folder, shards=1) as cluster:
                cluster.servers[0].statements(schema('--ttl', '30'))
                self.assertIn('flows_hour', cluster.servers[0].query('SHOW TABLES FROM rdmascope'))

    def test_current_servers_get_codecs_ttl_and_rights(self):
        current = subprocess.run([BINARY, 'fleet', 'schema', '--ttl', '30', '--replicated', '--cluster', 'c'], check=True,
                                 capture_output=True, text=True).stdout
        self.assertIn('LowCardinality(String) CODEC(ZSTD(1))', current)
        self.assertIn('TTL hour + INTERVAL 30 DAY', current)
        self.assertIn("ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/rdmascope/flows', '{replica}'", current)
        # Current servers take hours of their time zone, which may begin half an hour after those of the questions.
        self.assertNotIn('toStartOf', current)
        grants = subprocess.run([BINARY, 'fleet', 'schema', '--grants'], check=True, capture_output=True, text=True).stdout
        self.assertIn('GRANT INSERT ON rdmascope.*', grants)
        self.assertIn('GRANT SELECT ON rdmascope.*', grants)

    def test_names_that_are_no_names_are_refused(self):
        for option, value in (('--database', 'a; DROP'), ('--cluster', "x'y"), ('--server', 'new')):
            refused = subprocess.run([BINARY, 'fleet', 'schema', option, value], capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0, option)
            self.assertIn(option, refused.stderr)

    def test_options_of_other_parts_are_refused(self):
        for part, option, value, reason in (('paths', '--filter', 'packets > 1', '--filter is an option of flows and io, not of paths'),
                                            ('pairs', '--sort', 'packets', '--sort is an option of flows and io, not of pairs'),
                                            ('io', '--columns', 'packets', '--columns is an option of flows, not of io'),
                                            ('why', '--by', 'pair', '--by is an option of top and io, not of why'),
                                            ('flows', '--paths', '4', '--paths is an option of paths, not of flows'),
                                            ('hosts', '--racks', '/dev/null', '--racks is an option of why, not of hosts')):
            refused = subprocess.run([BINARY, 'fleet', part, '--url', 'http://127.0.0.1:9', option, value], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2, option)
            self.assertIn(reason, refused.stderr)

    def test_times_without_a_length_are_refused(self):
        for times, reason in ((('--from', '@4000000000'), '--from is in the future'),
                              (('--from', '@100', '--to', '@100'), '--from is not before --to')):
            refused = subprocess.run([BINARY, 'fleet', 'top', '--url', 'http://127.0.0.1:9', *times], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2, times)
            self.assertIn(reason, refused.stderr)


class Questions(unittest.TestCase):
    """On rows that the tests make: what the questions must say is counted here."""

    BEGIN = 1_600_000_000 // 3600 * 3600 * NS

    def scope(self, minutes=10, resolution='interval'):
        return ('--from', f'@{self.BEGIN // NS}', '--to', f'@{(self.BEGIN + minutes * MINUTE) // NS}', '--resolution', resolution)

    def test_differences_of_states_whatever_arrives_twice(self):
        # Three states of a flow before, at the beginning of and within the time that is asked for: 100, 250, 300 packets.
        rows = [state('a', 7, number, self.BEGIN + offset * NS, packets=packets, wire_bytes=packets * 10,
                      amount_keys=[1 << 16 | 3, 19 << 16 | 70], amounts=[packets // 10, packets // 10])
                for number, offset, packets in ((1, -30, 100), (2, -20, 250), (3, 40, 280), (4, 70, 300))]
        # One that began there, and one that was silent there.
        rows += [state('a', 8, 2, self.BEGIN - 20 * NS), state('a', 8, 3, self.BEGIN + 40 * NS, packets=5, wire_bytes=50)]
        rows += [state('b', 7, 2, self.BEGIN - 20 * NS, packets=9)]
        with Fleet() as fleet:
            for _ in range(3):
                fleet.insert('flows', rows)
            for resolution in ('interval', 'minute', 'hour'):
                answer = fleet.ask('flows', *self.scope(60, resolution))
                figures = {(flow['host'], flow['id']): flow for flow in answer['flows']}
                self.assertEqual(sorted(figures), [('a', 7), ('a', 8)], resolution)
                self.assertEqual(figures['a', 7]['packets'], 50, resolution)
                self.assertEqual(figures['a', 7]['wire_bytes'], 500, resolution)
                self.assertEqual(figures['a', 7]['messages']['write']['count'], 5, resolution)
                self.assertEqual(figures['a', 7]['latency_ns']['write']['count'], 5, resolution)
                self.assertEqual(figures['a', 8]['packets'], 5, resolution)
            within = fleet.ask('flows', '--from', f'@{self.BEGIN // NS}', '--to', f'@{self.BEGIN // NS + 50}')
            self.assertEqual({flow['id']: flow['packets'] for flow in within['flows']}, {7: 30, 8: 5})
            fleet.merge()
            for resolution in ('interval', 'minute', 'hour'):
                answer = fleet.ask('flows', *self.scope(60, resolution))
                self.assertEqual({(flow['host'], flow['id']): flow['packets'] for flow in answer['flows']},
                                 {('a', 7): 50, ('a', 8): 5}, resolution)

    def test_estimates_that_later_packets_corrected_are_the_last_ones(self):
        rows = [state('a', 7, number, self.BEGIN + offset * NS, known=15, packets=100 * number, missing_packets=missing,
                      retransmitted_packets=4, timeouts=timeouts)
                for number, offset, missing, timeouts in ((1, -20, 2, 1), (2, 30, 12, 2), (3, 60, 5, 1))]
        rows += [state('a', 8, number, self.BEGIN + offset * NS, known=15, packets=100 * number, missing_packets=missing)
                 for number, offset, missing in ((1, -20, 9), (2, 30, 3))]
        with Fleet() as fleet:
            fleet.insert('flows', rows)
            for resolution in ('interval', 'minute', 'hour'):
                flows = {flow['id']: flow for flow in fleet.ask('flows', *self.scope(60, resolution))['flows']}
                self.assertEqual([flows[7][name] for name in ('missing_packets', 'retransmitted_packets', 'timeouts')], [3, 0, 0],
                                 resolution)
                self.assertEqual(flows[8]['missing_packets'], 0, resolution)
            chosen = fleet.ask('flows', *self.scope(), '--filter', 'missing_packets > 3 or timeouts > 0')
            self.assertEqual(chosen['all_flows'], 0)

    def test_hostile_names_are_texts(self):
        hostile = ["it's", 'a\\', "'; DROP TABLE flows; --", 'tab\tline\n', '<b>', "\\'", 'ü']
        rows = [row for number, name in enumerate(hostile)
                for row in (state(name, 1, 0, self.BEGIN + NS), state(name, 1, 1, self.BEGIN + 2 * NS, packets=number + 1))]
        with Fleet() as fleet:
            fleet.insert('flows', rows)
            answer = fleet.ask('flows', *self.scope())
            self.assertEqual({flow['host']: flow['packets'] for flow in answer['flows']},
                             {name: number + 1 for number, name in enumerate(hostile)})
            for number, name in enumerate(hostile):
                quoted = '"' + name.replace('\\', '\\\\').replace('"', '\\"').replace('\t', '\\t').replace('\n', '\\n') + '"'
                chosen = fleet.ask('flows', *self.scope(), '--filter', f'host == {quoted}')
                self.assertEqual([flow['packets'] for flow in chosen['flows']], [number + 1], name)
            self.assertIn('flows', fleet.query('SHOW TABLES'))
            table = subprocess.run([BINARY, 'fleet', 'flows', '--url', fleet.cluster.servers[0].url, '--user', 'default',
                                    '--password-file', fleet.password, *self.scope()], capture_output=True, check=True).stdout
            self.assertEqual(len(table.splitlines()), 1 + len(hostile))
            fleet.insert('flows', [state('esc', 9, number, self.BEGIN + (1 + number) * NS, packets=number, wire_bytes=number,
                                         source_address='\x1b[2J', destination_address="'\\") for number in (0, 1)])
            for part in ('top', 'hosts', 'pairs', 'why'):
                self.assertEqual(fleet.ask(part, *self.scope(), check=False).returncode, 0, part)
                text = subprocess.run([BINARY, 'fleet', part, '--url', fleet.cluster.servers[0].url, '--user', 'default',
                                       '--password-file', fleet.password, *self.scope()], capture_output=True, check=True).stdout
                self.assertNotIn(b'\x1b', text, part)

    def test_filter_and_sort_are_the_engines(self):
        rows = []
        for flow in range(1, 41):
            rows += [state('a', flow, 0, self.BEGIN + NS),
                     state('a', flow, 1, self.BEGIN + 2 * NS, packets=flow, wire_bytes=1000 - flow, timeouts=flow % 4)]
        with Fleet() as fleet:
            fleet.insert('flows', rows)
            chosen = fleet.ask('flows', *self.scope(), '--filter', 'timeouts == 3 and packets > 10', '--sort', 'packets',
                               '--top', 5)
            self.assertEqual([flow['packets'] for flow in chosen['flows']], [39, 35, 31, 27, 23])
            self.assertEqual(chosen['all_flows'], 8)  # 11, 15, ... 39
            largest = fleet.ask('flows', *self.scope(), '--top', 2)
            self.assertEqual([flow['wire_bytes'] for flow in largest['flows']], [999, 998])
            for wrong in ('packts > 1', 'packets >', 'packets > many', 'latency_p99 > 1ms'):
                refused = fleet.ask('flows', *self.scope(), '--filter', wrong, check=False)
                self.assertEqual(refused.returncode, 1, wrong)
                self.assertIn('--filter, column', refused.stderr)

    def both_ends(self, number, source, destination, packets, arrived, **figures):
        """A flow as the daemons of both ends counted it."""
        ends = {'source_address': source, 'destination_address': destination, 'destination_qpn': 100 + number}
        rows = []
        for host, end, count in ((source, 'source', packets), (destination, 'destination', arrived)):
            rows += [state(host, number, 0, self.BEGIN + NS, own_end=end, **ends),
                     state(host, number, 1, self.BEGIN + 2 * NS, own_end=end, packets=count, wire_bytes=100 * count, **ends,
                           **figures)]
        return rows

    def test_pairs_join_both_ends_across_shards(self):
        rows = self.both_ends(1, '192.0.2.1', '192.0.2.2', 1000, 990) + self.both_ends(2, '192.0.2.2', '192.0.2.1', 500, 500)
        rows += self.both_ends(3, '192.0.2.1', '192.0.2.3', 300, 300)[:2]  # no daemon at the destination
        with Fleet() as fleet:
            fleet.insert('flows', rows + rows)
            counts = [int(fleet.query('SELECT count() FROM flows_local', shard)) for shard in (0, 1)]
            self.assertTrue(all(counts), f'all rows are on one shard: {counts}')
            answer = fleet.ask('pairs', *self.scope())
            self.assertEqual((answer['all_pairs'], answer['flows_of_one_end']), (2, 1))
            first, second = answer['pairs']
            self.assertEqual((first['sent_packets'], first['arrived_packets'], first['fewer_counted']), (1000, 990, 10))
            self.assertEqual(first['lost_between'], 0, 'counts alone prove no loss: intervals end at different times')
            self.assertTrue(first['complete'])
            self.assertEqual((first['source']['host'], first['destination']['host']), ('192.0.2.1', '192.0.2.2'))
            self.assertEqual(second['lost_between'], 0)
            top = fleet.ask('top', *self.scope())
            # Each flow once, by its sender: .1 sends 1000 and 300 packets, .2 sends 500.
            self.assertEqual({group['host']: (group['sent_bytes'], group['received_bytes']) for group in top['groups']},
                             {'192.0.2.1': (130_000, 50_000), '192.0.2.2': (50_000, 100_000), '192.0.2.3': (0, 30_000)})

    def test_pairs_say_where_packets_were_lost(self):
        def one(number, at_source, at_destination, **figures):
            rows = self.both_ends(number, '192.0.2.1', '192.0.2.2', 1000, 1000, known=15)
            rows[1].update(missing_packets=at_source, retransmitted_packets=5)
            rows[3].update(missing_packets=at_destination, retransmitted_packets=5, **figures)
            return rows
        # Lost between the taps, before the source's tap (both taps lack them), after the destination's, and some of the first two.
        rows = one(1, 0, 4) + one(2, 3, 3) + one(3, 0, 0) + one(4, 1, 3)
        # A queue pair number that is used again: each daemon has two flows with it.
        for number, host in enumerate(('192.0.2.1', '192.0.2.2')):
            rows += [{**row, 'flow': 99} for row in one(1, 0, 2)[2 * number:2 * number + 2]]
        # A destination whose daemon began while the flow went on.
        late = one(5, 0, 0)
        for row in late[2:]:
            row.update(first_ns=self.BEGIN + 90 * NS)
        with Fleet() as fleet:
            fleet.insert('flows', rows + late)
            pairs = {pair['destination']['qpn'] - 100: pair for pair in fleet.ask('pairs', *self.scope())['pairs']}
        self.assertEqual({number: pair['lost_between'] for number, pair in pairs.items()}, {1: 4 + 2, 2: 0, 3: 0, 4: 2, 5: 0})
        self.assertEqual({number: pair['missing_at_source'] for number, pair in pairs.items()}, {1: 0, 2: 3, 3: 0, 4: 1, 5: 0})
        self.assertEqual({number: pair['repeated_after_arrival'] for number, pair in pairs.items()}, {1: 0, 2: 0, 3: 5, 4: 0, 5: 5})
        self.assertEqual({number: pair['complete'] for number, pair in pairs.items()}, {1: True, 2: True, 3: True, 4: True, 5: False})
        self.assertAlmostEqual(pairs[4]['lost_between_share'], 2 / 1000)

    def test_why_says_since_when_and_at_which_host(self):
        """Time-outs of the flows to .9 began in the interval that 02:00 after the beginning ended; one flow had some long before."""
        rows = []
        for number in range(12):
            for host, end in ((f'192.0.2.{20 + number}', 'source'), ('node-9', 'destination')):
                for sequence, offset in ((1, -60), (2, -20), (3, 110), (4, 120), (5, 130)):
                    late = number < 9 and end == 'source'
                    count = {1: 0, 2: 0, 3: 0, 4: 1, 5: 4}[sequence] if late else 0
                    rows.append(state(host, number, sequence, self.BEGIN + offset * NS, own_end=end, packets=sequence, destination_qpn=number,
                                      source_address=f'192.0.2.{20 + number}', destination_address='192.0.2.9', timeouts=count, first_ns=1))
        for sequence, offset in ((1, -60), (2, 110)):
            rows.append(state('192.0.2.40', 50, sequence, self.BEGIN + offset * NS, own_end='source', packets=sequence, timeouts=7,
                              source_address='192.0.2.40', destination_address='192.0.2.41'))
        with Fleet() as fleet:
            fleet.insert('flows', rows + rows)
            finding, = fleet.ask('why', *self.scope())['findings']
            page = subprocess.run([BINARY, 'fleet', 'why', '--url', fleet.cluster.servers[0].url, '--user', 'default', '--password-file',
                                   fleet.password, *self.scope()], capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout
        self.assertEqual((finding['troubled'], finding['amount'], finding['flows']), (9, 36, 13))
        # The last state without them is that of the interval before.
        self.assertEqual(finding['since_ns'], self.BEGIN + 110 * NS)
        self.assertEqual((finding['groups'][0]['value'], finding['groups'][0]['host']), ('192.0.2.9', 'node-9'))
        began = time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(self.BEGIN // NS + 110))
        self.assertIn(f'9 of 9 flows with time-outs since {began} end at 192.0.2.9 (node-9)', page)

    def test_why_says_since_when_of_each_trouble(self):
        """Flow 1 has time-outs from 120 s on, flow 2 answers without a receiver from 130 s on, flow 3 time-outs then; the answers that flow 3
        had were before the time that is asked for."""
        figures = {1: [(0, 0), (0, 0), (2, 0), (2, 0)], 2: [(0, 0), (0, 0), (0, 0), (0, 5)], 3: [(0, 6), (0, 6), (0, 6), (1, 6)]}
        rows = [state('a', flow, sequence, self.BEGIN + offset * NS, packets=sequence, timeouts=timeouts, rnr_naks=rnr, source_address='192.0.2.1',
                      destination_address=f'192.0.2.{10 + flow}', own_end='source')
                for flow, states in figures.items()
                for sequence, (offset, (timeouts, rnr)) in enumerate(zip((-20, 110, 120, 130), states), 1)]
        with Fleet() as fleet:
            fleet.insert('flows', rows + rows)
            findings = {finding['trouble']: finding for finding in fleet.ask('why', *self.scope())['findings']}
        self.assertEqual({name: (finding['troubled'], finding['amount'], finding['since_ns'] - self.BEGIN) for name, finding in findings.items()},
                         {'timeouts': (2, 3, 110 * NS), 'rnr': (1, 5, 120 * NS)})

    def test_why_names_what_flows_with_a_trouble_share(self):
        rows = []
        # 27 of the 31 flows to .9 have time-outs, and 3 of 200 others.
        for number in range(31):
            rows += self.both_ends(number, f'192.0.2.{10 + number % 8}', '192.0.2.9', 100, 100, timeouts=int(number < 27))
        for number in range(200):
            rows += self.both_ends(1000 + number, f'192.0.2.{10 + number % 8}', f'192.0.2.{30 + number % 20}', 100, 100,
                                   timeouts=int(number % 70 == 0))
        with Fleet() as fleet:
            fleet.insert('flows', rows)
            finding, = fleet.ask('why', *self.scope())['findings']
            self.assertEqual((finding['trouble'], finding['troubled'], finding['flows']), ('timeouts', 30, 231))
            best = finding['groups'][0]
            self.assertEqual((best['shared'], best['value'], best['troubled'], best['flows']),
                             ('destination', '192.0.2.9', 27, 31))
            self.assertAlmostEqual(best['fit'], 2 * 27 / (31 + 30))

    def test_why_says_where_there_are_no_flows(self):
        with Fleet() as fleet:
            self.assertEqual(fleet.ask('why', *self.scope())['all_flows'], 0)
            fleet.insert('flows', self.both_ends(1, '192.0.2.1', '192.0.2.2', 10, 10))
            answer = fleet.ask('why', *self.scope())
            self.assertEqual((answer['all_flows'], answer['findings']), (1, []))
            asked = [BINARY, 'fleet', 'why', '--url', fleet.cluster.servers[0].url, '--user', 'default', '--password-file',
                     fleet.password]
            for scope, begin in ((self.scope(), 'OK: '), (('--from', '@1500000000', '--to', '@1500000060'), 'No flow had traffic')):
                page = subprocess.run([*asked, *scope], capture_output=True, text=True, env=ENVIRONMENT, check=True).stdout
                self.assertTrue(page.startswith(begin), page)

    def test_many_racks_fit_into_a_statement(self):
        with Fleet() as fleet, tempfile.NamedTemporaryFile('w') as racks:
            racks.write(''.join(f'10.{each >> 8}.{each & 255}.1 rack-{each // 32}\n' for each in range(10_000)))
            racks.flush()
            fleet.insert('flows', self.both_ends(1, '10.0.1.1', '192.0.2.2', 10, 10, timeouts=1)
                         + self.both_ends(2, '10.9.1.1', '192.0.2.2', 10, 10))
            finding, = fleet.ask('why', *self.scope(), '--racks', racks.name)['findings']
            self.assertIn(('source rack', 'rack-0'), [(group['shared'], group['value']) for group in finding['groups']])

    def test_racks_of_what_is_no_address_are_refused(self):
        with tempfile.NamedTemporaryFile('w') as racks:
            racks.write('192.0.2.1 r1\nnode-7 r1\n')
            racks.flush()
            refused = subprocess.run([BINARY, 'fleet', 'why', '--url', 'http://127.0.0.1:9', '--racks', racks.name],
                                     capture_output=True, text=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("line 2: 'node-7' is not an IP address", refused.stderr)

    def test_why_sees_racks_and_says_where_nothing_is_shared(self):
        rows = []
        for number in range(160):
            source, destination = f'192.0.2.{10 + number % 16}', f'192.0.2.{100 + number // 16}'
            in_rack = number % 16 < 4  # sources .10 to .13 are in the rack r1
            rows += self.both_ends(number, source, destination, 100, 100, rnr_naks=int(number % 4 == number // 16 % 4),
                                   ecn_ce_packets=3 * in_rack)
        with Fleet() as fleet, tempfile.NamedTemporaryFile('w') as racks:
            racks.write('# racks\n' + ''.join(f"192.0.2.{10 + each} r{1 + each // 4}'\n" for each in range(16)))
            racks.flush()
            fleet.insert('flows', rows)
            findings = {finding['trouble']: finding for finding in fleet.ask('why', *self.scope(), '--racks', racks.name)['findings']}
            best = findings['congestion']['groups'][0]
            self.assertEqual((best['shared'], best['value'], best['troubled'], best['flows']), ('source rack', "r1'", 40, 40))
            self.assertEqual(findings['rnr']['groups'], [])


class Sinks(unittest.TestCase):
    """Sinks without a capture, whose processes and servers are killed while they send as fast as they can."""

    SECONDS = float(os.environ.get('RDMASCOPE_FLEET_SECONDS', 10))

    def start(self, fleet, host, boot, intervals):
        server = fleet.cluster.servers[host % 2]
        return subprocess.Popen([os.environ['RDMASCOPE_SINK_PROBE'], server.url, PASSWORD, f'{fleet.folder.name}/spool{host}', f'sink-{host}',
                                 str(boot), str(intervals)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    @staticmethod
    def said(process):
        """What the process printed until it was killed: packets that are kept for certain, and that may be."""
        offered, kept = {0: 0}, 0
        for line in process.stdout:
            word, *numbers = line.split()
            if word == 'offered' and len(numbers) == 2:
                offered[int(numbers[0])] = int(numbers[1])
            elif word == 'kept' and line.endswith('\n'):
                kept = int(numbers[0])
        process.stdout.close()
        return offered[kept], offered[max(offered)]

    def test_every_interval_that_was_kept_counts_once(self):
        chance = random.Random(SEED)
        expected = {}
        with Fleet() as fleet:
            running = {}
            end = time.monotonic() + self.SECONDS
            boot = 0
            while time.monotonic() < end:
                for host in range(3):
                    if host not in running:
                        boot += 1
                        running[host] = boot, self.start(fleet, host, boot, 1_000_000)
                time.sleep(chance.random() * 0.5)
                for host in list(running):
                    if chance.random() < 0.5:
                        self.kill(running.pop(host), host, expected)
                for server in fleet.cluster.servers:
                    if server.process is None:
                        server.start()
                    elif chance.random() < 0.2:
                        server.kill()
            for host, process in running.items():
                self.kill(process, host, expected)
            for server in fleet.cluster.servers:
                if server.process is None:
                    server.start()
            for host in range(3):
                last = self.start(fleet, host, 10 ** 9, 0)
                self.assertEqual(last.communicate(timeout=300)[0], 'done\n')
            self.assertGreater(sum(least for least, _ in expected.values()), 0)
            for when in ('before merges', 'after merges'):
                for resolution in ('', '_minute', '_hour'):
                    self.compare(fleet, expected, f'flows{resolution}', when)
                fleet.merge()

    def kill(self, running, host, expected):
        boot, process = running
        process.kill()
        process.wait()
        expected[f'sink-{host}', boot] = self.said(process)

    def compare(self, fleet, expected, table, when):
        lines = fleet.query('SELECT host, boot, sum(packets) FROM (SELECT host, boot, flow, max(packets) - min(packets) AS packets '
                            f'FROM {table} GROUP BY host, boot, flow) GROUP BY host, boot').splitlines()
        found = {(host, int(boot)): int(packets) for host, boot, packets in (line.split('\t') for line in lines)}
        for key, possible in expected.items():
            # A process that was killed between keeping an interval and saying so has kept it.
            self.assertIn(found.get(key, 0), possible, f'{key} in {table} {when}, seed {SEED}')
        self.assertLessEqual(set(found), set(expected))


class Killed(unittest.TestCase):
    """Real traffic between two hosts; daemons and servers are killed at any moment."""

    ROUNDS = int(os.environ.get('RDMASCOPE_FLEET_ROUNDS', 8))

    def test_nothing_is_lost_and_nothing_counted_twice(self):
        chance = random.Random(SEED)
        with tempfile.TemporaryDirectory(prefix='rdmascope-fleet-daemons-') as folder, FleetHosts() as hosts, \
                Fleet(addresses=('0.0.0.0', '0.0.0.0')) as fleet:
            servers = fleet.cluster.servers
            # One sends each interval, the other one those of 2 s together.
            daemons = [FleetDaemon(hosts, host, folder, f'http://{hosts.engine_address(host)}:{servers[number].http}', PASSWORD,
                                   send_interval=('0s', '2s')[number])
                       for number, host in enumerate(ADDRESSES)]
            for daemon in daemons:
                daemon.start()
            hosts.serve('far')
            done = {'count': 0, 'bytes': 0}
            for _ in range(self.ROUNDS):
                self.round(chance, hosts, servers, daemons, done)
            for server in servers:
                if server.process is None:
                    server.start()
            for daemon in daemons:
                wait_for(f'{daemon.host} has sent all: {daemon.log.read_text()[-2000:]}',
                         lambda daemon=daemon: len(daemon.waiting()) <= 5)
                daemon.stop()
                self.assertNotIn('system call', daemon.log.read_text())
                self.assertEqual(daemon.waiting(), [])
            self.compare(fleet, done, 'before merges')
            fleet.merge()
            self.compare(fleet, done, 'after merges')
            for pair in fleet.ask('pairs', '--resolution', 'hour', '--from', '-2h', '--top', 1000)['pairs']:
                self.assertEqual(pair['lost_between'], 0, f'seed {SEED}: {pair}')

    def round(self, chance, hosts, servers, daemons, done):
        """Traffic, and after its last interval is in the spools, or a server dies during it, one process that is killed."""
        victims = [server for server in servers if server.process is not None]
        if victims and chance.random() < 0.4:
            chance.choice(victims).kill()
        figures = hosts.read('near', 'far', chance.randint(100, 2000), f'{chance.choice((1, 4, 64))}K')
        done['count'] += figures['count']
        done['bytes'] += figures['bytes']
        for daemon in daemons:
            daemon.wait_for_intervals(2)
        time.sleep(chance.random())
        if chance.random() < 0.7:
            daemon = chance.choice(daemons)
            daemon.kill()
            time.sleep(chance.random() / 2)
            daemon.start()
        for server in servers:
            if server.process is None and chance.random() < 0.6:
                server.start()

    def compare(self, fleet, done, when):
        for resolution in ('interval', 'minute', 'hour'):
            with self.subTest(resolution=resolution, when=when, seed=SEED):
                flows = fleet.ask('flows', '--from', '-2h', '--resolution', resolution, '--top', 100_000, '--columns',
                                  'messages.read,source.address')['flows']
                for host in ADDRESSES:
                    mine = [flow['messages']['read'] for flow in flows if flow['host'] == host]
                    self.assertEqual({'count': sum(each['count'] for each in mine),
                                      'bytes': sum(each['bytes'] for each in mine)}, done, host)


if __name__ == '__main__':
    unittest.main()
