// Commands of upper layers, as `io` has them.
import type { CommandKind, Connection, ReportDocument } from "./document";
import { copied, element, renew, section, TableOrder, TextFilter } from "./dom";
import { byteSize, dumpCommand, duration, endName, grouped, hasWords, percent } from "./model";
import type { PageState } from "./state";

const partNames = ["request", "target_before", "data", "target_after", "response"];
const partColors = ["s8", "s9", "s1", "s11", "s7"];

/** Hidden as long as there are no commands. */
export function commandSection(state: PageState): HTMLElement {
  const table = element("div");
  const filter = new TextFilter("commands", "host, protocol, target or kind", () => show());
  const made = section("commands", "Commands", filter.box, table);
  const order = new TableOrder<CommandKind>([
    { title: "kind", value: (kind) => kind.kind }, { title: "commands", kind: "n", value: (kind) => kind.commands }, { title: "errors", kind: "n", value: (kind) => kind.errors },
    { title: "bytes", kind: "n minor-column", value: (kind) => kind.bytes }, { title: "p50", kind: "n", value: (kind) => kind.latency_ns.p50 }, { title: "p99", kind: "n", value: (kind) => kind.latency_ns.p99 },
    { title: "slowest", kind: "n", value: (kind) => kind.latency_ns.max }, { title: "parts" }, { title: "unanswered", kind: "n minor-column", value: (kind) => kind.unanswered },
  ], () => show());
  const show = () => {
    const all = groupsOf(state.report, "");
    const chosen = groupsOf(state.report, filter.text);
    filter.showTotal(kindsOf(chosen), kindsOf(all), "kinds of commands");
    renew(table, element("div", {}, ...tableOf(state, chosen, order)));
    made.hidden = all.length === 0;
  };
  state.onReport(show);
  show();
  return made;
}

/** A connection with the kinds of its commands that the table has. */
interface Group { heading: string; kinds: CommandKind[] }

const nameOf = (kind: CommandKind): string => kind.kind ?? "(not captured)";
const headingOf = (connection: Connection): string =>
  [`${connection.protocol}  ${endName(connection.initiator)} > ${endName(connection.target)}`, connection.what, connection.limit === null ? null : `limit ${connection.limit}, ${connection.open_max} open at most`].filter((each) => each !== null).join(", ");
/** Kinds of which the heading and the name contain every word of the text. */
function groupsOf(report: ReportDocument, text: string): Group[] {
  return report.commands.map((connection) => {
    const heading = headingOf(connection);
    return { heading, kinds: connection.kinds.filter((kind) => (kind.commands > 0 || kind.unanswered > 0) && hasWords(`${heading} ${nameOf(kind)}`, text)) };
  }).filter((group) => group.kinds.length > 0);
}
const kindsOf = (groups: readonly Group[]): number => groups.reduce((sum, group) => sum + group.kinds.length, 0);

function tableOf(state: PageState, groups: readonly Group[], order: TableOrder<CommandKind>): HTMLElement[] {
  const { report } = state;
  if (groups.length === 0) return [];
  const commands = element("div");
  const heading = (group: Group) => element("tr", { class: "group" }, element("th", { scope: "rowgroup", colspan: 9 }, element("span", {}, group.heading)));
  const rows = groups.flatMap((group) => [heading(group), ...order.sorted(group.kinds).map((kind) => {
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
    const frames = slow ? [slow.request_frame, slow.data_frames?.[0] ?? null, slow.response_frame].filter((frame): frame is number => frame !== null) : [];
    const command = slow ? dumpCommand(report, frames) : "";
    const show = command ? element("button", { type: "button", class: "frame", title: "the command that prints its frames", click: () => commands.replaceChildren(copied(command)) }, duration(slow.latency_ns)) : duration(slow?.latency_ns);
    return element("tr", {}, element("th", { scope: "row" }, nameOf(kind)), element("td", { class: "n" }, grouped(kind.commands)), element("td", { class: "n" }, grouped(kind.errors)), element("td", { class: "n minor-column" }, byteSize(kind.bytes)),
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
