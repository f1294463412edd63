"""Questions about all hosts against the same questions about one: rows of recorded captures in real servers, and what `rdmascope io` and
`rdmascope paths` say of these captures."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from test_fleet import BINARY, ENVIRONMENT, Fleet, MINUTE, NS, PASSWORD, state
from test_fleet import setUpModule  # pylint: disable=unused-import

PROBE = os.environ['RDMASCOPE_ROWS_PROBE']
PCAPS = pathlib.Path(__file__).resolve().parents[2] / 'pcaps'
BEGIN = 1_600_000_000 // 3600 * 3600 * NS
RESOLUTIONS = ('interval', 'minute', 'hour')


def send(url, spool, capture, host, own, boot=BEGIN, intervals=4):
    done = subprocess.run([PROBE, url, PASSWORD, spool, PCAPS / capture, host, own, str(boot), str(intervals)], capture_output=True,
                          text=True, timeout=300)
    assert done.stdout == 'done\n', done.stderr


def on_one_host(part, capture, *options):
    done = subprocess.run([BINARY, part, '-r', PCAPS / capture, '--json', '-n', *options], check=True, capture_output=True, text=True,
                          env=ENVIRONMENT)
    return json.loads(done.stdout)


class Rows(unittest.TestCase):
    """One server for all tests: each has hosts of its own."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)

    def empty(self):
        for server in self.fleet.cluster.servers:
            for table in ('flows', 'commands', 'paths', 'events', 'answers', 'hosts', 'health'):
                for name in (table, *(f'{table}{suffix}' for suffix in ('_minute', '_hour') if table in ('flows', 'commands', 'paths'))):
                    server.query(f'TRUNCATE TABLE rdmascope.{name}_local')

    def ask(self, part, *options, resolution='interval', minutes=10):
        return self.fleet.ask(part, '--from', f'@{BEGIN // NS}', '--to', f'@{(BEGIN + minutes * MINUTE) // NS}', '-n', '--top', 1000,
                              '--resolution', resolution, *options)

    def send(self, capture, host, own, boot=BEGIN, intervals=4, shard=0):
        with tempfile.TemporaryDirectory() as spool:
            send(self.fleet.cluster.servers[shard].url, spool, capture, host, own, boot, intervals)

    def near(self, found, expected, what):
        """Of a distribution: counts and sums are exact, quantiles, the least and the greatest value within 1 %."""
        self.assertEqual((found['count'], found['sum']), (expected['count'], expected['sum']), what)
        for quantile in ('p50', 'p99', 'min', 'max'):
            if expected[quantile] is not None:
                self.assertAlmostEqual(found[quantile], expected[quantile], delta=expected[quantile] * 0.01 + 1, msg=f'{what} {quantile}')


class Commands(Rows):
    CAPTURES = ('nvme-rdma-rxe-errors.pcap.gz', 'nfs-rdma-rxe.pcap', 'iser-rxe.pcap.gz', 'nvme-rdma-rxe-loss.pcap.gz', 'nfs-rdma-siw.pcap')

    def same(self, found, expected, what):
        for name in ('protocol', 'transport', 'initiator', 'target', 'target_name', 'queue', 'limit', 'open_max', 'operations',
                     'unbound_operations', 'late_operations', 'probes', 'events', 'overtaken', 'at_limit_ns', 'phases_ns', 'open_mean', 'what'):
            self.assertEqual(found.get(name), expected.get(name), f'{what}: {name}')
        self.near(found['host_next_ns'], expected['host_next_ns'], f'{what}: host_next_ns')
        # A kind that still waits for its first answer has had no commands in the time that is asked for.
        kinds = [kind for kind in expected['kinds'] if self.has_commands(kind)]
        self.assertEqual([kind['kind'] for kind in found['kinds']], [kind['kind'] for kind in kinds], what)
        for mine, theirs in zip(found['kinds'], kinds):
            for name, value in theirs.items():
                label = f'{what}, {theirs["kind"]}: {name}'
                if name == 'slowest':
                    self.assertEqual(mine[name], [], label)  # frames stay with the host that has them
                elif name == 'parts_ns' and value:
                    for part, figures in value.items():
                        self.near(mine[name][part], figures, f'{label} {part}')
                elif name in ('latency_ns', 'size_bytes'):
                    self.near(mine[name], value, label)
                else:
                    self.assertEqual(mine[name], value, label)

    @staticmethod
    def has_commands(kind):
        return any(kind[name] for name in ('commands', 'unanswered', 'orphans', 'given_up', 'replaced'))

    def key(self, connection):
        return tuple((end['address'], end['qpn'], end['port']) for end in (connection['initiator'], connection['target']))

    def test_connections_are_those_of_one_host(self):
        for capture in self.CAPTURES:
            self.empty()
            expected = on_one_host('io', capture)['connections']
            self.assertTrue(expected, capture)
            self.send(capture, 'near', '192.0.2.2')
            for resolution in RESOLUTIONS:
                answer = self.ask('io', resolution=resolution, minutes=60)
                self.assertEqual(answer['all_connections'], len(answer['connections']))
                self.assertEqual(len(answer['connections']), len(expected), f'{capture} {resolution}')
                for found, wanted in zip(sorted(answer['connections'], key=self.key), sorted(expected, key=self.key)):
                    self.same(found, wanted, f'{capture} {resolution}')

    def test_a_connection_counts_once_whatever_daemons_see_it(self):
        self.empty()
        capture = self.CAPTURES[0]
        for host, own, shard in (('near', '192.0.2.2', 0), ('far', '192.0.2.1', 1), ('path', '198.51.100.1', 0), ('path2', '198.51.100.2', 1)):
            self.send(capture, host, own, shard=shard)
            self.send(capture, host, own, shard=shard)  # rows that arrive twice
        for by in ('all', 'protocol', 'pair', 'initiator', 'target'):
            found, expected = self.ask('io', '--by', by)['groups'], on_one_host('io', capture, '--by', by)['groups']
            self.assertEqual(len(found), len(expected), by)
            for mine, theirs in zip(sorted(found, key=lambda each: each['group']), sorted(expected, key=lambda each: each['group'])):
                self.assertEqual((mine['group'], mine['connections']), (theirs['group'], theirs['connections']), by)
                self.same(mine, theirs, by)

    def test_filter_and_sort_choose_connections(self):
        self.empty()
        self.send(self.CAPTURES[0], 'near', '192.0.2.2')
        connections = self.ask('io')['connections']
        counts = {self.key(each): sum(kind['commands'] for kind in each['kinds']) for each in connections}
        most = max(counts.values())
        chosen = self.ask('io', '--filter', f'commands >= {most} and protocol == "nvme"')
        self.assertEqual([self.key(each) for each in chosen['connections']], [key for key, count in counts.items() if count == most])
        self.assertEqual(chosen['all_connections'], 1)
        self.assertEqual(self.ask('io', '--filter', 'protocol == "it\'s"')['connections'], [])
        fewest = self.ask('io', '--sort', '-commands')['connections']
        self.assertEqual(self.key(fewest[0]), min(counts, key=counts.get))
        refused = self.fleet.ask('io', '--filter', 'packets > 1', check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("the engine cannot choose by 'packets'", refused.stderr)

    def test_what_an_interval_adds_is_its_own(self):
        """Half of the capture passed before the time that is asked for."""
        self.empty()
        self.send(self.CAPTURES[1], 'near', '192.0.2.2', boot=BEGIN - 20 * NS)
        whole = self.fleet.ask('io', '--from', f'@{BEGIN // NS - 60}', '--to', f'@{BEGIN // NS + 60}', '--by', 'all')['groups'][0]
        halves = [self.fleet.ask('io', '--from', f'@{begin}', '--to', f'@{end}', '--by', 'all', '--resolution', 'interval')['groups'][0]
                  for begin, end in ((BEGIN // NS - 60, BEGIN // NS), (BEGIN // NS, BEGIN // NS + 60))]
        for name in ('operations', 'at_limit_ns'):
            self.assertEqual(sum(half[name] for half in halves), whole[name])
        counts = [sum(kind['commands'] for kind in each['kinds']) for each in (whole, *halves)]
        self.assertEqual(counts[0], counts[1] + counts[2])
        self.assertTrue(all(counts))


class Paths(Rows):
    CAPTURES = ('nfs-rdma-siw.pcap', 'nvme-rdma-rxe-loss.pcap.gz')

    def captures(self):
        """Those of the repository with most entropies between two hosts."""
        found = sorted(PCAPS.glob('*path*.pcap*')) + sorted(PCAPS.glob('*spray*.pcap*'))
        return [path.name for path in found] or list(self.CAPTURES)

    def test_pairs_are_those_of_one_host(self):
        for capture in (*self.CAPTURES, *self.captures()):
            self.empty()
            self.send(capture, 'near', '192.0.2.2')
            self.send(capture, 'far', '192.0.2.1', shard=1)
            expected = {self.key(pair): pair for pair in on_one_host('paths', capture)['pairs']}
            self.assertTrue(expected, capture)
            for resolution in RESOLUTIONS:
                answer = self.ask('paths', resolution=resolution, minutes=60)
                found = {self.key(pair): pair for pair in answer['pairs']}
                self.assertEqual(found.keys(), expected.keys(), capture)
                self.assertEqual(answer['all_pairs'], len(expected))
                for key, pair in expected.items():
                    self.same(found[key], pair, f'{capture} {resolution}', flows=resolution == 'interval')

    def key(self, pair):
        return pair['source']['address'], pair['destination']['address'], pair['transport'], pair['traffic_class']

    def same(self, found, expected, what, flows):
        for name in ('packets', 'bytes', 'entropies', 'effective', 'fairness', 'max_over_mean', 'expected', 'entropy_changes',
                     'late_packets', 'receiver_class', 'hop_limits', 'packets_needed'):
            self.assertEqual(found[name], expected[name], f'{what}: {name}')
        self.assertEqual(len(found['rows']), len(expected['rows']))
        for mine, theirs in zip(found['rows'], expected['rows']):
            for name, value in theirs.items():
                label = f'{what}, {theirs["entropy"]}: {name}'
                if name == 'flows' and not flows:
                    self.assertLessEqual(set(mine[name]), set(value), label)
                elif name.startswith('rtt') and value is not None:
                    self.assertAlmostEqual(mine[name], value, delta=value * 0.01 + 1, msg=label)
                else:
                    self.assertEqual(mine[name], value, label)


class PathStates(Rows):
    """When a path lost packets, from states since the daemon's start. Of four entropies to a destination, the first one loses; the others
    carry as many packets and lose none. Rows are made here, and so is what the question must say."""
    SOURCE = '192.0.2.1'
    HEALTHY = {'episodes': 0, 'since': 0, 'gap': 0, 'former': (0, 0), 'rerouted': 0}

    def states(self, destination, steps, boot=1):
        """`steps`: the end of an interval, in s after the beginning; all packets and the present route's; the lossy entropy's own figures."""
        rows = []
        for sequence, (end, packets, present, figures) in enumerate(steps):
            for port in range(50_001, 50_005):
                own = {**self.HEALTHY, **(figures if port == 50_001 else {})}
                of_route = present if port == 50_001 else packets
                former_packets, former_episodes = own['former']
                place = state(self.SOURCE, 0, sequence, BEGIN + end * NS)
                rows.append({**{name: place[name] for name in ('hour', 'host', 'sequence', 'end_ns', 'transport', 'begins')}, 'boot': boot,
                             'source_address': self.SOURCE, 'destination_address': destination, 'entropy': 1 << 62 | port, 'since': 1,
                             'own_end': 'source', 'flows': [port], 'packets': packets, 'wire_bytes': packets * 1000,
                             'loss_episodes': own['episodes'] + former_episodes, 'present_packets': of_route,
                             'present_episodes': own['episodes'], 'present_packets_since': own['since'] if own['episodes'] else of_route,
                             'present_widest_gap': own['gap'], 'present_last_ns': BEGIN + (end - 1) * NS if own['episodes'] else 0,
                             'former_packets': former_packets, 'former_episodes': former_episodes,
                             'former_last_ns': BEGIN + 149 * NS if former_episodes else 0,
                             'rerouted_ns': BEGIN + own['rerouted'] * NS if own['rerouted'] else 0})
        self.fleet.insert('paths', rows)

    def says(self, destination, begin, end, verdict, rerouted=None, episodes=0):
        for resolution in ('interval', 'minute'):
            pairs = self.fleet.ask('paths', '--from', f'@{BEGIN // NS + begin}', '--to', f'@{BEGIN // NS + end}', '-n', '--resolution',
                                   resolution)['pairs']
            found, = (pair['rows'] for pair in pairs if pair['destination']['address'] == destination)
            what = f'{destination}, {begin} s to {end} s, {resolution}'
            self.assertEqual(found[0]['verdict'], verdict, what)
            self.assertEqual(found[0]['loss_episodes'], episodes, what)
            self.assertEqual(found[0]['rerouted_ns'], None if rerouted is None else BEGIN + rerouted * NS, what)
            self.assertEqual(found[0]['last_loss_ns'] is not None, episodes > 0, what)
            self.assertEqual([row['verdict'] for row in found[1:]], [None] * 3, what)

    def test_a_path_that_loses_until_routes_change(self):
        self.empty()
        # 50 losses, 40 more by 100 s, 20 more by 150 s; then another route, which loses nothing.
        self.states('192.0.2.11', [(-100, 0, 0, {}), (-10, 10_000, 10_000, {'episodes': 50, 'since': 100, 'gap': 250}),
                                   (100, 20_000, 20_000, {'episodes': 90, 'since': 100, 'gap': 250}),
                                   (170, 35_000, 5_000, {'former': (30_000, 110), 'rerouted': 150}),
                                   (290, 55_000, 25_000, {'former': (30_000, 110), 'rerouted': 150})])
        self.says('192.0.2.11', 0, 120, 'path_sick', episodes=40)
        self.says('192.0.2.11', 0, 300, 'path_recovered', rerouted=150, episodes=60)
        self.says('192.0.2.11', 120, 300, 'path_recovered', rerouted=150, episodes=20)
        self.says('192.0.2.11', 180, 300, None)

    def test_losses_before_the_time_that_is_asked_for(self):
        self.empty()
        # 50 losses, then none for 45,000 packets, then another route.
        self.states('192.0.2.12', [(-200, 0, 0, {}), (-130, 10_000, 10_000, {'episodes': 50, 'since': 100, 'gap': 250}),
                                   (-10, 40_000, 40_000, {'episodes': 50, 'since': 30_100, 'gap': 250}),
                                   (100, 50_000, 50_000, {'episodes': 50, 'since': 40_100, 'gap': 250}),
                                   (170, 60_000, 5_000, {'former': (55_000, 50), 'rerouted': 150})])
        self.says('192.0.2.12', -240, -120, 'path_sick', episodes=50)
        self.says('192.0.2.12', -240, 0, 'path_recovered', episodes=50)
        self.says('192.0.2.12', -120, 120, None)
        self.says('192.0.2.12', 0, 180, None, rerouted=150)
        self.says('192.0.2.12', -240, 180, 'path_recovered', rerouted=150, episodes=50)

    def test_a_daemon_that_starts_again(self):
        """Its first run ends with a path that has recovered; in the second one, the path loses again."""
        self.empty()
        self.states('192.0.2.13', [(-100, 0, 0, {}), (-10, 10_000, 10_000, {'episodes': 50, 'since': 100, 'gap': 250}),
                                   (50, 100_000, 100_000, {'episodes': 50, 'since': 90_100, 'gap': 250})], boot=1)
        self.states('192.0.2.13', [(70, 0, 0, {}), (110, 10_000, 10_000, {'episodes': 40, 'since': 100, 'gap': 250})], boot=2)
        self.says('192.0.2.13', -120, 60, 'path_recovered', episodes=50)
        self.says('192.0.2.13', -120, 120, 'path_sick', episodes=90)


class Many(Rows):
    """A statement names what it asks for, one by one."""
    COUNT = 12_000

    def insert(self, table, **figures):
        rows = []
        for number in range(self.COUNT):
            for sequence in (0, 1):
                place = state('many', 0, sequence, BEGIN + (1 + sequence) * NS)
                rows.append({**{name: place[name] for name in ('hour', 'host', 'boot', 'sequence', 'end_ns', 'transport', 'begins')},
                             **{name: value(number, sequence) for name, value in figures.items()}})
        self.fleet.insert(table, rows)

    @staticmethod
    def address(number, _):
        return f'10.1.{number >> 8}.{number & 255}'

    def test_all_pairs_of_hosts_can_be_asked_for(self):
        self.empty()
        self.insert('paths', source_address=lambda *_: '10.0.0.1', destination_address=self.address, own_end=lambda *_: 'source',
                    entropy=lambda *_: 1 << 62 | 50_000, since=lambda *_: 1, packets=lambda _, sequence: sequence,
                    wire_bytes=lambda number, sequence: sequence * (1 + number))
        answer = self.ask('paths', '--top', self.COUNT)
        self.assertEqual([pair['bytes'] for pair in answer['pairs']], list(range(self.COUNT, 0, -1)))

    def test_a_filter_can_pass_all_connections(self):
        self.empty()
        self.insert('commands', flow=lambda number, _: 1 + number, level=lambda *_: 'connection', protocol=lambda *_: 'nvme',
                    initiator=self.address, target=lambda *_: '10.0.0.1', target_number=lambda *_: 7, own_end=lambda *_: 'initiator',
                    commands=lambda number, sequence: sequence * (1 + number))
        answer = self.ask('io', '--filter', 'commands >= 2')
        self.assertEqual((answer['all_connections'], len(answer['connections'])), (self.COUNT - 1, 1000))


class Events(Rows):
    def test_events_are_counted_as_flows_counts_them(self):
        self.empty()
        capture = 'nvme-rdma-rxe-loss.pcap.gz'
        self.send(capture, 'near', '192.0.2.2')
        expected = {}
        for flow in on_one_host('flows', capture)['flows']:
            for event, figures in flow['exhibits'].items():
                expected[event] = expected.get(event, 0) + figures['count']
        self.assertTrue(expected)
        lines = self.fleet.query('SELECT event, sum(events) FROM (SELECT host, boot, flow, event, max(events) - min(events) AS events '
                                 'FROM events GROUP BY host, boot, flow, event) GROUP BY event').splitlines()
        self.assertEqual({event: int(count) for event, count in (line.split('\t') for line in lines)}, expected)


class JsonLines(Rows):
    CAPTURE = 'nvme-rdma-rxe-errors.pcap.gz'
    TABLES = ('flows', 'commands', 'events', 'paths', 'answers', 'hosts', 'health')

    def rows_of(self, table):
        # The size of the spool depends on how fast rows are sent.
        columns = 'host, boot, sequence, end_ns, version, packets, wire_bytes, flows' if table == 'health' else '*'
        return sorted(self.fleet.query(f'SELECT {columns} FROM {table}').splitlines())

    def start(self, folder, path):
        return subprocess.Popen([PROBE, path, '', f'{folder}/spool', PCAPS / self.CAPTURE, 'near', '192.0.2.2', str(BEGIN), '4'],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        out, errors = process.communicate(timeout=120)
        self.assertEqual(out, 'done\n', errors)
        return errors

    def test_the_lines_are_the_rows_of_the_engine(self):
        self.empty()
        self.send(self.CAPTURE, 'near', '192.0.2.2')
        expected = {table: self.rows_of(table) for table in self.TABLES}
        self.assertTrue(all(expected.values()))
        self.empty()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'rows.jsonl'
            path.write_text('{"table":"flows","ho')  # what a process that was killed left
            self.finish(self.start(folder, path))
            torn, *lines = path.read_text().splitlines()
        self.assertEqual(torn, '{"table":"flows","ho')
        rows = [json.loads(line) for line in lines]
        for table in self.TABLES:
            mine = [{name: value for name, value in row.items() if name != 'table'} for row in rows if row['table'] == table]
            self.fleet.insert(table, mine)
            self.assertEqual(self.rows_of(table), expected[table], table)

    def test_rows_wait_until_a_program_reads_the_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f'{folder}/rows'
            os.mkfifo(path)
            process = self.start(folder, path)
            spool = pathlib.Path(folder) / 'spool'
            end = time.monotonic() + 60
            while len(list(spool.glob('*.rows'))) < 4:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            self.assertIsNone(process.poll())
            with open(path, encoding='utf-8') as pipe:
                lines = [line for line in pipe if line.strip()]
            self.assertIn('no program reads the pipe', self.finish(process))
            self.assertEqual({json.loads(line)['table'] for line in lines}, set(self.TABLES))
            self.assertEqual({json.loads(line)['sequence'] for line in lines} - {0}, {1, 2, 3, 4})


if __name__ == '__main__':
    unittest.main()
