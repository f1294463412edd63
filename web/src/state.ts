// What the user has chosen: a range of time, and a flow. The parts of the page follow it, and a daemon's new figures.
import type { Plot, ReportDocument } from "./document";
import { rowsOf, wholeRange, type FlowRow, type Range } from "./model";

/** What a daemon reports about one flow. */
export interface FlowDetails { flow: unknown; plot: Plot }

export class PageState {
  rows: FlowRow[] = [];
  whole: Range = { from: 0, to: 1 };
  range: Range = this.whole;
  flow: number | null = null;
  /** Asks a daemon about a flow; null for a page that holds all of its data. */
  ask: ((flow: number) => Promise<FlowDetails | null>) | null = null;
  private listeners: Array<() => void> = [];
  private openers: Array<(frame: number | null) => void> = [];
  private readers: Array<() => void> = [];

  constructor(public report: ReportDocument) {
    this.read();
    this.range = this.whole;
  }
  get isWhole(): boolean { return this.range.from <= this.whole.from && this.range.to >= this.whole.to; }
  private read(): void {
    const { report } = this;
    this.rows = rowsOf(report);
    this.whole = report.time_line ? wholeRange(report.time_line) : { from: 0, to: Math.max(report.why.capture.last_offset_ns ?? 0, 1) };
  }
  /** Calls back when there is another document. */
  onReport(reader: () => void): void { this.readers.push(reader); }
  /** A range that the user has chosen stays, as far as the document still has it. */
  setReport(report: ReportDocument): void {
    const wasWhole = this.isWhole;
    this.report = report;
    this.read();
    const from = Math.max(this.range.from, this.whole.from);
    const to = Math.min(this.range.to, this.whole.to);
    this.range = wasWhole || to <= from ? this.whole : { from, to };
    for (const reader of this.readers) reader();
  }
  /** Calls back when the range changes. */
  onRange(listener: () => void): void { this.listeners.push(listener); }
  setRange(range: Range): void {
    this.range = range;
    for (const listener of this.listeners) listener();
  }
  /** Calls back when a flow is opened; at a frame, if one is given. */
  onOpen(opener: (frame: number | null) => void): void { this.openers.push(opener); }
  open(flow: number, frame: number | null = null): void {
    this.flow = flow;
    for (const opener of this.openers) opener(frame);
  }
}
