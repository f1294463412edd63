"""Bytes of each column of a table on disk, as it is, and as the codec Delta would store it.

ClickHouse 18.16 has no codecs of columns. Delta followed by ZSTD stores the differences between neighbours; here a second table holds these
differences, so that the servers compress them in the same way."""
NUMBERS = ('UInt8', 'UInt16', 'UInt32', 'UInt64', 'Int64', 'DateTime')


def columns_of(server, table):
    return [line.split('\t')[:2] for line in server.query(f'DESCRIBE TABLE rdmascope.{table}').splitlines()]


def sizes_of(server, table):
    """(rows, {column: compressed bytes}); the table has one part."""
    rows = int(server.query(f"SELECT sum(rows) FROM system.parts WHERE active AND database = 'rdmascope' AND table = '{table}'"))
    lines = server.query("SELECT name, data_compressed_bytes FROM system.columns WHERE database = 'rdmascope' "
                         f"AND table = '{table}'").splitlines()
    return rows, {name: int(octets) for name, octets in (line.split('\t') for line in lines)}


def difference(name, kind):
    """Between the row and its predecessor of the same table; the type keeps its width, as Delta does."""
    if kind not in NUMBERS:
        return f'{name}'
    number = f'toInt64({name})'
    signed = {'UInt8': 'toInt8', 'UInt16': 'toInt16', 'UInt32': 'toInt32', 'DateTime': 'toInt32'}.get(kind, 'toInt64')
    return f'{signed}(runningDifference({number})) AS d_{name}'


def as_delta(server, table, key):
    """Bytes of each column if numbers are stored as differences."""
    columns = columns_of(server, table)
    listed = ', '.join(difference(name, kind) for name, kind in columns)
    server.query('DROP TABLE IF EXISTS rdmascope.differences')
    server.query(f'CREATE TABLE rdmascope.differences ENGINE = MergeTree ORDER BY tuple() AS SELECT {listed} '
                 f'FROM (SELECT * FROM rdmascope.{table} ORDER BY {key})', timeout=1200, max_block_size=1_000_000,
                 max_threads=1, max_memory_usage=8_000_000_000)
    server.query('OPTIMIZE TABLE rdmascope.differences FINAL', timeout=1200)
    _, sizes = sizes_of(server, 'differences')
    server.query('DROP TABLE rdmascope.differences')
    return {name.removeprefix('d_'): octets for name, octets in sizes.items()}


def report(cluster, table, key):
    """{column: (bytes a row as it is, bytes a row as differences)} of the first server, the largest first."""
    server = cluster.servers[0]
    server.query(f'OPTIMIZE TABLE rdmascope.{table} FINAL', timeout=1200)
    rows, plain = sizes_of(server, table)
    delta = as_delta(server, table, key)
    found = {name: (round(octets / rows, 2), round(delta.get(name, octets) / rows, 2)) for name, octets in plain.items()}
    return dict(sorted(found.items(), key=lambda each: -max(each[1])))

