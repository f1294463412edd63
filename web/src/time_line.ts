// The capture over time, in lanes. A brush over them chooses the range that the rest of the page shows.
import { axisBottom } from "d3-axis";
import { brushX, type Brush } from "d3-brush";
import { scaleLinear, type LinearScale } from "d3-scale";
import * as selection from "d3-selection";
import type { TimeLine } from "./document";
import { element, section } from "./dom";
import { bitRate, count, duration, grouped, type Range } from "./model";
import type { PageState } from "./state";

interface Lane { name: string; values: number[]; height: number; color: string; letter: string; text: (value: number) => string }

function lanesOf(line: TimeLine): { shown: Lane[]; quiet: string[] } {
  const rate = line.wire_bytes.map((bytes) => (bytes * 8 * 1e9) / line.bin_ns);
  const per = line.messages.map((messages) => (messages * 1e9) / line.bin_ns);
  const all: Lane[] = [
    { name: "bit rate", values: rate, height: 78, color: "var(--chart)", letter: "", text: bitRate },
    { name: "messages", values: per, height: 38, color: "var(--m-r)", letter: "", text: (value) => `${count(value)}/s` },
    { name: "resent", values: line.resent, height: 26, color: "var(--m-R)", letter: "R", text: grouped },
    { name: "NAK", values: line.naks, height: 26, color: "var(--m-K)", letter: "K", text: grouped },
    { name: "RNR NAK", values: line.rnr_naks, height: 26, color: "var(--m-N)", letter: "N", text: grouped },
    { name: "CE", values: line.ce_marks, height: 26, color: "var(--m-G)", letter: "G", text: grouped },
    { name: "CNP", values: line.cnps, height: 26, color: "var(--second)", letter: "G", text: grouped },
    { name: "pauses", values: line.pauses, height: 26, color: "var(--bad)", letter: "P", text: grouped },
  ];
  const busy = (lane: Lane, place: number) => place < 2 || lane.values.some((value) => value > 0);
  return { shown: all.filter(busy), quiet: all.filter((lane, place) => !busy(lane, place)).map((lane) => lane.name) };
}

const svgNamespace = "http://www.w3.org/2000/svg";
function svg(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const made = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text) made.textContent = text;
  return made;
}

/** A lane as one path of steps. */
function lanePath(lane: Lane, line: TimeLine, x: LinearScale, top: number): string {
  const max = Math.max(...lane.values, 0);
  const bottom = top + lane.height;
  let path = `M${x(line.first_offset_ns ?? 0)},${bottom}`;
  lane.values.forEach((value, i) => {
    // What happened at all is seen: at least one pixel.
    const height = value === 0 || max === 0 ? 0 : Math.max((value / max) * (lane.height - 3), 1.5);
    const from = (line.first_offset_ns ?? 0) + i * line.bin_ns;
    path += `V${(bottom - height).toFixed(1)}H${x(from + line.bin_ns).toFixed(1)}`;
  });
  return `${path}V${bottom}Z`;
}

const noTime: TimeLine = { bin_ns: 1e9, first_offset_ns: 0, bins: 0, wire_bytes: [], messages: [], resent: [], naks: [], rnr_naks: [], ce_marks: [], cnps: [], pauses: [] };

/** Whether the time line ends now. */
const isPresent = (state: PageState): boolean => state.report.live !== undefined && state.report.live.range === null;
/** A moment: how long ago for the present of a daemon, otherwise since the first frame. */
const momentWords = (state: PageState, value: number): string => {
  if (!isPresent(state)) return duration(value);
  const ago = state.whole.to - value;
  return ago < 1e6 ? "now" : `${duration(ago)} ago`;
};
/** What the time line covers. */
const wholeWords = (state: PageState): string => isPresent(state) ? "Last minutes" : state.report.live ? "Whole time" : "Whole capture";

export function timeSection(state: PageState): HTMLElement {
  const given = state.report.time_line;
  if (!state.report.live && (!given || given.bins === 0)) return section("time", "Time", element("p", { class: "dim" }, "There is no time line: see the end of the page."));
  let line: TimeLine = given ?? noTime;
  let { shown, quiet } = lanesOf(line);
  const left = 4;
  const right = 6;
  const gap = 16;
  const box = element("div", { class: "timeline" });
  const words = element("output", { class: "number", id: "range" });
  const about = element("p", { class: "dim" });
  const from = element("input", { type: "range", min: 0, max: line.bins, step: 1, "aria-label": "begin of the range" });
  const to = element("input", { type: "range", min: 0, max: line.bins, step: 1, "aria-label": "end of the range" });
  const reset = element("button", { type: "button", click: () => state.setRange(state.whole) }, wholeWords(state));
  let brush: Brush | null = null;
  let brushed: selection.Selection | null = null;
  let x: LinearScale = scaleLinear();
  let moves = false;
  let drawnWidth = 0;

  const show = () => {
    const { range } = state;
    words.value = state.isWhole ? `${wholeWords(state).toLowerCase()}: ${duration(range.to - range.from)}` : `${momentWords(state, isPresent(state) ? range.from : Math.max(range.from, 0))} to ${momentWords(state, range.to)}: ${duration(range.to - range.from)}`;
    reset.disabled = state.isWhole;
    from.value = String(Math.round((range.from - state.whole.from) / line.bin_ns));
    to.value = String(Math.round((range.to - state.whole.from) / line.bin_ns));
    if (brush && brushed) {
      moves = true;
      brush.move(brushed, state.isWhole ? null : [x(range.from), x(range.to)]);
      moves = false;
    }
  };
  const fromSliders = () => {
    const begin = Math.min(Number(from.value), line.bins - 1);
    const end = Math.max(Number(to.value), begin + 1);
    const at = (bin: number) => state.whole.from + bin * line.bin_ns;
    state.setRange({ from: at(begin), to: at(end) });
  };
  from.addEventListener("input", fromSliders);
  to.addEventListener("input", fromSliders);

  const draw = () => {
    const width = box.clientWidth;
    if (width === 0) return;
    drawnWidth = width;
    const height = shown.reduce((sum, lane) => sum + lane.height + gap, 0) + 24;
    box.querySelector("svg")?.remove();
    const picture = svg("svg", { width, height, role: "img", "aria-label": `Time line of ${duration(state.whole.to - state.whole.from)}: ${shown.map((lane) => `${lane.name} up to ${lane.text(Math.max(...lane.values, 0))}`).join(", ")}` });
    x = scaleLinear().domain([state.whole.from, state.whole.to]).range([left, width - right]);
    let top = 0;
    for (const lane of shown) {
      picture.append(svg("text", { x: left, y: top + 11, class: "lane" }, `${lane.letter ? `${lane.letter} ` : ""}${lane.name}, at most ${lane.text(Math.max(...lane.values, 0))}${lane.letter ? " in a bin" : ""}`));
      top += gap;
      const path = svg("path", { d: lanePath(lane, line, x, top) });
      path.style.fill = lane.color;
      picture.append(path);
      top += lane.height;
    }
    const axis = svg("g", { transform: `translate(0,${top})` });
    const layer = svg("g", { class: "brush" });
    picture.append(axis, layer);
    box.append(picture);
    selection.select(axis).call(axisBottom(x).ticks(Math.max(Math.floor(width / 120), 2)).tickFormat((value) => momentWords(state, value)).tickSizeOuter(0) as never);
    brush = brushX().extent([[left, 0], [width - right, top]]).on("end", () => {
      if (moves || !selection.event?.sourceEvent) return;
      const chosen = selection.event.selection;
      const range: Range = chosen ? { from: x.invert(chosen[0]), to: x.invert(chosen[1]) } : state.whole;
      state.setRange(range);
    });
    brushed = selection.select(layer);
    brushed.call(brush as never);
    show();
  };
  const explain = () => { about.textContent = `A bin is ${duration(line.bin_ns)} long.${quiet.length > 0 ? ` None were seen: ${quiet.join(", ")}.` : ""}`; };
  state.onRange(show);
  state.onReport(() => {
    line = state.report.time_line ?? noTime;
    ({ shown, quiet } = lanesOf(line));
    from.max = String(line.bins);
    to.max = String(line.bins);
    reset.textContent = wholeWords(state);
    explain();
    draw();
  });
  explain();
  // Drawing changes the height of the box. A picture that is replaced while the user drags over it ends the drag.
  new ResizeObserver(() => { if (box.clientWidth !== drawnWidth) draw(); }).observe(box);
  return section("time", "Time",
    element("p", { class: "dim screen-only" }, "Drag over the lanes, or move the sliders, to choose a time: all below shows that time."),
    box,
    element("div", { class: "controls" }, words, element("label", {}, "from", from), element("label", {}, "to", to), reset),
    about);
}
