// What the user has chosen: a range of time, and a flow. The parts of the page follow it.
import type { ReportDocument } from "./document";
import { rowsOf, wholeRange, type FlowRow, type Range } from "./model";

export class PageState {
  readonly rows: FlowRow[];
  readonly whole: Range;
  range: Range;
  flow: number | null = null;
  private listeners: Array<() => void> = [];
  private openers: Array<(frame: number | null) => void> = [];

  constructor(readonly report: ReportDocument) {
    this.rows = rowsOf(report);
    this.whole = report.time_line ? wholeRange(report.time_line) : { from: 0, to: Math.max(report.why.capture.last_offset_ns ?? 0, 1) };
    this.range = this.whole;
  }
  get isWhole(): boolean { return this.range.from <= this.whole.from && this.range.to >= this.whole.to; }
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
