// The embedded engine of current ClickHouse (npm's package chdb) behind HTTP, as far as rdmascope and its tests use ClickHouse's own:
// a statement is the body of a POST, or the parameter `query` with rows as the body. One server, no cluster, no accounts.
//
//   node embedded_engine.js PORT FOLDER     NODE_PATH: where chdb is
const fs = require('fs');
const http = require('http');
const path = require('path');
const zlib = require('zlib');
const { Session } = require('chdb');

const [port, folder] = process.argv.slice(2);
const session = new Session(path.join(folder, 'data'));
const notSettings = new Set(['query', 'database', 'wait_end_of_query', 'insert_distributed_sync', 'distributed_group_by_no_merge']);

// Tables of a shard have names of their own in a cluster only.
const run = (sql) => session.query(sql.replace(/(\w)_local\b/g, '$1'), 'TabSeparated');

function columnsOf(table) {
  const lines = run(`DESCRIBE TABLE ${table} FORMAT TabSeparated`).trim().split('\n');
  return new Map(lines.map((line) => line.split('\t')).map(([name, type]) => [name, type.replace(/^LowCardinality\((.*)\)$/, '$1')]));
}

function insert(statement, database, rows) {
  const [, name, list, format] = /^INSERT INTO (\S+) ?(?:\((.*?)\) )?FORMAT (\w+)$/s.exec(statement);
  const table = name.includes('.') ? name : `${database}.${name}`;
  const types = columnsOf(table);
  const columns = list ? list.split(',').map((column) => column.trim()) : [...types.keys()];
  const file = path.join(folder, 'rows');
  fs.writeFileSync(file, rows);
  const structure = columns.map((column) => `${column} ${types.get(column)}`).join(', ');
  run(`INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM file('${file}', '${format}', '${structure}')`);
  return '';
}

function answer(request, body) {
  const parameters = new URL(request.url, 'http://localhost').searchParams;
  for (const [name, value] of parameters) if (!notSettings.has(name)) run(`SET ${name} = ${value}`);
  const octets = request.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(body) : body;
  const database = parameters.get('database');
  if (parameters.has('query')) return insert(parameters.get('query'), database, octets);
  if (database) run(`USE ${database}`);
  return octets.length > 0 ? run(octets.toString()) : 'Ok.\n';
}

http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    let status = 200;
    let text = '';
    try {
      text = answer(request, Buffer.concat(parts));
    } catch (error) {
      status = 500;
      text = error.message;
    }
    response.writeHead(status);
    response.end(text);
  });
}).listen(Number(port), '127.0.0.1');
