// The page's figures, without the page: what a document holds, chosen, sorted and added up. Tested by node.
import type { Endpoint, FlowSeries, Plot, ReportDocument, TimeLine } from "./document";

/** A stretch of time in ns since the capture's first frame; [from, to). */
export interface Range { from: number; to: number }

/** The states of time in the order of the document, with the letters and words of `top`. */
export const states: ReadonlyArray<{ letter: string; words: string }> = [
  { letter: "?", words: "unobserved" }, { letter: "T", words: "transmit new" }, { letter: "R", words: "transmit again" },
  { letter: "N", words: "rnr wait" }, { letter: "K", words: "recover nak" }, { letter: "O", words: "recover timeout" },
  { letter: "D", words: "read window" }, { letter: "C", words: "credit" }, { letter: "W", words: "ack window" },
  { letter: "L", words: "link shared" }, { letter: "G", words: "congestion paced" }, { letter: "S", words: "nic stall" },
  { letter: "a", words: "in flight" }, { letter: "p", words: "peer wait" }, { letter: ".", words: "idle" },
];

// ---- quantities, as the program prints them ----

/** Three significant digits; a whole number of the smallest unit has no decimals. */
function significant(value: number, whole: boolean): string {
  if (whole) return String(value);
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

function scaled(value: number | null | undefined, units: ReadonlyArray<readonly [number, string]>): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  for (let i = units.length - 1; i >= 0; --i) {
    const [factor, name] = units[i];
    // Rounding may reach the next unit: 999.6 ns is 1.00 us.
    if (i > 0 && size < factor * 0.9995) continue;
    return `${significant(value / factor, i === 0 && Number.isInteger(value))} ${name}`.trim();
  }
  return "-";
}

export const duration = (ns: number | null | undefined): string =>
  scaled(ns, [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"], [6e10, "min"], [3.6e12, "h"]]);
export const bitRate = (bits: number | null | undefined): string =>
  scaled(bits, [[1, "bit/s"], [1e3, "kbit/s"], [1e6, "Mbit/s"], [1e9, "Gbit/s"], [1e12, "Tbit/s"]]);
export const byteSize = (bytes: number | null | undefined): string =>
  scaled(bytes, [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]]);
export const percent = (share: number | null | undefined): string => {
  if (share === null || share === undefined || !Number.isFinite(share)) return "-";
  const value = share * 100;
  if (value > 0 && value < 0.01) return "<0.01 %";
  return `${String(Number(value.toPrecision(3)))} %`;
};
/** "192.0.2.2/0x13", "192.0.2.2.4420": as the table of `io` has it. */
export const endName = (end: Endpoint): string =>
  `${end.name ?? end.address ?? "?"}${end.qpn === null ? "" : `/0x${end.qpn.toString(16)}`}${end.port === null ? "" : `.${end.port}`}`;
/** Three significant digits. */
export const decimal = (value: number | null | undefined): string =>
  value === null || value === undefined || !Number.isFinite(value) ? "-" : String(Number(value.toPrecision(3)));
/** Of chance: one significant digit where it is small. */
export const probability = (p: number | null | undefined): string =>
  p === null || p === undefined ? "-" : p === 0 || p >= 0.001 ? String(Number(p.toPrecision(2))) : p.toExponential(0);
/** 1,234,567 */
export const grouped = (value: number | null | undefined): string =>
  value === null || value === undefined ? "-" : String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
/** 2.66M */
export const count = (value: number | null | undefined): string => {
  if (value === null || value === undefined) return "-";
  return scaled(value, [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]]).replace(" ", "");
};
const singular = (unit: string): string => unit.replace(/ies$/, "y").replace(/s$/, "");
/** A figure of evidence with its unit. */
export function figure(value: number | null, unit: string): string {
  if (value === null) return "-";
  switch (unit) {
    case "ns": return duration(value);
    case "bytes": return byteSize(value);
    case "bytes/s": return bitRate(value * 8);
    case "share": return percent(value);
    default: return `${Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(3)))}${unit ? ` ${value === 1 ? singular(unit) : unit}` : ""}`;
  }
}

// ---- flows ----

/** One flow of the table. */
export interface FlowRow {
  id: number; reverse: number | null; kind: string; source: string; destination: string;
  source_host: string; destination_host: string; grade: string | null; cause: string | null; cost: number | null;
  operations: string; packets: number; wire_bytes: number; messages: number; goodput: number | null;
  p50: number | null; p99: number | null; depth_mean: number | null; depth_max: number | null;
  resent: number | null; naks: number; rnr_naks: number; ce_marks: number; cnps: number;
  first_offset_ns: number | null; last_offset_ns: number | null; states: number[];
}

export function rowsOf(document: ReportDocument): FlowRow[] {
  return document.rows.map((values) => {
    const row: Record<string, unknown> = {};
    document.row_columns.forEach((name, i) => { row[name] = (values as unknown[])[i]; });
    return row as unknown as FlowRow;
  });
}

/** The share of each state, most time first; without idle unless asked for. */
export function stateShares(flat: readonly number[], idle = true): Array<{ state: number; ns: number; share: number }> {
  const list: Array<{ state: number; ns: number; share: number }> = [];
  let sum = 0;
  for (let i = 0; i + 1 < flat.length; i += 2) {
    if (!idle && flat[i] === 14) continue;
    list.push({ state: flat[i], ns: flat[i + 1], share: 0 });
    sum += flat[i + 1];
  }
  for (const each of list) each.share = sum === 0 ? 0 : each.ns / sum;
  return list;
}

export type SortKey = keyof FlowRow | "now";
const badness = (row: FlowRow): number =>
  (row.grade === "wrong" ? 3 : row.grade === "minor" ? 2 : row.grade === "suspected" ? 1 : 0) + (row.cost ?? 0) / 2;

/** Flows in an order. Unknown figures come last, in either direction. */
export function sorted(rows: readonly FlowRow[], key: SortKey, descending: boolean, now?: Map<number, RangeFigures>): FlowRow[] {
  const value = (row: FlowRow): number | string | null => {
    if (key === "cause") return badness(row);
    if (key === "now") return now?.get(row.id)?.wire_bytes ?? 0;
    const found = row[key as keyof FlowRow];
    return Array.isArray(found) ? null : (found as number | string | null);
  };
  const sign = descending ? -1 : 1;
  return rows.map((row, place) => ({ row, place, value: value(row) })).sort((a, b) => {
    if (a.value === null || b.value === null) return a.value === b.value ? a.place - b.place : a.value === null ? 1 : -1;
    if (a.value === b.value) return a.place - b.place;
    return a.value < b.value ? -sign : sign;
  }).map((each) => each.row);
}

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter((word) => word !== "");

/** The content has every word of the text. */
export function hasWords(content: string, text: string): boolean {
  const searched = content.toLowerCase();
  return wordsOf(text).every((word) => searched.includes(word));
}

/** Rows that contain every word; a word may be `cause` for flows with a problem. */
export function filtered(rows: readonly FlowRow[], text: string): FlowRow[] {
  const words = wordsOf(text);
  if (words.length === 0) return [...rows];
  return rows.filter((row) => {
    const content = `${row.id} ${row.kind} ${row.source} ${row.destination} ${row.cause ?? ""} ${row.operations}`.toLowerCase();
    return words.every((word) => (word === "cause" ? row.cause !== null : content.includes(word)));
  });
}

// ---- time ----

export interface RangeFigures { wire_bytes: number; messages: number; resent: number; naks: number; marks: number }

export function cellRange(line: TimeLine, binsPerCell: number, cell: number): Range {
  const length = line.bin_ns * binsPerCell;
  const from = (line.first_offset_ns ?? 0) + cell * length;
  return { from, to: from + length };
}

/** What a flow did in a range; cells that the range covers in part count in part. */
export function sumOfFlow(series: FlowSeries, line: TimeLine, binsPerCell: number, range: Range): RangeFigures {
  const sum: RangeFigures = { wire_bytes: 0, messages: 0, resent: 0, naks: 0, marks: 0 };
  series.cells.forEach((cell, i) => {
    const { from, to } = cellRange(line, binsPerCell, cell);
    const share = (Math.min(to, range.to) - Math.max(from, range.from)) / (to - from);
    if (share <= 0) return;
    for (const name of ["wire_bytes", "messages", "resent", "naks", "marks"] as const)
      sum[name] += (series[name]?.[i] ?? 0) * Math.min(share, 1);
  });
  return sum;
}

/** The whole of the time line. */
export function wholeRange(line: TimeLine): Range {
  const from = line.first_offset_ns ?? 0;
  return { from, to: from + line.bin_ns * Math.max(line.bins, 1) };
}

/** The figures of every flow in a range; flows without traffic there are absent. */
export function sumsOfFlows(document: ReportDocument, range: Range): Map<number, RangeFigures> {
  const sums = new Map<number, RangeFigures>();
  if (!document.time_line || !document.series) return sums;
  for (const series of document.series.flows) {
    const sum = sumOfFlow(series, document.time_line, document.series.bins_per_cell, range);
    if (sum.wire_bytes > 0 || sum.messages > 0) sums.set(series.flow, sum);
  }
  return sums;
}

export interface Cell { source: string; destination: string; bytes: number; flows: number; problems: number }
export interface Matrix { sources: string[]; destinations: string[]; cells: Map<string, Cell>; max: number; left_out: number }

/** Which host sends how much to which: the hosts with the most traffic. */
export function matrixOf(rows: readonly FlowRow[], bytesOf: (row: FlowRow) => number, most: number): Matrix {
  const sent = new Map<string, number>();
  const received = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, bytes: number) => sums.set(key, (sums.get(key) ?? 0) + bytes);
  for (const row of rows) {
    add(sent, row.source_host, bytesOf(row));
    add(received, row.destination_host, bytesOf(row));
  }
  const first = (sums: Map<string, number>) =>
    [...sums].filter(([, bytes]) => bytes > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  const sources = first(sent);
  const destinations = first(received);
  const matrix: Matrix = {
    sources: sources.slice(0, most), destinations: destinations.slice(0, most), cells: new Map(), max: 0,
    left_out: Math.max(sources.length - most, 0) + Math.max(destinations.length - most, 0),
  };
  for (const row of rows) {
    const bytes = bytesOf(row);
    if (bytes <= 0) continue;
    const key = cellKey(row.source_host, row.destination_host);
    const cell = matrix.cells.get(key) ??
      { source: row.source_host, destination: row.destination_host, bytes: 0, flows: 0, problems: 0 };
    cell.bytes += bytes;
    cell.flows += 1;
    cell.problems += row.cause === null ? 0 : 1;
    matrix.cells.set(key, cell);
    matrix.max = Math.max(matrix.max, cell.bytes);
  }
  return matrix;
}
export const cellKey = (source: string, destination: string): string => JSON.stringify([source, destination]);

// ---- one flow ----

export interface Mark { kind: string; time: number; sequence: number; length: number; frame: number; label: string }

/** The marks of a plot, with their differences added up. */
export function marksOf(plot: Plot): Mark[] {
  const { marks } = plot;
  const list: Mark[] = [];
  let time = 0;
  let sequence = 0;
  let frame = 0;
  for (let i = 0; i < marks.kinds.length; ++i) {
    time += marks.times[i];
    sequence += marks.sequences[i];
    frame += marks.frames[i];
    list.push({ kind: marks.kinds[i], time, sequence, length: marks.lengths[i], frame, label: marks.labels[marks.label[i]] ?? "" });
  }
  return list;
}

export const markWords: Readonly<Record<string, string>> = {
  d: "data", R: "sent again", r: "READ response", a: "ACK", K: "NAK", N: "RNR NAK", G: "CNP", D: "duplicate ACK",
};
/** In the order in which marks hide one another. */
export const markOrder = "adrDGRKN";

/** The mark nearest to a place on the screen, at most `reach` away; the one drawn last of several. */
export function nearest(marks: readonly Mark[], x: (time: number) => number, y: (sequence: number) => number,
                        at: { x: number; y: number }, reach: number): Mark | null {
  let best: Mark | null = null;
  let distance = reach * reach;
  for (const mark of marks) {
    const dx = x(mark.time) - at.x;
    if (dx > reach || dx < -reach) continue;
    const top = y(mark.sequence + Math.max(mark.length - 1, 0));
    const bottom = y(mark.sequence);
    const dy = at.y < top ? top - at.y : at.y > bottom ? at.y - bottom : 0;
    const square = dx * dx + dy * dy;
    if (square > distance) continue;
    if (square === distance && best !== null && markOrder.indexOf(best.kind) > markOrder.indexOf(mark.kind)) continue;
    best = mark;
    distance = square;
  }
  return best;
}

/** "65 ms": the lower edge of a latency row. */
export const latencyOfRow = (row: number): number => 2 ** (row / 4);

/** The least row that a share of the messages does not exceed. */
export function quantileRow(counts: ReadonlyMap<number, number>, share: number): number | null {
  let total = 0;
  for (const each of counts.values()) total += each;
  if (total === 0) return null;
  let seen = 0;
  for (const row of [...counts.keys()].sort((a, b) => a - b)) {
    seen += counts.get(row)!;
    if (seen >= share * total) return row;
  }
  return null;
}

// ---- commands to copy ----

/** A word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}
/** `dump` of the capture, to which options are added; empty if no file has its frames. `dump` reads one file, and several files are counted in the order of time. */
function dumpOf(document: ReportDocument): string {
  const files = document.source.files;
  if (files.length === 0 || files.includes("-")) return "";
  if (files.length === 1) return `rdmascope dump -# -r ${quoted(files[0])}`;
  return `mergecap -w - ${files.map(quoted).join(" ")} | rdmascope dump -# -r -`;
}
/** The command that prints frames; empty if no file has them. */
export function dumpCommand(document: ReportDocument, frames: readonly number[]): string {
  const dump = dumpOf(document);
  if (dump === "" || frames.length === 0) return "";
  const list = [...new Set(frames)].sort((a, b) => a - b).join(", ");
  return `${dump} -Y 'frame.number in {${list}}'`;
}
/** The command that prints the frames of a flow; empty if no single file has them. */
export function flowCommand(document: ReportDocument, flow: number): string {
  const dump = dumpOf(document);
  return dump === "" ? "" : `${dump} --flow ${flow}`;
}
