// The page's model, by node's own test runner: MODEL=work/model.mjs node --test web/test
import assert from "node:assert/strict";
import test from "node:test";

const model = await import(process.env.MODEL);

test("quantities have three digits and change to the next unit where rounding reaches it", () => {
  for (const [ns, text] of [[0, "0 ns"], [64, "64 ns"], [999.6, "1.00 µs"], [3_780_000, "3.78 ms"], [678_602_000, "679 ms"], [150e9, "2.50 min"]])
    assert.equal(model.duration(ns), text);
  assert.equal(model.bitRate(254_000_000), "254 Mbit/s");
  assert.equal(model.byteSize(1_770_000), "1.69 MiB");
  assert.equal(model.percent(0.98903), "98.9 %");
  assert.equal(model.percent(0.00001), "<0.01 %");
  assert.equal(model.grouped(1234567), "1,234,567");
  assert.equal(model.duration(null), "-");
});

test("figures of paths have few digits, and chance its magnitude", () => {
  assert.equal(model.decimal(7.96812), "7.97");
  assert.equal(model.decimal(1), "1");
  assert.equal(model.decimal(null), "-");
  for (const [p, text] of [[1, "1"], [0.0456, "0.046"], [0.00098, "1e-3"], [3.2e-12, "3e-12"], [0, "0"], [null, "-"]])
    assert.equal(model.probability(p), text);
});

const row = (id, more) => ({ id, reverse: null, kind: "roce2 RC", source: "a/0x1", destination: "b/0x2", source_host: "a", destination_host: "b",
  grade: null, cause: null, cost: null, operations: "WRITEs", packets: 1, wire_bytes: 100, messages: 1, goodput: 1, p50: 1, p99: 1,
  depth_mean: 1, depth_max: 1, resent: 0, naks: 0, rnr_naks: 0, ce_marks: 0, cnps: 0, first_offset_ns: 0, last_offset_ns: 1, states: [], ...more });
const ids = (rows) => rows.map((each) => each.id);

test("flows with a problem come first, unknown figures last in both directions", () => {
  const rows = [row(1, { p99: 5 }), row(2, { grade: "minor", cause: "loss", cost: 0.005, p99: null }), row(3, { grade: "wrong", cause: "rnr", cost: 0.4, p99: 9 }), row(4, { grade: "wrong", cause: "rnr", cost: 0.9, p99: 7 })];
  assert.deepEqual(ids(model.sorted(rows, "cause", true)), [4, 3, 2, 1]);
  assert.deepEqual(ids(model.sorted(rows, "p99", true)), [3, 4, 1, 2]);
  assert.deepEqual(ids(model.sorted(rows, "p99", false)), [1, 4, 3, 2]);
});

test("a filter needs every word; `cause` chooses flows with a problem", () => {
  const rows = [row(1, { source: "storage-3/0x11" }), row(2, { grade: "wrong", cause: "rnr" })];
  assert.deepEqual(ids(model.filtered(rows, "STORAGE write")), [1]);
  assert.deepEqual(ids(model.filtered(rows, "cause")), [2]);
  assert.deepEqual(ids(model.filtered(rows, "cause storage")), []);
  assert.ok(model.hasWords("storage-3 (192.0.2.1)", "2.1  STORAGE"));
  assert.ok(model.hasWords("storage-3 (192.0.2.1)", " "));
  assert.ok(!model.hasWords("storage-3 (192.0.2.1)", "storage 2.2"));
});

test("a range counts cells that it covers in part by their share", () => {
  const line = { bin_ns: 100, first_offset_ns: -50, bins: 4 };
  const series = { flow: 1, cells: [0, 1], wire_bytes: [1000, 3000], messages: [10, 30] };
  // Two bins make a cell: cell 0 is [-50, 150), cell 1 [150, 350).
  assert.deepEqual(model.sumOfFlow(series, line, 2, { from: -50, to: 350 }), { wire_bytes: 4000, messages: 40, resent: 0, naks: 0, marks: 0 });
  assert.equal(model.sumOfFlow(series, line, 2, { from: 50, to: 200 }).wire_bytes, 500 + 750);
  assert.equal(model.sumOfFlow(series, line, 2, { from: 350, to: 400 }).wire_bytes, 0);
});

test("the matrix has the hosts with the most bytes, and counts what it leaves out", () => {
  const rows = [row(1, { source_host: "a", destination_host: "z", wire_bytes: 10 }), row(2, { source_host: "b", destination_host: "z", wire_bytes: 30, cause: "rnr" }), row(3, { source_host: "b", destination_host: "z", wire_bytes: 5 })];
  const matrix = model.matrixOf(rows, (each) => each.wire_bytes, 1);
  assert.deepEqual(matrix.sources, ["b"]);
  assert.equal(matrix.left_out, 1);
  assert.deepEqual(matrix.cells.get(model.cellKey("b", "z")), { source: "b", destination: "z", bytes: 35, flows: 2, problems: 1 });
});

test("marks are read from their differences, and the nearest one is found", () => {
  const marks = model.marksOf({ flow: 1, counts: "packets", bins: [], marks: { kinds: "dRa", times: [100, 50, 10], sequences: [7, 0, 1], lengths: [1, 1, 0], frames: [3, 4, 1], label: [0, 0, 1], labels: ["SEND Only", "Acknowledge"], seen: {} } });
  assert.deepEqual(marks.map(({ kind, time, sequence, frame, label }) => [kind, time, sequence, frame, label]),
    [["d", 100, 7, 3, "SEND Only"], ["R", 150, 7, 7, "SEND Only"], ["a", 160, 8, 8, "Acknowledge"]]);
  const same = (value) => value;
  assert.equal(model.nearest(marks, same, same, { x: 151, y: 7 }, 5).frame, 7);
  assert.equal(model.nearest(marks, same, same, { x: 130, y: 7 }, 5), null);
});

test("a quantile is the least row that enough messages do not exceed", () => {
  const counts = new Map([[60, 1], [40, 98], [50, 1]]);
  assert.equal(model.quantileRow(counts, 0.5), 40);
  assert.equal(model.quantileRow(counts, 0.99), 50);
  assert.equal(model.quantileRow(counts, 1), 60);
  assert.equal(model.latencyOfRow(40), 1024);
});

test("commands quote names for a shell, and need files", () => {
  const of = (files) => ({ source: { kind: "file", files } });
  assert.equal(model.dumpCommand(of(["a.pcap"]), [8, 6, 6]), "rdmascope dump -# -r a.pcap -Y 'frame.number in {6, 8}'");
  assert.equal(model.flowCommand(of(["it's; rm -r x.pcap"]), 4), "rdmascope dump -# -r 'it'\\''s; rm -r x.pcap' --flow 4");
  assert.equal(model.dumpCommand(of(["a b", "c"]), [1]), "mergecap -w - 'a b' c | rdmascope dump -# -r - -Y 'frame.number in {1}'");
  for (const none of [[], ["-"], ["a", "-"]]) assert.equal(model.dumpCommand(of(none), [1]), "");
});
