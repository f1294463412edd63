// Hosts, and who sends to whom.
import type { Host } from "./document";
import { element, renew, section, TableOrder, TextFilter } from "./dom";
import { byteSize, cellKey, bitRate, grouped, hasWords, matrixOf, sumsOfFlows } from "./model";
import type { PageState } from "./state";

export function hostSection(state: PageState): HTMLElement {
  const most = 16;
  const box = element("div", { class: "scroll" });
  const words = element("p", { class: "dim" });
  const show = () => {
    const sums = sumsOfFlows(state.report, state.range);
    const bytesOf = (row: { id: number; wire_bytes: number }) => (state.isWhole || !state.report.series ? row.wire_bytes : sums.get(row.id)?.wire_bytes ?? 0);
    const matrix = matrixOf(state.rows, bytesOf, most);
    const head = element("tr", {}, element("th", { scope: "col" }, "sends \\ receives"), ...matrix.destinations.map((name) => element("th", { scope: "col" }, name)));
    const rows = matrix.sources.map((source) => element("tr", {}, element("th", { scope: "row" }, source), ...matrix.destinations.map((destination) => {
      const cell = matrix.cells.get(cellKey(source, destination));
      if (!cell) return element("td", {}, "");
      const made = element("td", { title: `${source} > ${destination}: ${grouped(cell.flows)} flows, ${cell.problems} with a problem` }, byteSize(cell.bytes), cell.problems > 0 ? element("b", {}, " !") : null);
      made.style.background = `color-mix(in srgb, var(--chart) ${Math.round((cell.bytes / matrix.max) * 55)}%, transparent)`;
      return made;
    })));
    const receivers = matrix.destinations.map((destination) => matrix.sources.filter((source) => matrix.cells.has(cellKey(source, destination))).length);
    rows.push(element("tr", {}, element("th", { scope: "row" }, "senders"), ...receivers.map((senders) => element("td", {}, grouped(senders)))));
    box.replaceChildren(element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)));
    words.textContent = `Bytes on the wire${state.isWhole ? "" : " in the chosen time"}; ! marks flows with a problem.${matrix.left_out > 0 ? ` ${matrix.left_out} senders and receivers with less traffic are left out.` : ""}`;
  };
  state.onRange(show);
  const all = element("div");
  const nameOf = (host: Host) => (host.name ? `${host.name} (${host.address})` : host.address);
  const order = new TableOrder<Host>([
    { title: "host", value: nameOf }, { title: "sent", kind: "n", value: (host) => host.sent_wire_bytes },
    { title: "received", kind: "n", value: (host) => host.received_wire_bytes }, { title: "senders to it", kind: "n", value: (host) => host.senders },
    { title: "most senders in 1 ms", kind: "n", hint: "incast: the most hosts that sent to it within a millisecond", value: (host) => host.incast.senders_max },
    { title: "link rate", kind: "n", value: (host) => host.link_bits_per_sec },
  ], () => list());
  const filter = new TextFilter("hosts", "name or address", () => list());
  const list = () => {
    const largest = [...state.report.hosts].sort((a, b) => b.sent_wire_bytes + b.received_wire_bytes - a.sent_wire_bytes - a.received_wire_bytes);
    const hosts = order.sorted(largest.filter((host) => hasWords(nameOf(host), filter.text)));
    filter.showTotal(hosts.length, largest.length, "hosts");
    const shown = hosts.slice(0, 200);
    const table = element("table", {}, order.head(),
      element("tbody", {}, ...shown.map((host) => element("tr", {}, element("th", { scope: "row" }, nameOf(host)),
        element("td", { class: "n" }, byteSize(host.sent_wire_bytes)), element("td", { class: "n" }, byteSize(host.received_wire_bytes)), element("td", { class: "n" }, grouped(host.senders)),
        element("td", { class: "n" }, grouped(host.incast.senders_max)), element("td", { class: "n" }, (host.link_is_learnt ? "~" : "") + bitRate(host.link_bits_per_sec))))));
    const fresh = element("div", {}, element("div", { class: "scroll" }, table));
    if (hosts.length > shown.length) fresh.append(element("p", { class: "dim" }, `${grouped(hosts.length - shown.length)} more hosts are left out.`));
    renew(all, fresh);
  };
  const read = () => {
    show();
    list();
  };
  state.onReport(read);
  read();
  return section("hosts", "Hosts", element("h3", {}, "Who sends to whom"), box, words, element("h3", {}, "All hosts"), filter.box, all);
}
