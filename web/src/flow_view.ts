// One flow: where its time went, its latencies, sequence against time, what was outstanding, its figures and events.
import { scaleLinear, type LinearScale } from "d3-scale";
import type { Plot, PlotBin } from "./document";
import { canvasOf, color, copied, element, redrawAll, renew, section } from "./dom";
import { bitRate, byteSize, count, dumpCommand, duration, figure, flowCommand, grouped, latencyOfRow, markOrder, markWords, marksOf, nearest, percent, quantileRow, states, type FlowRow, type Mark, type Range } from "./model";
import { stateBar } from "./flow_table";
import type { FlowDetails, PageState } from "./state";

const left = 74;
const right = 10;
const axisHeight = 22;

/** What is drawn now: a flow, its plot, and the stretch of time. */
interface View { row: FlowRow | null; plot: Plot | null; marks: Mark[]; range: Range; frame: number | null }

function timeScale(view: View, width: number): LinearScale {
  return scaleLinear().domain([view.range.from, view.range.to]).range([left, width - right]);
}

/** Times finer than a microsecond of a late moment: the axis shows the distance to its begin. */
function drawTimes(context: CanvasRenderingContext2D, view: View, width: number, height: number): void {
  const x = timeScale(view, width);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "alphabetic";
  context.fillStyle = color("dim");
  context.strokeStyle = color("line");
  const span = view.range.to - view.range.from;
  const relative = view.range.from > 0 && span < view.range.from / 4;
  const ticksWanted = Math.max(Math.floor((width - left) / 110), 2);
  const ticks = relative ? scaleLinear().domain([0, span]).ticks(ticksWanted).map((tick) => tick + view.range.from) : x.ticks(ticksWanted);
  context.textAlign = "center";
  for (const tick of ticks) {
    const at = x(tick);
    context.beginPath();
    context.moveTo(at, 0);
    context.lineTo(at, height - axisHeight);
    context.globalAlpha = 0.45;
    context.stroke();
    context.globalAlpha = 1;
    const words = relative ? `+${duration(tick - view.range.from)}` : duration(tick);
    const room = context.measureText(words).width / 2;
    if (at - room >= left - 4 && at + room <= width) context.fillText(words, at, height - 7);
  }
  if (relative) {
    context.textAlign = "left";
    context.fillText(duration(view.range.from), 2, height - 7);
  }
}

function drawLabel(context: CanvasRenderingContext2D, words: string, y: number): void {
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("dim");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(words, left - 6, y);
}

function explain(context: CanvasRenderingContext2D, words: string, width: number, height: number): void {
  context.font = "13px system-ui, sans-serif";
  context.fillStyle = color("dim");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(words, width / 2, height / 2, width - 16);
}

const binsIn = (view: View): PlotBin[] => (view.plot?.bins ?? []).filter((bin) => bin.to > view.range.from && bin.from < view.range.to);

// ---- states ----

function drawStates(view: View, context: CanvasRenderingContext2D, width: number, height: number): void {
  const bins = binsIn(view);
  if (bins.length === 0) return explain(context, "no times are known", width, height);
  const x = timeScale(view, width);
  const bottom = height - axisHeight;
  drawTimes(context, view, width, height);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left - right, bottom);
  context.clip();
  for (const bin of bins) {
    const from = x(bin.from);
    const room = Math.max(x(bin.to) - from, 1);
    const sum = Math.max(bin.to - bin.from, 1);
    let y = bottom;
    for (let i = 0; i + 1 < bin.states.length; i += 2) {
      const part = (bin.states[i + 1] / sum) * (bottom - 2);
      context.fillStyle = color(`s${bin.states[i]}`);
      context.fillRect(from, y - part, room + 0.4, part);
      if (part > 14 && room > 16) {
        context.fillStyle = color(`t${bin.states[i]}`) || "#000";
        context.font = "bold 11px ui-monospace, monospace";
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(states[bin.states[i]].letter, from + room / 2, y - part / 2);
      }
      y -= part;
    }
  }
  context.restore();
  drawLabel(context, "100 %", 8);
  drawLabel(context, "0", bottom - 6);
}

// ---- latencies ----

function drawLatencies(view: View, context: CanvasRenderingContext2D, width: number, height: number, binNs: number, first: number): void {
  const bins = binsIn(view).filter((bin) => bin.latencies.length > 0);
  if (bins.length === 0) return explain(context, "no message was acknowledged in this time", width, height);
  const bottom = height - axisHeight;
  let low = 255;
  let high = 0;
  let most = 0;
  for (const bin of bins)
    for (let i = 0; i < bin.latencies.length; i += 2) {
      low = Math.min(low, bin.latencies[i]);
      high = Math.max(high, bin.latencies[i]);
      most = Math.max(most, bin.latencies[i + 1]);
    }
  low -= 1;
  high += 2;
  const x = timeScale(view, width);
  const y = scaleLinear().domain([low, high]).range([bottom, 2]);
  drawTimes(context, view, width, height);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left - right, bottom);
  context.clip();
  // A line that crosses a pause would show latencies that nobody had.
  const gap = 4 * (x(binNs) - x(0)) + 24;
  const lines: Array<{ share: number; name: string; points: Array<[number, number]> }> = [{ share: 0.5, name: "p50", points: [] }, { share: 0.99, name: "p99", points: [] }];
  for (const bin of bins) {
    const begin = x(first + bin.bin * binNs);
    const room = Math.max(x(first + (bin.bin + 1) * binNs) - begin, 1);
    const counts = new Map<number, number>();
    for (let i = 0; i < bin.latencies.length; i += 2) {
      const share = Math.log1p(bin.latencies[i + 1]) / Math.log1p(most);
      context.fillStyle = color(`h${Math.min(Math.floor(share * 7), 6)}`);
      const top = y(bin.latencies[i] + 1);
      context.fillRect(begin, top, room + 0.4, y(bin.latencies[i]) - top);
      counts.set(bin.latencies[i], bin.latencies[i + 1]);
    }
    for (const line of lines) {
      const row = quantileRow(counts, line.share);
      if (row !== null) line.points.push([begin + room / 2, y(row + 0.5)]);
    }
  }
  for (const line of lines) {
    context.strokeStyle = color("ink");
    context.lineWidth = 1.4;
    context.setLineDash(line.share > 0.5 ? [4, 3] : []);
    context.beginPath();
    line.points.forEach(([px, py], i) => {
      if (i > 0 && px - line.points[i - 1][0] <= gap) context.lineTo(px, py);
      else context.moveTo(px, py);
    });
    context.stroke();
    context.setLineDash([]);
  }
  context.restore();
  const rows = high - low;
  const step = rows > 24 ? 8 : rows > 10 ? 4 : 2;
  for (let row = Math.ceil(low / step) * step; row < high; row += step) drawLabel(context, duration(latencyOfRow(row)), y(row));
}

// ---- sequence against time ----

interface SequencePicture { x: LinearScale; y: LinearScale; drawn: Mark[] }

function drawSequence(view: View, context: CanvasRenderingContext2D, width: number, height: number): SequencePicture | null {
  const marks = view.marks.filter((mark) => mark.time >= view.range.from && mark.time < view.range.to);
  if (marks.length === 0) {
    explain(context, view.marks.length === 0 ? "this report has no frames of this flow" : "no frame in this time", width, height);
    return null;
  }
  const bottom = height - axisHeight;
  let low = Infinity;
  let high = -Infinity;
  for (const mark of marks) {
    low = Math.min(low, mark.sequence);
    high = Math.max(high, mark.sequence + Math.max(mark.length, 1));
  }
  const x = timeScale(view, width);
  const y = scaleLinear().domain([low, high]).range([bottom - 6, 8]);
  drawTimes(context, view, width, height);
  const bytes = view.plot?.counts === "bytes";
  for (const tick of y.ticks(5)) if (Number.isInteger(tick)) drawLabel(context, bytes ? count(tick) + "B" : String(tick & 0xffffff), y(tick));
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left - right, bottom);
  context.clip();
  const letters = new Set(["R", "K", "N", "G", "D"]);
  for (const kind of markOrder) {
    context.fillStyle = color(`m-${kind}`);
    context.strokeStyle = context.fillStyle;
    context.font = "bold 12px ui-monospace, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const mark of marks) {
      if (mark.kind !== kind) continue;
      const px = x(mark.time);
      const top = y(mark.sequence + Math.max(mark.length, 1));
      const foot = y(mark.sequence);
      if (letters.has(kind)) {
        if (foot - top > 12) context.fillRect(px - 0.7, top, 1.4, foot - top);
        context.fillText(kind, px, (top + foot) / 2);
      } else if (kind === "a") {
        context.fillRect(px - 3, foot - 0.7, 6, 1.4);
      } else {
        context.fillRect(px - 1, Math.min(top, foot - 2), 2, Math.max(foot - top, 2));
      }
    }
  }
  if (view.frame !== null) {
    const chosen = marks.find((mark) => mark.frame === view.frame);
    if (chosen) {
      context.strokeStyle = color("focus");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x(chosen.time), y(chosen.sequence + Math.max(chosen.length, 1) / 2), 10, 0, 7);
      context.stroke();
      context.beginPath();
      context.setLineDash([2, 4]);
      context.moveTo(x(chosen.time), 0);
      context.lineTo(x(chosen.time), bottom);
      context.stroke();
      context.setLineDash([]);
    }
  }
  context.restore();
  return { x, y, drawn: marks };
}

// ---- outstanding ----

function drawOutstanding(view: View, context: CanvasRenderingContext2D, width: number, height: number, limit: number | null): void {
  const bins = binsIn(view);
  if (bins.length === 0 || !view.row || view.row.depth_mean === null) return explain(context, "what was outstanding is unknown", width, height);
  const bottom = height - axisHeight;
  const most = Math.max(view.row.depth_max ?? 0, limit ?? 0, ...bins.map((bin) => bin.outstanding), 1);
  const x = timeScale(view, width);
  const y = scaleLinear().domain([0, most]).range([bottom, 8]);
  drawTimes(context, view, width, height);
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left - right, bottom);
  context.clip();
  context.fillStyle = color("chart");
  for (const bin of bins) {
    const from = x(bin.from);
    const top = y(bin.outstanding);
    context.fillRect(from, Math.min(top, bottom - 1), Math.max(x(bin.to) - from, 1) + 0.4, Math.max(bottom - top, 1));
  }
  const rule = (value: number, name: string) => {
    context.strokeStyle = color(name);
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - right, y(value));
    context.stroke();
    context.setLineDash([]);
  };
  if (view.row.depth_max !== null) rule(view.row.depth_max, "dim");
  if (limit !== null) rule(limit, "bad");
  context.restore();
  drawLabel(context, String(most), 8);
  drawLabel(context, "0", bottom - 6);
}

// ---- figures and events ----

type Loose = Record<string, unknown>;
const member = (object: unknown, path: string): unknown => path.split(".").reduce<unknown>((at, name) => (at && typeof at === "object" ? (at as Loose)[name] : undefined), object);
const numberAt = (object: unknown, path: string): number | null => { const found = member(object, path); return typeof found === "number" ? found : null; };

function factsOf(flow: unknown, row: FlowRow): HTMLElement {
  const list = element("dl", { class: "facts" });
  const add = (name: string, value: string | null | undefined) => {
    if (value && value !== "-") list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  };
  const plain = (path: string) => { const value = member(flow, path); return value === null || value === undefined ? null : typeof value === "number" ? grouped(value) : String(value); };
  add("packets", grouped(row.packets));
  add("bytes on the wire", byteSize(row.wire_bytes));
  add("messages", grouped(row.messages));
  add("goodput (message bytes)", row.goodput === null ? null : bitRate(row.goodput * 8));
  add("latency p50", duration(row.p50));
  add("latency p99", duration(row.p99));
  add("resent", row.resent === null ? null : grouped(row.resent));
  add("NAK/RNR NAK", `${row.naks}/${row.rnr_naks}`);
  add("CE/CNP", `${row.ce_marks}/${row.cnps}`);
  add("path MTU", plain("connection.path_mtu"));
  add("initiator depth", plain("connection.initiator_depth"));
  add("responder resources", plain("connection.responder_resources"));
  add("ACK timeout", duration(numberAt(flow, "connection.ack_timeout_ns")));
  add("retry count", plain("connection.retry_count"));
  add("RNR retry count", plain("connection.rnr_retry_count"));
  add("end", plain("connection.end"));
  add("MSS", plain("tcp.mss"));
  add("TCP round trip p50", duration(numberAt(flow, "tcp.round_trip_ns.p50")));
  add("least round trip", duration(numberAt(flow, "round_trip_min_ns")));
  add("vantage", plain("vantage"));
  add("link rate", bitRate(numberAt(flow, "link_bits_per_sec")));
  const confidence = numberAt(flow, "confidence");
  add("confidence", confidence === null ? null : percent(confidence));
  return list;
}

interface EventSummary { count: number; frames: number[]; value_max: number }
function eventsOf(flow: unknown, show: (frame: number) => void): HTMLElement | string {
  const events = Object.entries((member(flow, "exhibits") ?? {}) as Record<string, EventSummary>);
  if (events.length === 0) return "";
  return element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "event"), element("th", { class: "n" }, "times"), element("th", {}, "first frames"))),
    element("tbody", {}, ...events.map(([name, event]) => element("tr", {}, element("th", { scope: "row" }, name.replace(/_/g, " ")), element("td", { class: "n" }, grouped(event.count)),
      element("td", {}, ...event.frames.map((frame) => element("button", { type: "button", class: "frame", click: () => show(frame) }, frame)))))));
}

// ---- the section ----

export function flowViewSection(state: PageState): HTMLElement {
  const view: View = { row: null, plot: null, marks: [], range: state.range, frame: null };
  let zoom: Range | null = null;
  let picture: SequencePicture | null = null;
  let limit: number | null = null;
  /** What a daemon reported about the chosen flow, because the document does not have it in full. */
  let details: { id: number; found: FlowDetails } | null = null;
  const chooser = element("select", { "aria-label": "flow", id: "flow-choice" });
  const listed = () => state.report.plots.map((plot) => plot.flow);
  const nameOf = (id: number) => {
    const row = state.rows.find((each) => each.id === id);
    return row ? `${row.cause ? `${row.cause}: ` : ""}${row.source} > ${row.destination} (${row.operations})` : String(id);
  };
  const listFlows = () => {
    const ids = listed();
    if (state.flow !== null && !ids.includes(state.flow)) ids.push(state.flow);
    const options = ids.map((id) => element("option", { value: id }, nameOf(id)));
    const old = Array.from(chooser.options);
    if (options.length !== old.length || options.some((option, i) => !option.isEqualNode(old[i]))) chooser.replaceChildren(...options);
    if (state.flow !== null) chooser.value = String(state.flow);
  };
  const facts = element("div");
  const tip = element("div", { class: "tip", role: "status", hidden: true });
  const legend = element("div", { class: "legend" });
  const commands = element("div");
  const about = element("span");
  const keys = element("span", { class: "screen-only", id: "sequence-keys" });

  const timePlot = canvasOf(126, "states over time", (context, width, height) => drawStates(view, context, width, height));
  const latencyPlot = canvasOf(180, "latency over time", (context, width, height) => drawLatencies(view, context, width, height, state.report.time_line?.bin_ns ?? 1, state.report.time_line?.first_offset_ns ?? 0));
  const sequencePlot = canvasOf(380, "sequence against time", (context, width, height) => { picture = drawSequence(view, context, width, height); });
  const depthPlot = canvasOf(120, "outstanding messages over time", (context, width, height) => drawOutstanding(view, context, width, height, limit));
  const plots = [timePlot, latencyPlot, sequencePlot, depthPlot];
  sequencePlot.box.append(tip);
  const { canvas } = sequencePlot;
  canvas.tabIndex = 0;
  canvas.id = "sequence";
  canvas.setAttribute("aria-describedby", "sequence-keys");

  const extent = (): Range => {
    const { row } = view;
    if (!state.isWhole || !row || row.first_offset_ns === null || row.last_offset_ns === null) return state.range;
    const room = Math.max((row.last_offset_ns - row.first_offset_ns) * 0.02, 1000);
    return { from: row.first_offset_ns - room, to: row.last_offset_ns + room };
  };
  const draw = () => {
    view.range = zoom ?? extent();
    for (const plot of plots) plot.redraw();
    const words = `${duration(Math.max(view.range.from, 0))} to ${duration(view.range.to)}`;
    about.textContent = `Shown: ${words}. `;
    keys.textContent = view.marks.length === 0 ? "" : `Sequence has ${grouped(view.marks.length)} marks. Drag to zoom, double-click to go back; with the keyboard + - and the arrows, n and p from mark to mark.`;
    timePlot.canvas.setAttribute("aria-label", `states over time, ${words}`);
    latencyPlot.canvas.setAttribute("aria-label", `latency over time, ${words}; p50 ${duration(view.row?.p50)}, p99 ${duration(view.row?.p99)} of all messages`);
    depthPlot.canvas.setAttribute("aria-label", `outstanding messages over time, ${words}; mean ${view.row?.depth_mean?.toPrecision(3) ?? "unknown"}, at most ${view.row?.depth_max ?? "unknown"}`);
    canvas.setAttribute("aria-label", `sequence against time, ${words}; ${Object.entries(view.plot?.marks.seen ?? {}).map(([kind, seen]) => `${grouped(seen)} ${markWords[kind]}`).join(", ")}`);
  };
  const setZoom = (range: Range | null) => { zoom = range && range.to - range.from < 10 ? { from: range.from, to: range.from + 10 } : range; tip.hidden = true; draw(); };
  const scale = (factor: number, at = 0.5) => {
    const span = view.range.to - view.range.from;
    const middle = view.range.from + span * at;
    setZoom({ from: middle - span * factor * at, to: middle + span * factor * (1 - at) });
  };
  const pan = (share: number) => { const by = (view.range.to - view.range.from) * share; setZoom({ from: view.range.from + by, to: view.range.to + by }); };

  const showCommands = (frames: number[]) => {
    commands.replaceChildren();
    const frame = dumpCommand(state.report, frames);
    if (frame) commands.append(copied(frame));
    const whole = view.row ? flowCommand(state.report, view.row.id) : "";
    if (whole) commands.append(copied(whole));
  };
  const goToFrame = (frame: number) => {
    view.frame = frame;
    const place = view.marks.findIndex((mark) => mark.frame === frame);
    if (place >= 0) {
      const near = view.marks.slice(Math.max(place - 12, 0), place + 13);
      const from = Math.min(...near.map((mark) => mark.time));
      const to = Math.max(...near.map((mark) => mark.time));
      const room = Math.max((to - from) * 0.08, 500);
      setZoom({ from: from - room, to: to + room });
    }
    showCommands([frame]);
    draw();
  };

  /** Shows what is known about a flow now. */
  const load = (id: number) => {
    // Details are of the present: they do not belong to a time in the history.
    const found = details?.id === id && !state.report.live?.range ? details.found : null;
    view.row = state.rows.find((row) => row.id === id) ?? null;
    view.plot = state.report.plots.find((plot) => plot.flow === id) ?? found?.plot ?? null;
    view.marks = view.plot ? marksOf(view.plot) : [];
    const flow = (state.report.flows.find((each) => each.id === id) ?? found?.flow) as unknown;
    limit = view.row && /READ|atomic/i.test(view.row.operations) ? numberAt(flow, "connection.initiator_depth") : null;
    listFlows();
    const heading = view.row ? element("p", {}, element("b", {}, `${view.row.source} > ${view.row.destination}`), `, ${view.row.kind}, flow ${view.row.id}${view.row.cause ? `, ${view.row.cause}` : ""}`) : null;
    renew(facts, element("div", {}, ...[heading, view.row ? stateBar(view.row.states) : null, view.row ? factsOf(flow, view.row) : null, element("div", { class: "scroll" }, eventsOf(flow, goToFrame))].filter((each): each is HTMLElement => each !== null)));
    legend.replaceChildren(...[...markOrder].filter((kind) => (view.plot?.marks.seen[kind] ?? 0) > 0).map((kind) => {
      const swatch = element("i", {}, "RKNGD".includes(kind) ? kind : "");
      swatch.style.background = `var(--m-${kind})`;
      return element("span", {}, swatch, `${grouped(view.plot!.marks.seen[kind])} ${markWords[kind]}`);
    }));
  };
  /** Asks the daemon for a flow that the document does not have in full. */
  const ask = (id: number) => {
    const isKnown = state.report.plots.some((plot) => plot.flow === id) && state.report.flows.some((each) => each.id === id);
    if (!state.ask || isKnown || state.report.live?.range) return;
    void state.ask(id).then((found) => {
      if (!found || state.flow !== id) return;
      details = { id, found };
      load(id);
      draw();
    });
  };
  const choose = (id: number, frame: number | null) => {
    view.frame = null;
    zoom = null;
    load(id);
    showCommands([]);
    if (frame !== null) goToFrame(frame);
    else draw();
    ask(id);
  };

  // The mouse: what is under it, and zooming by dragging.
  const placeOf = (event: MouseEvent) => { const box = canvas.getBoundingClientRect(); return { x: event.clientX - box.left, y: event.clientY - box.top }; };
  const tell = (mark: Mark | null, at: { x: number; y: number }) => {
    tip.hidden = mark === null;
    if (!mark) return;
    const bytes = view.plot?.counts === "bytes";
    const sequence = bytes ? `bytes ${grouped(mark.sequence)} to ${grouped(mark.sequence + mark.length)}` : `PSN ${mark.sequence & 0xffffff}`;
    tip.replaceChildren(element("b", {}, `frame ${mark.frame}`), element("br"), mark.label.startsWith(markWords[mark.kind]) ? mark.label : `${markWords[mark.kind]}${mark.label ? `: ${mark.label}` : ""}`, element("br"), sequence, element("br"), `at ${figure(Math.round(mark.time), "ns")} (${(mark.time / 1e9).toFixed(9)} s)`);
    const room = canvas.clientWidth - 200;
    tip.style.left = `${Math.min(at.x + 14, Math.max(room, 0))}px`;
    tip.style.top = `${Math.max(at.y - 84, 4)}px`;
  };
  let pressed: { x: number; y: number } | null = null;
  canvas.addEventListener("pointerdown", (event) => { pressed = placeOf(event); });
  canvas.addEventListener("pointermove", (event) => {
    const at = placeOf(event);
    if (pressed && Math.abs(at.x - pressed.x) > 4 && event.buttons === 1) {
      sequencePlot.redraw();
      const context = canvas.getContext("2d")!;
      context.fillStyle = color("link");
      context.globalAlpha = 0.2;
      context.fillRect(Math.min(pressed.x, at.x), 0, Math.abs(at.x - pressed.x), canvas.clientHeight - axisHeight);
      context.globalAlpha = 1;
      return;
    }
    tell(picture ? nearest(picture.drawn, picture.x, picture.y, at, 12) : null, at);
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = placeOf(event);
    const from = pressed;
    pressed = null;
    if (!from || !picture) return;
    if (Math.abs(at.x - from.x) > 4) {
      setZoom({ from: picture.x.invert(Math.min(from.x, at.x)), to: picture.x.invert(Math.max(from.x, at.x)) });
      return;
    }
    const mark = nearest(picture.drawn, picture.x, picture.y, at, 12);
    if (mark) { view.frame = mark.frame; showCommands([mark.frame]); sequencePlot.redraw(); tell(mark, at); }
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => setZoom(null));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = (placeOf(event).x - left) / (canvas.clientWidth - left - right);
    scale(event.deltaY > 0 ? 1.3 : 1 / 1.3, Math.min(Math.max(at, 0), 1));
  }, { passive: false });
  // The keyboard: zoom, pan, and from mark to mark.
  const step = (by: number) => {
    if (!picture) return;
    const place = picture.drawn.findIndex((mark) => mark.frame === view.frame);
    const mark = picture.drawn[Math.min(Math.max(place + by, 0), picture.drawn.length - 1)];
    view.frame = mark.frame;
    showCommands([mark.frame]);
    sequencePlot.redraw();
    if (picture) tell(mark, { x: picture.x(mark.time), y: picture.y(mark.sequence) });
  };
  canvas.addEventListener("keydown", (event) => {
    const act: Record<string, () => void> = { "+": () => scale(0.5), "=": () => scale(0.5), "-": () => scale(2), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), n: () => step(1), p: () => step(-1), Escape: () => setZoom(null), "0": () => setZoom(null) };
    const found = act[event.key];
    if (!found) return;
    event.preventDefault();
    found();
  });

  chooser.addEventListener("change", () => state.open(Number(chooser.value)));
  state.onRange(() => { zoom = null; draw(); });
  // A daemon has no frames of which the sequence could be drawn.
  const sequencePart = element("div", {}, element("h3", {}, "Sequence against time"), legend, sequencePlot.box, commands);
  const content = element("div", {},
    element("div", { class: "controls" }, element("label", {}, "Flow", chooser),
      element("button", { type: "button", "aria-label": "zoom in", click: () => scale(0.5) }, "+"), element("button", { type: "button", "aria-label": "zoom out", click: () => scale(2) }, "−"),
      element("button", { type: "button", "aria-label": "earlier", click: () => pan(-0.5) }, "←"), element("button", { type: "button", "aria-label": "later", click: () => pan(0.5) }, "→"),
      element("button", { type: "button", click: () => setZoom(null) }, "All of it")),
    facts, element("p", { class: "dim" }, about, keys), sequencePart,
    element("h3", {}, "Where the time went"), timePlot.box,
    element("h3", {}, "Latency: messages by their latency; p50 (line) and p99 (dashes) of each bin"), latencyPlot.box,
    element("h3", {}, "Outstanding messages: mean of each bin; the greatest number (grey), the limit of READs and atomics (red)"), depthPlot.box);
  const nothing = element("p", { class: "dim" }, "There are no flows.");
  const made = section("flow", "One flow", nothing, content);
  state.onOpen((frame) => {
    if (state.flow === null) return;
    choose(state.flow, frame);
    const heading = made.querySelector("h2")!;
    made.scrollIntoView({ block: "start" });
    heading.focus({ preventScroll: true });
  });
  /** Chooses the first flow, if no flow is chosen or the chosen flow has gone. */
  const begin = () => {
    const found = listed()[0] ?? state.rows[0]?.id;
    nothing.hidden = found !== undefined;
    content.hidden = found === undefined;
    sequencePart.hidden = Boolean(state.report.live);
    if (found === undefined) return;
    state.flow = found;
    choose(found, null);
  };
  state.onReport(() => {
    if (state.flow === null || !state.rows.some((row) => row.id === state.flow)) return begin();
    load(state.flow);
    draw();
    ask(state.flow);
  });
  begin();
  return made;
}
export { redrawAll };
