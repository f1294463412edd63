// The flows: a table to sort and filter, those with a problem first.
import { element, renewRows, section } from "./dom";
import { bitRate, duration, filtered, grouped, percent, sorted, stateShares, states, sumsOfFlows, type FlowRow, type RangeFigures, type SortKey } from "./model";
import type { PageState } from "./state";

interface Column { key: SortKey; title: string; numeric: boolean; minor: boolean; hint: string; text: (row: FlowRow, now: RangeFigures | undefined) => string }

const dashed = (value: number | null): string => (value === null ? "-" : grouped(value));

function columnsOf(state: PageState): Column[] {
  const seconds = () => (state.range.to - state.range.from) / 1e9;
  return [
    { key: "kind", title: "kind", numeric: false, minor: true, hint: "transport and service", text: (row) => row.kind },
    { key: "operations", title: "operations", numeric: false, minor: true, hint: "operations of its messages", text: (row) => row.operations },
    { key: "now", title: "rate", numeric: true, minor: false, hint: "of its frames in the chosen time", text: (_, now) => (now ? bitRate((now.wire_bytes * 8) / seconds()) : "-") },
    { key: "messages", title: "messages", numeric: true, minor: true, hint: "of the whole capture", text: (row) => grouped(row.messages) },
    { key: "p50", title: "p50", numeric: true, minor: true, hint: "median latency of its most frequent operation", text: (row) => duration(row.p50) },
    { key: "p99", title: "p99", numeric: true, minor: false, hint: "99th percentile of that latency", text: (row) => duration(row.p99) },
    { key: "depth_mean", title: "depth", numeric: true, minor: true, hint: "outstanding messages: mean/maximum", text: (row) => (row.depth_mean === null ? "-" : `${Number(row.depth_mean.toPrecision(3))}/${row.depth_max ?? "-"}`) },
    { key: "resent", title: "resent", numeric: true, minor: true, hint: "packets sent again", text: (row) => dashed(row.resent) },
    { key: "naks", title: "NAK/RNR", numeric: true, minor: true, hint: "NAKs of all codes/RNR NAKs", text: (row) => `${row.naks}/${row.rnr_naks}` },
    { key: "ce_marks", title: "CE/CNP", numeric: true, minor: true, hint: "packets marked by ECN/CNPs", text: (row) => `${row.ce_marks}/${row.cnps}` },
  ];
}

/** Where the time went: a share of the bar for each state, with its letter. */
export function stateBar(flat: readonly number[]): HTMLElement {
  const shares = stateShares(flat);
  const words = shares.filter((each) => each.share > 0.0005).sort((a, b) => b.share - a.share).map((each) => `${states[each.state].words} ${percent(each.share)}`).join(", ");
  const bar = element("div", { class: "bar", role: "img", "aria-label": words || "no time passed", title: words });
  for (const each of shares) {
    if (each.share < 0.004) continue;
    const part = element("span", {}, each.share > 0.08 ? states[each.state].letter : "");
    part.style.flexBasis = `${each.share * 100}%`;
    part.style.background = `var(--s${each.state})`;
    part.style.color = `var(--t${each.state}, #000)`;
    bar.append(part);
  }
  return bar;
}

/** Bytes over the whole time, as a line of 76 by 18 pixels. */
function sparkline(state: PageState, flow: number): Node | string {
  const { time_line: line, series } = state.report;
  const own = series?.flows.find((each) => each.flow === flow);
  if (!line || !series || !own || !own.wire_bytes) return "";
  const cells = Math.max(Math.ceil(line.bins / series.bins_per_cell), 1);
  const max = Math.max(...own.wire_bytes);
  const width = 76;
  const step = width / cells;
  const path = own.cells.map((cell, i) => {
    const height = Math.max((own.wire_bytes![i] / max) * 17, 1);
    return `M${(cell * step).toFixed(1)},18v${(-height).toFixed(1)}h${Math.max(step, 0.8).toFixed(1)}v${height.toFixed(1)}z`;
  }).join("");
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("width", String(width));
  picture.setAttribute("height", "18");
  picture.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
  drawn.setAttribute("d", path);
  drawn.style.fill = "var(--chart)";
  picture.append(drawn);
  return picture;
}

export function flowSection(state: PageState): HTMLElement {
  const page = 100;
  let key: SortKey = "cause";
  let descending = true;
  let filter = "";
  let shown = page;
  const columns = columnsOf(state);
  let withPlots = new Set<number>();
  const input = element("input", { type: "search", placeholder: "host, operation or cause", "aria-label": "filter flows" });
  const total = element("output", { class: "dim", id: "flows-shown" });
  const more = element("button", { type: "button", class: "screen-only" });
  const body = element("tbody");

  const headings = new Map<SortKey, HTMLElement>();
  const heading = (name: SortKey, title: string, hint: string, numeric: boolean, minor: boolean) => {
    const made = element("th", { scope: "col", class: `${numeric ? "n" : ""}${minor ? " minor-column" : ""}` },
      element("button", { type: "button", title: hint, "data-sort": name, click: () => {
        descending = key === name ? !descending : numeric || name === "cause";
        key = name;
        shown = page;
        show();
      } }, title));
    headings.set(name, made);
    return made;
  };
  const head = element("tr", {}, heading("cause", "cause", "flows with a problem, the worst first", false, false), heading("source", "source > destination", "by source", false, false),
    element("th", { scope: "col" }, "time"), ...columns.map((column) => heading(column.key, column.title, column.hint, column.numeric, column.minor)),
    element("th", { scope: "col", class: "minor-column" }, "bytes"));

  const rowOf = (row: FlowRow, now: RangeFigures | undefined) => element("tr", { "data-flow": row.id, class: row.id === state.flow ? "chosen" : "" },
    element("td", { class: `cause ${row.grade ?? ""}`, title: row.grade ?? "no problem" }, row.cause === null ? "-" : `${row.grade === "suspected" ? "" : "! "}${row.cause}${row.grade === "suspected" ? "?" : ""}`),
    element("td", { class: "ends" }, element("button", { type: "button", class: "open", title: withPlots.has(row.id) || state.ask ? "show this flow" : "show this flow; it has no plots of single frames", click: () => state.open(row.id) }, `${row.source} > ${row.destination}`)),
    element("td", {}, stateBar(row.states)),
    ...columns.map((column) => element("td", { class: `${column.key} ${column.numeric ? "n" : ""}${column.minor ? " minor-column" : ""}` }, column.text(row, now))),
    element("td", { class: "minor-column" }, sparkline(state, row.id)));

  const show = () => {
    const sums = sumsOfFlows(state.report, state.range);
    const inRange = state.isWhole || !state.report.series ? state.rows : state.rows.filter((row) => sums.has(row.id));
    const chosen = sorted(filtered(inRange, filter), key, descending, sums);
    renewRows(body, chosen.slice(0, shown).map((row) => rowOf(row, sums.get(row.id))));
    total.value = `${grouped(chosen.length)} of ${grouped(state.report.flow_count)} flows${state.isWhole ? "" : " in the chosen time"}`;
    more.hidden = chosen.length <= shown;
    more.textContent = `Show ${Math.min(page * 5, chosen.length - shown)} more`;
    for (const [name, cell] of headings) {
      if (name === key) cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  };
  input.addEventListener("input", () => { filter = input.value; shown = page; show(); });
  more.addEventListener("click", () => { shown += page * 5; show(); });
  state.onRange(show);
  state.onOpen(() => {
    for (const row of Array.from(body.children)) row.classList.toggle("chosen", row.getAttribute("data-flow") === String(state.flow));
  });
  const legend = element("div", { class: "legend" });
  const explain = () => {
    const used = new Set(state.rows.flatMap((row) => stateShares(row.states).filter((each) => each.share > 0.004).map((each) => each.state)));
    legend.replaceChildren(...states.map((each, i) => ({ each, i })).filter(({ i }) => used.has(i)).map(({ each, i }) => {
      const swatch = element("i", {}, each.letter);
      swatch.style.background = `var(--s${i})`;
      swatch.style.color = `var(--t${i}, #000)`;
      return element("span", {}, swatch, each.words);
    }));
  };
  const read = () => {
    withPlots = new Set(state.report.plots.map((plot) => plot.flow));
    show();
    explain();
  };
  state.onReport(read);
  read();
  return section("flows", "Flows",
    element("div", { class: "controls" }, input, total),
    element("div", { class: "scroll", role: "region", "aria-label": "table of flows", tabindex: 0 }, element("table", { class: "flows" }, element("thead", {}, head), body)), more, legend);
}
