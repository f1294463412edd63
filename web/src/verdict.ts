// The answers of `why`, with their evidence.
import type { Answer, Evidence } from "./document";
import { copied, element, renew, section } from "./dom";
import { dumpCommand, figure, flowCommand, marksOf, percent } from "./model";
import type { PageState } from "./state";

/** Opens the plot that has the frame: one of the answer's flows, or any flow with that mark. Without one, `place` gets the command that prints the frame. */
function openFrame(state: PageState, flows: readonly number[], frame: number, place: HTMLElement): void {
  const plots = state.report.plots;
  const has = (flow: number) => plots.some((plot) => plot.flow === flow && marksOf(plot).some((mark) => mark.frame === frame));
  const flow = flows.find(has) ?? plots.map((plot) => plot.flow).find(has) ?? flows.find((each) => plots.some((plot) => plot.flow === each)) ?? flows[0];
  place.replaceChildren();
  if (flow !== undefined) return state.open(flow, frame);
  const command = dumpCommand(state.report, [frame]);
  place.append(command ? copied(command) : `No plot has frame ${frame}.`);
}

function frameButtons(state: PageState, flows: readonly number[], frames: readonly number[], place: HTMLElement): HTMLElement[] {
  return frames.map((frame) =>
    element("button", { type: "button", class: "frame", "aria-label": `frame ${frame}: show in its plot`, click: () => openFrame(state, flows, frame, place) }, frame));
}

/** A figure leads to the plot of its first frame, or to the plots of the flow that it is about. */
function figureButton(state: PageState, answer: Answer, evidence: Evidence, place: HTMLElement): HTMLElement | string {
  const words = figure(evidence.value, evidence.unit);
  const frame = evidence.frames[0];
  const flow = answer.flows[0];
  if (frame === undefined && flow === undefined) return words;
  const open = () => (frame === undefined ? state.open(flow) : openFrame(state, answer.flows, frame, place));
  return element("button", { type: "button", class: "frame", "aria-label": `${evidence.what}, ${words}: show its plot`, click: open }, words);
}

function evidenceRow(state: PageState, answer: Answer, evidence: Evidence, place: HTMLElement): HTMLElement {
  return element("tr", {}, element("th", { scope: "row" }, evidence.what), element("td", { class: "n" }, figureButton(state, answer, evidence, place)),
    element("td", {}, ...frameButtons(state, answer.flows, evidence.frames, place)));
}

function answerCard(state: PageState, answer: Answer, label: string): HTMLElement {
  const frames = answer.evidence.flatMap((evidence) => evidence.frames);
  const command = dumpCommand(state.report, frames);
  const flow = answer.flows.length > 0 ? flowCommand(state.report, answer.flows[0]) : "";
  const flows = answer.flows.slice(0, 8).map((id) => element("button", { type: "button", class: "frame", click: () => state.open(id) }, id));
  const more = answer.flows.length > 8 ? ` and ${answer.flows.length - 8} more` : "";
  const place = element("div");
  const evidence = element("table", {}, element("thead", {}, element("tr", {}, ...([["figure", ""], ["value", "n"], ["frames", ""]] as const).map(([name, kind]) => element("th", { scope: "col", class: kind }, name)))),
    element("tbody", {}, ...answer.evidence.map((each) => evidenceRow(state, answer, each, place))));
  const card = element("article", { class: `card ${answer.grade}`, "data-question": answer.question, "data-verdict": answer.verdict },
    element("p", {}, element("span", { class: `badge ${answer.grade}` }, label), " ", element("span", { class: "question" }, `${answer.question.replace(/_/g, " ")}: ${answer.verdict.replace(/_/g, " ")}`)),
    element("p", { class: "summary" }, answer.summary));
  if (answer.advice) card.append(element("p", { class: "advice" }, answer.advice));
  const folded = element("details", { "data-key": `${answer.question} ${answer.verdict} ${answer.flows[0] ?? ""}` }, element("summary", {}, `Evidence and flows; ${percent(answer.confidence)} sure`), element("div", { class: "scroll" }, evidence), place);
  if (flows.length > 0) folded.append(element("p", {}, "Flows: ", ...flows, more));
  if (command) folded.append(copied(command));
  if (flow) folded.append(copied(flow));
  folded.open = answer.alarm;
  card.append(folded);
  return card;
}

export function verdictSection(state: PageState): HTMLElement {
  const made = verdictOf(state);
  state.onReport(() => renew(made, verdictOf(state)));
  return made;
}

function verdictOf(state: PageState): HTMLElement {
  const { report } = state;
  const made = section("verdict", "Verdict",
    element("p", { class: "headline" }, element("span", { class: `badge ${report.headline.grade}`, id: "grade" }, report.headline.label), report.headline.text));
  for (const note of report.why.notes) {
    const place = element("div");
    made.append(element("div", { class: "card suspected" }, element("p", {}, `Note about the capture: ${note.text} `, ...frameButtons(state, [], note.frames, place)), place));
  }
  const alarms: HTMLElement[] = [];
  const calm: HTMLElement[] = [];
  report.why.answers.forEach((answer, i) => (answer.alarm ? alarms : calm).push(answerCard(state, answer, report.labels[i])));
  made.append(...alarms);
  if (calm.length > 0) made.append(element("details", { open: alarms.length === 0, "data-key": "calm" }, element("summary", {}, `${calm.length} question${calm.length === 1 ? "" : "s"} without an alarm`), ...calm));
  return made;
}
