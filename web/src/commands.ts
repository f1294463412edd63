// Commands of upper layers, as `io` has them.
import type { CommandKind } from "./document";
import { copied, element, renew, section, TableOrder } from "./dom";
import { byteSize, dumpCommand, duration, grouped, percent } from "./model";
import type { PageState } from "./state";

const partNames = ["request", "target_before", "data", "target_after", "response"];
const partColors = ["s8", "s9", "s1", "s11", "s7"];

/** Hidden as long as there are no commands. */
export function commandSection(state: PageState): HTMLElement {
  const made = section("commands", "Commands");
  const order = new TableOrder<CommandKind>([
    { title: "kind", value: (kind) => kind.kind }, { title: "commands", kind: "n", value: (kind) => kind.commands }, { title: "errors", kind: "n", value: (kind) => kind.errors },
    { title: "bytes", kind: "n minor-column", value: (kind) => kind.bytes }, { title: "p50", kind: "n", value: (kind) => kind.latency_ns.p50 }, { title: "p99", kind: "n", value: (kind) => kind.latency_ns.p99 },
    { title: "slowest", kind: "n", value: (kind) => kind.latency_ns.max }, { title: "parts" }, { title: "unanswered", kind: "n minor-column", value: (kind) => kind.unanswered },
  ], () => show());
  const show = () => {
    const fresh = section("commands", "Commands", ...tableOf(state, order));
    renew(made, fresh);
    made.hidden = made.querySelector("tbody") === null;
  };
  state.onReport(show);
  show();
  return made;
}

function tableOf(state: PageState, order: TableOrder<CommandKind>): HTMLElement[] {
  const { report } = state;
  const connections = report.commands.filter((connection) => connection.kinds.some((kind) => kind.commands > 0 || kind.unanswered > 0));
  if (connections.length === 0) return [];
  const commands = element("div");
  const heading = (connection: (typeof connections)[number]) => element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: 9 }, element("span", {},
    [`${connection.protocol}  ${connection.initiator} > ${connection.target}`, connection.target_name, connection.queue === null ? null : `queue ${connection.queue}`, connection.limit === null ? null : `limit ${connection.limit}, ${connection.open_max} open at most`].filter((each) => each !== null).join(", "))));
  const rows = connections.flatMap((connection) => [heading(connection), ...order.sorted(connection.kinds.filter((kind) => kind.commands > 0 || kind.unanswered > 0)).map((kind) => {
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
    const command = slow ? dumpCommand(report, frames) : "";
    const show = command ? element("button", { type: "button", class: "frame", title: "the command that prints its frames", click: () => commands.replaceChildren(copied(command)) }, duration(slow.latency_ns)) : duration(slow?.latency_ns);
    return element("tr", {}, element("th", { scope: "row" }, kind.kind ?? "(not captured)"), element("td", { class: "n" }, grouped(kind.commands)), element("td", { class: "n" }, grouped(kind.errors)), element("td", { class: "n minor-column" }, byteSize(kind.bytes)),
      element("td", { class: "n" }, duration(kind.latency_ns.p50)), element("td", { class: "n" }, duration(kind.latency_ns.p99)), element("td", { class: "n" }, show), element("td", {}, bar), element("td", { class: "n minor-column" }, grouped(kind.unanswered)));
  })]);
  const legend = element("div", { class: "legend" }, ...partNames.map((name, i) => {
    const swatch = element("i");
    swatch.style.background = `var(--${partColors[i]})`;
    return element("span", {}, swatch, name === "target_before" ? "target, before the data" : name === "target_after" ? "target, after the data" : name);
  }));
  return [
    element("div", { class: "scroll", role: "region", "aria-label": "table of commands", tabindex: 0 }, element("table", {}, order.head(), element("tbody", {}, ...rows))),
    legend, commands];
}
