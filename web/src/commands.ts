// Commands of upper layers, as `io` has them.
import { copied, element, section } from "./dom";
import { byteSize, dumpCommand, duration, grouped, percent } from "./model";
import type { PageState } from "./state";

const partNames = ["request", "target_before", "data", "target_after", "response"];
const partColors = ["s8", "s9", "s1", "s11", "s7"];

export function commandSection(state: PageState): HTMLElement | null {
  const { report } = state;
  const connections = report.commands.filter((connection) => connection.kinds.some((kind) => kind.commands > 0 || kind.unanswered > 0));
  if (connections.length === 0) return null;
  const commands = element("div");
  const heading = (connection: (typeof connections)[number]) => element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: 9 },
    [`${connection.protocol}  ${connection.initiator} > ${connection.target}`, connection.target_name, connection.queue === null ? null : `queue ${connection.queue}`, connection.limit === null ? null : `limit ${connection.limit}, ${connection.open_max} open at most`].filter((each) => each !== null).join(", ")));
  const rows = connections.flatMap((connection) => [heading(connection), ...connection.kinds.filter((kind) => kind.commands > 0 || kind.unanswered > 0).map((kind) => {
    const bar = element("div", { class: "bar", role: "img" });
    const whole = kind.latency_ns.sum;
    const words: string[] = [];
    if (kind.parts_ns && whole > 0)
      partNames.forEach((name, i) => {
        const share = (kind.parts_ns![name]?.sum ?? 0) / whole;
        words.push(`${name.replace("target_", "")} ${percent(share)}`);
        const part = element("span");
        part.style.flexBasis = `${share * 100}%`;
        part.style.background = `var(--${partColors[i]})`;
        bar.append(part);
      });
    bar.setAttribute("aria-label", words.join(", ") || "no shares of time");
    bar.title = words.join(", ");
    const slow = kind.slowest[0];
    const frames = slow ? [slow.frames.request_first, slow.frames.data_first, slow.frames.response].filter((frame): frame is number => frame !== null) : [];
    const show = slow ? element("button", { type: "button", class: "frame", title: "the command that prints its frames", click: () => { const text = dumpCommand(report, frames); commands.replaceChildren(text ? copied(text) : `frames ${frames.join(", ")}`); } }, duration(slow.latency_ns)) : "-";
    return element("tr", {}, element("th", { scope: "row" }, kind.kind ?? "(not captured)"), element("td", { class: "n" }, grouped(kind.commands)), element("td", { class: "n" }, grouped(kind.errors)), element("td", { class: "n minor-column" }, byteSize(kind.bytes)),
      element("td", { class: "n" }, duration(kind.latency_ns.p50)), element("td", { class: "n" }, duration(kind.latency_ns.p99)), element("td", { class: "n" }, show), element("td", {}, bar), element("td", { class: "n minor-column" }, grouped(kind.unanswered)));
  })]);
  const legend = element("div", { class: "legend" }, ...partNames.map((name, i) => {
    const swatch = element("i");
    swatch.style.background = `var(--${partColors[i]})`;
    return element("span", {}, swatch, name === "target_before" ? "target, before the data" : name === "target_after" ? "target, after the data" : name);
  }));
  return section("commands", "Commands",
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...([["kind", ""], ["commands", "n"], ["errors", "n"], ["bytes", "n minor-column"], ["p50", "n"], ["p99", "n"], ["slowest", "n"], ["parts", ""], ["unanswered", "n minor-column"]] as const).map(([name, kind]) => element("th", { scope: "col", class: kind }, name)))), element("tbody", {}, ...rows))),
    legend, commands);
}
