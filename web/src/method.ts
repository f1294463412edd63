// How it was measured: what was read, what was not, and by which command.
import { copied, element, renew, section } from "./dom";
import { byteSize, dumpCommand, grouped, quoted } from "./model";
import type { PageState } from "./state";

/** "2026-11-21 01:55:11.565480 UTC" */
const moment = (iso: string | null): string | null => iso && iso.replace("T", " ").replace(/(\.\d{6})\d*Z$/, "$1 UTC");

export function methodSection(state: PageState): HTMLElement {
  const made = methodOf(state);
  state.onReport(() => renew(made, methodOf(state)));
  return made;
}

function methodOf(state: PageState): HTMLElement {
  const { report } = state;
  const { capture } = report.why;
  const facts = element("dl", { class: "facts" });
  const add = (name: string, value: string | number | null, always = false) => {
    if (value === null || (value === 0 && !always)) return;
    facts.append(element("div", {}, element("dt", {}, name), element("dd", {}, typeof value === "number" ? grouped(value) : value)));
  };
  add("first frame", moment(capture.first_time));
  add("last frame", moment(capture.last_time));
  add("packets", capture.packets, true);
  add("bytes", byteSize(capture.bytes));
  add("RDMA packets and FPDUs", capture.rdma_units, true);
  add("flows", report.flow_count, true);
  add("dropped by the kernel", capture.kernel_dropped ?? "unknown", true);
  add("cut by the snapshot length", capture.truncated, true);
  add("malformed", capture.malformed, true);
  add("out of the order of time", capture.unsorted);
  add("seen twice", capture.seen_twice);
  add("bad ICRCs", capture.icrc_bad ?? "unknown", true);
  add("flows forgotten", capture.flows_evicted);
  add("source", report.source.kind);
  add("program", `${report.program.name} ${report.program.version}`);
  const pauses = report.pauses.map((each) => element("li", {}, `Interface ${each.interface}: ${grouped(each.pause_frames)} PAUSE and ${grouped(each.pfc_frames)} PFC frames that stop a sender.`));
  const command = element("div");
  const frameOf = (frame: number): HTMLElement | string => {
    const text = dumpCommand(report, [frame]);
    return text ? element("button", { type: "button", class: "frame", title: "the command that prints the frame", click: () => command.replaceChildren(copied(text)) }, `frame ${frame}`) : `frame ${frame}`;
  };
  const attempts = report.attempts.slice(0, 50).map((each) => element("li", {}, `${each.client.name ?? each.client.address ?? "?"} > ${each.server.name ?? each.server.address ?? "?"}: ${each.outcome ?? "unknown"}${each.reason ? `, ${each.reason}` : ""}, `, frameOf(each.request_frame)));
  return section("method", "How it was measured",
    element("p", {}, report.summary), facts,
    report.left_out.length > 0 ? element("div", {}, element("h3", {}, "What this page leaves out"), element("ul", {}, ...report.left_out.map((each) => element("li", {}, each)))) : null,
    attempts.length > 0 ? element("div", {}, element("h3", {}, "Connections that did not come about"), element("ul", {}, ...attempts), command) : null,
    pauses.length > 0 ? element("div", {}, element("h3", {}, "Pauses"), element("ul", {}, ...pauses)) : null,
    element("h3", {}, "Command"), copied(report.program.command.map(quoted).join(" ")),
    report.anonymous ? element("p", { class: "dim" }, "Addresses and names are substitutes; each stands for the same host everywhere.") : null,
    element("p", { class: "dim" }, `${report.live ? "This page asks the daemon that it came from for figures, and no other host." : "This page holds all of its data and makes no request."} Bars read by their letters as well as by their colours; docs/metrics.md defines every figure, docs/why.md every verdict.`));
}
