"""The dashboard and the alerts over ClickHouse: every query runs in a real server, on rows whose answers are counted here."""
import json
import pathlib
import re
import time
import unittest

from test_fleet import Fleet, NS
from test_fleet import setUpModule  # pylint: disable=unused-import

GRAFANA = pathlib.Path(__file__).resolve().parents[2] / 'exporters/grafana'
DASHBOARD = json.loads((GRAFANA / 'rdmascope-fleet.json').read_text())
BEGIN = 1_600_000_000 // 3600 * 3600
UNITS = {'Bps', 'bytes', 's', 'short', 'percentunit'}


def panels():
    return [panel for panel in DASHBOARD['panels'] if panel['type'] != 'row']


def expanded(sql, begin=BEGIN, end=BEGIN + 600, hosts=('a', 'b')):
    """As the data source sends it."""
    listed = ', '.join("'" + host.replace("'", "''") + "'" for host in hosts)
    for macro, value in (('${host:sqlstring}', listed), ('${database}', 'rdmascope'), ('$__fromTime', f'toDateTime({begin})'),
                         ('$__toTime', f'toDateTime({end})'), ('$__interval_s', '60')):
        sql = sql.replace(macro, value)
    return sql


def alerts():
    """{name: statement}"""
    text = (GRAFANA / 'fleet-alerts.sql').read_text()
    found = {}
    for statement in text.split(';\n'):
        name = re.search(r'(?m)^-- name: (\w+)$', statement)
        if name:
            found[name[1]] = re.sub(r'(?m)^--.*\n', '', statement).strip()
    return found


def place(host, sequence, end_s, boot=1):
    return {'hour': end_s - end_s % 3600, 'host': host, 'boot': boot, 'sequence': sequence, 'end_ns': end_s * NS}


WRITE_LATENCY = 16 + 3 << 16


def bucket(value):
    """metrics::HistogramBuckets: 64 steps for each power of two."""
    shift = max(value.bit_length() - 7, 0)
    return shift * 64 + (value >> shift)


def world(begin):
    """Two hosts: a (192.0.2.1) writes to b (192.0.2.2), both have daemons; a also writes to c (192.0.2.3), which has none.

    Before the time: 100 packets. Within it, a sends 900 packets to b; 7 of them are lost between, 9 sent again, 2 time-outs. b counts 890.
    To c: 200 packets of 100 bytes."""
    rows = {'flows': [], 'health': [], 'answers': [], 'commands': [], 'counters': []}
    both = {'transport': 'roce2', 'service': 'RC', 'source_address': '192.0.2.1', 'destination_address': '192.0.2.2', 'destination_qpn': 17, 'known': 15}
    times = ((2, begin - 20), (3, begin + 50), (4, begin + 110))
    # In the second minute the latencies are 200 us: 99 of 100; in the first 10 us.
    slow = [(bucket(10_000), 100), (bucket(200_000), 200)]
    for host, end, packets in (('a', 'source', (100, 500, 1000)), ('b', 'destination', (100, 495, 990))):
        for (number, when), count, missing, again, late, latencies in zip(times, packets, (0, 3, 7), (0, 4, 9), (0, 1, 2), ([], slow[:1], slow)):
            at_source = host == 'a'
            rows['flows'].append({**place(host, number, when), 'flow': 1, **both, 'own_end': end, 'begins': 3, 'packets': count, 'wire_bytes': count * 100,
                                  'missing_packets': 0 if at_source else missing, 'retransmitted_packets': again if at_source else 0,
                                  'timeouts': late if at_source else 0, 'verdict': 'loss' if at_source else '', 'grade': 3 if at_source else 0,
                                  'amount_keys': [WRITE_LATENCY | index for index, _ in latencies] if at_source else [],
                                  'amounts': [times for _, times in latencies] if at_source else []})
    for (number, when), count in zip(times, (0, 100, 200)):
        rows['flows'].append({**place('a', number, when), 'flow': 2, **both, 'destination_address': '192.0.2.3', 'own_end': 'source', 'begins': 3,
                              'packets': count, 'wire_bytes': count * 100})
    for host, dropped, lost in (('a', (5, 5, 8), (0, 0, 0)), ('b', (0, 0, 0), (1, 2, 3))):
        for (number, when), drops, losses in zip(times, dropped, lost):
            rows['health'].append({**place(host, number, when), 'version': '1', 'wire_bytes': number * 60_000, 'kernel_dropped': drops,
                                   'intervals_dropped': losses})
    for number, when in times:
        rows['answers'].append({**place('a', number, when), 'rank': 1, 'question': 'loss', 'verdict': 'packets_lost', 'grade': 'wrong',
                                'cost': 0.1 * number, 'summary': "it's lost"})
        rows['answers'].append({**place('b', number, when), 'rank': 1, 'question': 'loss', 'verdict': 'no_loss', 'grade': 'ok'})
        for end, host in (('initiator', 'a'), ('target', 'b')):
            for level, kind in (('connection', ''), ('kind', 'read')):
                rows['commands'].append({**place(host, number, when), 'flow': 1, 'level': level, 'kind': kind, 'protocol': 'nvme', 'own_end': end,
                                         'target': '192.0.2.2', 'commands': 10 * number, 'errors': number - 2, 'bytes': 4096 * number, 'begins': 3})
        rows['counters'].append({**place('b', number, when), 'device': 'mlx5_0', 'port': 1, 'counter': 'rx_discards', 'value': 4 + number * number})
    return rows


class OnRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = Fleet()
        cls.fleet.__enter__()
        cls.addClassCleanup(cls.fleet.__exit__)
        cls.now = int(time.time())
        for begin in (BEGIN, cls.now - 120):
            for table, rows in world(begin).items():
                cls.fleet.insert(table, rows + rows)  # everything arrives twice

    def query(self, sql):
        """Rows as dictionaries, by a server that knows no setting of ours."""
        text = self.fleet.cluster.servers[1].query(sql + ' FORMAT JSON', database='rdmascope')
        return json.loads(text)['data']

    def show(self, title, **how):
        panel, = [each for each in panels() if each['title'] == title]
        return self.query(expanded(panel['targets'][0]['rawSql'], **how))


class Dashboard(OnRows):
    def test_every_panel_has_an_answer_that_is_known(self):
        expected = {
            'Hosts with a daemon': [{'hosts': '2'}],
            'Flows with time-outs': [{'flows': '1'}],
            'Packets sent again': [{'share': 9 / 1100}],
            'Captured packets that were dropped': [{'packets': '3'}],
            'Intervals that were lost': [{'intervals': '2'}],
            # 60,000 bytes more in each of the two minutes, at both hosts.
            'Traffic by host': [{'time': self.time(minute), 'host': host, 'value': 1000} for minute in (0, 1) for host in ('a', 'b')],
            'Verdicts': [{'host': 'a', 'question': 'loss', 'verdict': 'packets_lost', 'intervals': '2', 'cost': 0.4, 'summary': "it's lost"}],
            'Hosts that send most': [{'address': '192.0.2.1', 'bytes': '110000', 'destinations': '2', 'flows': '2'}],
            'Pairs of hosts that send most': [
                {'source_address': '192.0.2.1', 'destination_address': '192.0.2.2', 'bytes': '90000', 'flows': '1'},
                {'source_address': '192.0.2.1', 'destination_address': '192.0.2.3', 'bytes': '20000', 'flows': '1'}],
            'p99 of operations by host': [{'time': self.time(0), 'host': 'a', 'value': 10e-6}, {'time': self.time(1), 'host': 'a', 'value': 200e-6}],
            'Pairs that lose packets': [{'source_address': '192.0.2.1', 'destination_address': '192.0.2.2', 'lost_between': '7', 'sent_again': '9',
                                         'timeouts': '2', 'sent_packets': '900', 'arrived_packets': '890', 'flows': '1'}],
            'Flows with a problem': [{'host': 'a', 'flow': '1', 'source_address': '192.0.2.1', 'destination_address': '192.0.2.2', 'packets': '900',
                                      'sent_again': '9', 'timeouts': '2', 'rnr_naks': '0', 'ecn_ce_packets': '0', 'problem': 'loss'}],
            'Commands of upper layers': [{'protocol': 'nvme', 'kind': 'read', 'commands': '20', 'errors': '2', 'bytes': '8192'}],
            'Counters of devices that grew': [{'host': 'b', 'device': 'mlx5_0', 'port': 1, 'counter': 'rx_discards', 'increase': '12'}],
        }
        self.assertEqual({panel['title'] for panel in panels()}, set(expected))
        for title, rows in expected.items():
            with self.subTest(title=title):
                found = self.show(title)
                self.assertEqual(len(found), len(rows), found)
                for mine, theirs in zip(found, rows):
                    self.assertEqual(set(mine), set(theirs))
                    for name, value in theirs.items():
                        if isinstance(value, float):
                            self.assertAlmostEqual(float(mine[name]), value, delta=value * 0.01, msg=name)
                        else:
                            self.assertEqual(mine[name], value, name)

    @staticmethod
    def time(minute):
        return time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(BEGIN + 60 * minute))

    def test_hosts_are_chosen_and_their_names_are_texts(self):
        self.assertEqual(self.show('Hosts that send most', hosts=('b',)), [])
        self.assertEqual(self.show('Traffic by host', hosts=("it's", "'); DROP TABLE flows; --")), [])
        listed = next(variable for variable in DASHBOARD['templating']['list'] if variable['name'] == 'host')
        self.assertEqual([row['host'] for row in self.query(expanded(listed['query']))], ['a', 'b'])

    def test_nothing_is_shown_of_times_without_rows(self):
        for panel in panels():
            rows = self.query(expanded(panel['targets'][0]['rawSql'], begin=BEGIN - 86_400, end=BEGIN - 85_800))
            self.assertTrue(all(value in ('0', 0, None) for row in rows for value in row.values()), panel['title'])

    def test_panels_say_what_they_show_and_lie_apart(self):
        taken = set()
        for panel in DASHBOARD['panels']:
            where = panel['gridPos']
            cells = {(x, y) for x in range(where['x'], where['x'] + where['w']) for y in range(where['y'], where['y'] + where['h'])}
            self.assertFalse(cells & taken, panel['title'])
            taken |= cells
        for panel in panels():
            self.assertTrue(panel['description'].endswith('.'), panel['title'])
            self.assertIn(panel['fieldConfig']['defaults']['unit'], UNITS)
            self.assertNotIn('$', expanded(panel['targets'][0]['rawSql']), panel['title'])


class Alerts(OnRows):
    def test_each_alert_names_what_is_wrong(self):
        expected = {
            'FleetDaemonSilent': [],
            'FleetRowsLost': [{'host': 'b', 'value': '2'}],
            'FleetCaptureDrops': [{'host': 'a', 'value': '3'}],
            'FleetTimeouts': [],  # one flow alone
            'FleetFinding': [{'host': 'a', 'question': 'loss', 'verdict': 'packets_lost', 'value': 0.4}],
            'FleetCommandErrors': [{'target': '192.0.2.2', 'protocol': 'nvme', 'value': '2'}],
        }
        self.assertEqual(set(alerts()), set(expected))
        for name, rows in expected.items():
            self.assertEqual(self.query(alerts()[name]), rows, name)

    def test_silence_and_time_outs_of_several_flows(self):
        silent = self.now - 1500
        self.fleet.insert('health', [place('gone', 1, silent)])
        for flow in range(10, 14):
            self.fleet.insert('flows', [{**place('a', number, self.now - 200 + number), 'flow': flow, 'destination_address': '192.0.2.9',
                                         'own_end': 'source', 'timeouts': number - 1} for number in (1, 2)])
        row, = self.query(alerts()['FleetDaemonSilent'])
        self.assertEqual(row['host'], 'gone')
        self.assertAlmostEqual(int(row['value']), time.time() - silent, delta=30)
        self.assertEqual(self.query(alerts()['FleetTimeouts']), [{'destination_address': '192.0.2.9', 'value': '4'}])


if __name__ == '__main__':
    unittest.main()
