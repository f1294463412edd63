// The page of a daemon: it asks for the document, and asks again when the daemon has new figures.
import type { ReportDocument } from "./document";
import { element } from "./dom";
import type { FlowDetails, PageState } from "./state";

type Build = (report: ReportDocument, page: HTMLElement, before: (state: PageState) => HTMLElement | null) => PageState;

const api = `${location.origin}/api/v1`;

const retryAfterMs = 2000;

/** A request that may succeed later: the daemon is busy, or does not answer. */
class TryAgain extends Error {}

async function read<Answer>(path: string): Promise<Answer> {
  const answer = await fetch(`${api}/${path}`, { cache: "no-store", credentials: "same-origin" })
    .catch(() => { throw new TryAgain("the daemon does not answer; the page tries again"); });
  if (answer.status === 503) throw new TryAgain("the daemon is busy; the page asks again");
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error((body as { error?: string } | null)?.error ?? `the daemon answered ${answer.status}`);
  return body as Answer;
}

const timeOf = (ns: number): string => new Date(ns / 1e6).toLocaleTimeString();
const momentWords = (ns: number): string => new Date(ns / 1e6).toLocaleString();
/** A moment as --from and --to accept it; null if the field is empty. */
const momentOf = (input: HTMLInputElement): string | null => input.value === "" ? null : `@${Math.floor(new Date(input.value).getTime() / 1000)}`;
/** What a field for date and time shows. */
const localTime = (ms: number): string => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** Moments since 1970, the same in each request: the daemon reads on where an earlier request ended. */
interface Asked { from: string; to: string }

/** The present figures, which are fetched again and again, or those of a time in the history. */
class Live {
  private range: Asked | null = null;
  /** Up to where the daemon has read the history, and whether another request had no more. */
  private readTo = 0;
  private stuck = false;
  private paused = false;
  private held = false;
  private busy = false;
  private due = false;
  private state: PageState | null = null;
  private readonly status = element("output", { id: "live-status", class: "number" });
  private readonly pause = element("button", { type: "button", id: "live-pause", click: () => { this.paused = !this.paused; this.showStatus(); void this.refresh(); } });
  private readonly back = element("button", { type: "button", id: "live-back", hidden: true, click: () => this.show(null) }, "Back to now");
  private problem = "";

  constructor(private readonly page: HTMLElement, private readonly build: Build) {
    // What is under the pointer must not be replaced while it is being dragged.
    addEventListener("pointerdown", () => { this.held = true; });
    for (const name of ["pointerup", "pointercancel", "blur"]) addEventListener(name, () => { this.held = false; void this.refresh(); });
    document.addEventListener("visibilitychange", () => { void this.refresh(); });
  }

  start(): void {
    this.page.replaceChildren(element("p", { class: "dim" }, "Waiting for the first figures of the daemon."));
    this.due = true;
    void this.refresh();
    this.follow();
  }

  /** The browser connects again by itself, unless the daemon refused. */
  private follow(): void {
    const events = new EventSource(`${api}/stream`);
    events.addEventListener("figures", () => {
      // The past stays as it is.
      if (this.range) return;
      this.due = true;
      void this.refresh();
    });
    events.addEventListener("error", () => {
      this.problem = "the daemon does not answer; the page tries again";
      this.showStatus();
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.follow(), 5000);
    });
    events.addEventListener("open", () => { this.problem = ""; this.showStatus(); });
  }
  private path(): string {
    if (!this.range) return "report";
    return `report?from=${encodeURIComponent(this.range.from)}&to=${encodeURIComponent(this.range.to)}`;
  }
  private async refresh(): Promise<void> {
    const waits = this.state !== null && (this.held || document.hidden || (this.paused && !this.range));
    if (!this.due || this.busy || waits) return;
    this.busy = true;
    this.due = false;
    const asked = this.range;
    try {
      this.accept(await read<ReportDocument>(this.path()));
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      // The present figures are asked for with the next event; no event comes for the past.
      if (error instanceof TryAgain && asked) setTimeout(() => { this.due = this.due || asked === this.range; void this.refresh(); }, retryAfterMs);
      if (!this.state) this.page.replaceChildren(element("p", {}, `There are no figures: ${this.problem}.`));
    }
    this.busy = false;
    this.showStatus();
    if (this.due) void this.refresh();
  }
  private accept(report: ReportDocument): void {
    // The user has chosen another time meanwhile.
    if (Boolean(report.live?.range) !== Boolean(this.range)) return;
    this.readOn(report);
    if (this.state) return this.state.setReport(report);
    this.state = this.build(report, this.page, (state) => {
      state.ask = (flow) => read<FlowDetails>(`flow/${flow}`).catch(() => null);
      return this.bar(report);
    });
  }
  /** A long history comes in pieces: the page shows what there is, and asks for more. */
  private readOn(report: ReportDocument): void {
    const range = report.live?.range;
    if (!range || range.to_ns >= range.asked_to_ns) return;
    this.stuck = range.to_ns <= this.readTo;
    this.readTo = range.to_ns;
    this.due = !this.stuck;
  }
  private show(range: Asked | null): void {
    this.range = range;
    this.readTo = 0;
    this.stuck = false;
    this.due = true;
    void this.refresh();
  }
  private showStatus(): void {
    const live = this.state?.report.live;
    this.pause.textContent = this.paused ? "Go on" : "Pause";
    this.pause.hidden = this.range !== null;
    this.back.hidden = this.range === null;
    const what = !live ? "" : live.range ? this.rangeWords(live.range) : `${this.paused ? "paused" : "live"}, ${timeOf(live.taken_ns)}`;
    this.status.value = this.problem === "" ? what : `${what}; ${this.problem}`;
    this.status.classList.toggle("late", this.problem !== "");
    if (live) this.status.dataset.number = String(live.number);
  }
  private rangeWords(range: { from_ns: number; to_ns: number; asked_to_ns: number }): string {
    const words = `history, ${momentWords(range.from_ns)} to ${momentWords(range.to_ns)}`;
    if (range.to_ns >= range.asked_to_ns) return words;
    const share = Math.floor(((range.to_ns - range.from_ns) / (range.asked_to_ns - range.from_ns)) * 100);
    return this.stuck ? `${words}; the rest, until ${momentWords(range.asked_to_ns)}, does not come: choose a shorter time` : `${words}; reading on until ${momentWords(range.asked_to_ns)}, ${share} % done`;
  }
  /** A moment of the daemon's clock, in whole seconds. */
  private ago(seconds: number): string { return `@${Math.ceil((this.state?.report.live?.taken_ns ?? Date.now() * 1e6) / 1e9) - seconds}`; }
  private bar(report: ReportDocument): HTMLElement {
    const bar = element("div", { class: "live screen-only", id: "live" }, this.status, this.pause, this.back);
    if (report.live?.history) bar.append(...this.picker());
    if (report.live?.writes) bar.append(this.recorder());
    return bar;
  }
  private picker(): HTMLElement[] {
    const from = element("input", { type: "datetime-local", id: "history-from", value: localTime(Date.now() - 3_600_000) });
    const to = element("input", { type: "datetime-local", id: "history-to" });
    const show = element("button", { type: "button", id: "history-show", click: () => { const begin = momentOf(from); if (begin) this.show({ from: begin, to: momentOf(to) ?? this.ago(0) }); } }, "Show");
    const last = ([["15 min", 900], ["1 h", 3600], ["24 h", 86400]] as const).map(([words, seconds]) => element("button", { type: "button", "data-seconds": seconds, click: () => this.show({ from: this.ago(seconds), to: this.ago(0) }) }, words));
    return [element("span", { class: "dim" }, "Last"), ...last, element("label", {}, "from", from), element("label", {}, "to", to), show];
  }
  private recorder(): HTMLElement {
    const status = element("output", { class: "dim", id: "trigger-status" });
    const button = element("button", { type: "button", id: "trigger", click: async () => {
      button.disabled = true;
      const answer = await fetch(`${api}/trigger`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ reason: "asked for by the page" }), credentials: "same-origin" }).catch(() => null);
      const body = await answer?.json().catch(() => null) as { error?: string } | null;
      status.value = answer?.ok ? "a recording has begun" : body?.error ?? (answer ? `the daemon answered ${answer.status}` : "the daemon does not answer");
      button.disabled = false;
    } }, "Record now");
    return element("span", { class: "recorder" }, button, status);
  }
}

export function startLive(page: HTMLElement, build: Build): void { new Live(page, build).start(); }
