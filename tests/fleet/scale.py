#!/usr/bin/env python3
"""How the tables and questions of the fleet scale: rows of HOSTS x FLOWS are made from the shape of recorded flows, put into real servers,
and asked for. Prints what docs/fleet.md shows.

  RDMASCOPE_BINARY=build/release/rdmascope python3 tests/fleet/scale.py --hosts 50 --flows 200 --minutes 60
  ... --hosts 1000 --flows 1000 --sparse       one hour of a million flows: the first and the last row of each, as the roll-ups keep them
  ... --probe build/release/load_probe         ingest by the sink's own client, and the sink's CPU time
  ... --inserts                                ingest by the number of rows of an insert; TMPDIR says on which file system
  ... --columns                                bytes of each column, as it is and as the codec Delta would store it
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

import clickhouse
import column_sizes

NS = 1_000_000_000
BEGIN = 1_600_000_000 // 3600 * 3600
BINARY = os.environ['RDMASCOPE_BINARY']

# A flow of Writes, as perftest makes them: states grow with each interval by what differs from flow to flow and from time to time.
# One flow in a hundred loses packets, and those of one destination do so most.
SHAPE = '''
SELECT toDateTime({begin} + intDiv(k * 10, 3600) * 3600) AS hour, concat('node-', toString(h)) AS host, toUInt64(1) AS boot,
    toUInt32(k) AS sequence, toInt64({begin} + k * 10) * 1000000000 + h * 1000003 AS end_ns, toUInt64(f + 1) AS flow,
    'roce2' AS transport, 'RC' AS service,
    concat('10.', toString(intDiv(h, 250)), '.', toString(h % 250), '.1') AS source_address,
    concat('10.', toString(intDiv(peer, 250)), '.', toString(peer % 250), '.1') AS destination_address,
    toUInt32(256 + f) AS destination_qpn, toUInt8(104) AS traffic_class, toUInt8(15) AS known, 'source' AS own_end,
    toInt64({begin}) * 1000000000 AS first_ns, end_ns AS last_ns,
    toUInt64(k * rate + cityHash64(f, h, k) % rate) AS packets, packets * 1086 AS wire_bytes, packets * 1024 AS payload_bytes,
    intDiv(packets, 16) AS acknowledgement_packets, if(sick, toUInt64(k * 3), toUInt64(0)) AS retransmitted_packets,
    if(sick, toUInt64(intDiv(k, 4)), toUInt64(0)) AS timeouts, intDiv(packets, 64) AS messages, messages * 65536 AS message_bytes,
    arrayConcat([toUInt32(65536 + 3), toUInt32(131072 + 3), toUInt32(262144 + 1), toUInt32(262144 + 14)],
        arrayMap(b -> toUInt32(19 * 65536 + 640 + cityHash64(f, h) % 64 + b), range(24)), [toUInt32(32 * 65536 + 704)]) AS amount_keys,
    arrayConcat([messages, message_bytes, toUInt64(k * 1000000000), toUInt64(k * 9000000000)],
        arrayMap(b -> toUInt64(1 + intDiv(messages, 1 + b * b)), range(24)), [messages]) AS amounts,
    toUInt8(if(k % 6 = 1, 1, 0) + if(k % 360 = 1, 2, 0)) AS begins
FROM (SELECT intDiv(number, {flows}) % {hosts} + {first} AS h, number % {flows} AS f,
    intDiv(number, {flows} * {hosts}) + {start} AS k,
    cityHash64(f, h) % 5000 + 50 AS rate, cityHash64(h, f, 1) % {all} AS peer, f % 100 = 7 OR peer = 3 AND f % 10 != 1 AS sick
    FROM numbers({rows}))'''
COLUMNS = ('hour, host, boot, sequence, end_ns, flow, transport, service, source_address, destination_address, destination_qpn, '
           'traffic_class, known, own_end, first_ns, last_ns, packets, wire_bytes, payload_bytes, acknowledgement_packets, '
           'retransmitted_packets, timeouts, messages, message_bytes, amount_keys, amounts, begins')


def shape(first, hosts, flows, start, intervals, all_hosts):
    rows = hosts * flows * intervals
    return f'SELECT {COLUMNS} FROM ({SHAPE.format(begin=BEGIN, first=first, hosts=hosts, flows=flows, start=start, rows=rows, all=all_hosts)})'


def cpu_seconds(cluster):
    """Of the servers' processes, so far."""
    ticks = 0
    for server in cluster.servers:
        fields = pathlib.Path(f'/proc/{server.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf('SC_CLK_TCK')


def rate_of_ingest(cluster, options):
    """Inserts of at most 1,000 rows a host over HTTP, by four connections, into the Distributed table; larger ones have rows of several hosts, as
    where a sink sends several intervals, or the server joins the inserts of several sinks."""
    out = {}
    for rows in (100, 1_000, 6_000, 20_000, 60_000):
        hosts = max(rows // 1_000, 1)
        count = min(max(options.inserted // rows, 5), 300)
        bodies = [gzip.compress(raw(cluster.servers[0], f'{shape(number * hosts, hosts, rows // hosts, 1, 1, options.hosts)} FORMAT RowBinary'), 1)
                  for number in range(min(20, count))]

        def send(number, bodies=bodies):
            server = cluster.servers[number % len(cluster.servers)]
            server.query(f'INSERT INTO rdmascope.flows ({COLUMNS}) FORMAT RowBinary', data=bodies[number % len(bodies)],
                         insert_distributed_sync=1, gzip=True)
        began, cpu = time.monotonic(), cpu_seconds(cluster)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(send, range(count)))
        seconds = time.monotonic() - began
        time.sleep(3)  # the merges that follow are a part of the cost
        out[f'{rows} rows an insert'] = {'rows_per_sec': round(rows * count / seconds),
                                         'rows_per_server_cpu_sec': round(rows * count / (cpu_seconds(cluster) - cpu)),
                                         'bytes_a_row_sent': round(sum(map(len, bodies)) / len(bodies) / rows, 1)}
    return out


def ingest_by_sinks(cluster, folder, options):
    """Hosts whose sinks send intervals of 1,000 flows, shaped like those of a capture, as fast as the servers take them."""
    capture = pathlib.Path(__file__).resolve().parents[2] / 'pcaps/nvme-rdma-rxe-deep.pcap.gz'
    out = {}
    for hosts, intervals in ((1, 30), (4, 30)):
        began, cpu = time.monotonic(), cpu_seconds(cluster)
        probes = [subprocess.Popen([options.probe, cluster.servers[number % 2].url, cluster.servers[0].password, f'{folder}/spool{hosts}-{number}',
                                    capture, f'load-{hosts}-{number}', '1000', str(intervals)], stdout=subprocess.PIPE, text=True)
                  for number in range(hosts)]
        reports = [json.loads(probe.communicate(timeout=600)[0]) for probe in probes]
        seconds, cpu = time.monotonic() - began, cpu_seconds(cluster) - cpu
        rows = sum(report['rows'] for report in reports)
        out[f'{hosts} hosts'] = {'rows': rows, 'seconds': round(seconds, 1), 'rows_per_sec': round(rows / seconds),
                                 'rows_per_server_cpu_sec': round(rows / cpu),
                                 'sink_share_of_a_core': [report['cpu_share_at_10s'] for report in reports]}
    return out


def raw(server, sql):
    request = urllib.request.Request(server.url, data=sql.encode(),
                                     headers={'X-ClickHouse-User': 'default', 'X-ClickHouse-Key': server.password})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return answer.read()


def fill(cluster, options):
    """The rest is made by the servers themselves."""
    half = options.hosts // len(cluster.servers)

    def run(number):
        server = cluster.servers[number]
        step = max(1, 2_000_000 // (half * options.flows))
        starts = [(1, 1), (359, 1)] if options.sparse else [
            (start, min(step, options.minutes * 6 + 1 - start)) for start in range(0, options.minutes * 6 + 1, step)]
        for start, intervals in starts:
            server.query(f'INSERT INTO rdmascope.flows_local ({COLUMNS}) '
                         + shape(number * half, half, options.flows, start, intervals, options.hosts), timeout=1200,
                         max_memory_usage=6_000_000_000)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(len(cluster.servers))))
    rows = half * len(cluster.servers) * options.flows * (2 if options.sparse else options.minutes * 6 + 1)
    return {'rows': rows, 'seconds': round(time.monotonic() - began, 1)}


def sizes(cluster):
    out = {}
    for server in cluster.servers:
        for table in ('flows_local', 'flows_minute_local', 'flows_hour_local'):
            server.query(f'OPTIMIZE TABLE rdmascope.{table} FINAL', timeout=1200)
        for line in server.query("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'rdmascope' "
                                 "AND table LIKE 'flows%' GROUP BY table").splitlines():
            table, rows, octets = line.split('\t')
            known = out.setdefault(table, [0, 0])
            known[0] += int(rows)
            known[1] += int(octets)
    return {table: {'rows': rows, 'bytes_a_row': round(octets / rows, 1)} for table, (rows, octets) in sorted(out.items())}


def times(cluster, folder, options):
    password = pathlib.Path(folder) / 'password'
    password.write_text(cluster.servers[0].password)
    out = {}
    for resolution in ('hour',) if options.sparse else ('hour', 'minute', 'interval'):
        for part in ('top', 'flows', 'hosts', 'pairs', 'why'):
            began, cpu = time.monotonic(), cpu_seconds(cluster)
            asked = subprocess.run(
                [BINARY, 'fleet', part, '--url', cluster.servers[0].url, '--user', 'default', '--password-file', password, '--json',
                 '--from', f'@{BEGIN}', '--to', f'@{BEGIN + options.minutes * 60}', '--resolution', resolution],
                capture_output=True, text=True)
            seconds = round(time.monotonic() - began, 2)
            out[f'{part} {resolution}'] = ({'seconds': seconds, 'server_cpu_seconds': round(cpu_seconds(cluster) - cpu, 2)}
                                           if asked.returncode == 0 else asked.stderr[:300])
    return out


def measured(cluster, folder, options):
    if options.probe:
        return {'ingest': ingest_by_sinks(cluster, folder, options)}
    if options.inserts:
        return {'ingest': rate_of_ingest(cluster, options)}
    report = {}
    report['fill'] = fill(cluster, options)
    report['questions before merges'] = times(cluster, folder, options)
    report['sizes'] = sizes(cluster)
    report['questions'] = times(cluster, folder, options)
    if options.columns:
        report['columns'] = column_sizes.report(cluster, 'flows_local', 'hour,host,boot,flow,sequence')
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--hosts', type=int, default=50)
    parser.add_argument('--flows', type=int, default=200)
    parser.add_argument('--minutes', type=int, default=60)
    parser.add_argument('--inserts', action='store_true', help='measure inserts of different sizes, and nothing else')
    parser.add_argument('--inserted', type=int, default=120_000, help='rows of each size')
    parser.add_argument('--zstd', action='store_true', help='servers compress parts with zstd')
    parser.add_argument('--sparse', action='store_true', help='of each flow only the first and the last row of the hour')
    parser.add_argument('--probe', help='load_probe: measure ingest by sinks, and nothing else')
    parser.add_argument('--columns', action='store_true', help='bytes of each column, too')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='rdmascope-scale-') as folder:
        cluster = clickhouse.Cluster(folder, zstd=options.zstd)
        with cluster:
            schema = subprocess.run([BINARY, 'fleet', 'schema', '--server', '18.16', '--cluster', 'fleet'], check=True,
                                    capture_output=True, text=True).stdout
            for server in cluster.servers:
                server.statements(schema)
            report = measured(cluster, folder, options)
    print(json.dumps(report, indent=1))


if __name__ == '__main__':
    main()
