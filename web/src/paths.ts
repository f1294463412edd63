// Paths: which entropies carry the traffic of a pair of hosts, how even they are, and which of them has a problem.
import type { PathPair, PathRow } from "./document";
import { element, renew, section, TableOrder } from "./dom";
import { byteSize, decimal, duration, grouped, percent, probability } from "./model";
import type { PageState } from "./state";

const words: Record<string, string> = { in_order: "receives in order", selective: "asks again only for what is missing", placing: "places packets out of order" };

/** Hidden as long as no pair of hosts has several entropies. */
export function pathSection(state: PageState): HTMLElement {
  const made = section("paths", "Paths");
  const order = new TableOrder<{ row: PathRow; share: number }>([
    { title: "entropy", hint: "what switches hash besides the addresses", value: ({ row }) => row.entropy }, { title: "share", kind: "n", value: ({ share }) => share },
    { title: "packets", kind: "n", value: ({ row }) => row.packets }, { title: "bytes", kind: "n minor-column", value: ({ row }) => row.bytes },
    { title: "losses", kind: "n", hint: "runs of packets lost together", value: ({ row }) => row.loss_episodes }, { title: "CE", kind: "n", value: ({ row }) => row.ce },
    { title: "late", kind: "n", value: ({ row }) => row.late }, { title: "sent again", kind: "n minor-column", value: ({ row }) => row.repeated },
    { title: "shortest round trip", kind: "n minor-column", value: ({ row }) => row.rtt_min_ns }, { title: "median", kind: "n", value: ({ row }) => row.rtt_median_ns },
    { title: "chance", kind: "n", hint: "the probability that chance alone gives it this number of the losses, or more", value: ({ row }) => row.p_loss }, { title: "verdict", value: ({ row }) => row.verdict },
  ], () => show());
  const show = () => {
    renew(made, section("paths", "Paths", ...state.report.paths.map((pair) => pairOf(pair, order))));
    made.hidden = state.report.paths.length === 0;
  };
  state.onReport(show);
  show();
  return made;
}

function pairOf(pair: PathPair, order: TableOrder<{ row: PathRow; share: number }>): HTMLElement {
  const nameOf = (host: PathPair["source"]) => host.name ?? host.address;
  const problems = pair.rows.filter((row) => row.verdict !== null).length;
  const title = `${nameOf(pair.source)} > ${nameOf(pair.destination)}, ${pair.transport}, DSCP ${pair.traffic_class}`;
  const facts = [`${grouped(pair.entropies)} ${pair.entropies === 1 ? "entropy" : "entropies"}, as even as ${decimal(pair.effective)} equal ones`, `fairness ${decimal(pair.fairness)}`, `busiest ${decimal(pair.max_over_mean)} times the mean`,
    pair.entropy_changes > 0 ? "the adapter spreads packets" : null, pair.hop_limits.length > 1 ? "paths of different lengths" : null, words[pair.receiver_class] ?? null].filter((each) => each !== null).join("; ");
  const bytes = Math.max(1, pair.bytes);
  const rows = order.sorted(pair.rows.map((row) => ({ row, share: row.bytes / bytes }))).map(({ row, share }) => element("tr", {},
    element("th", { scope: "row" }, row.entropy), element("td", { class: "n" }, percent(share)), element("td", { class: "n" }, grouped(row.packets)), element("td", { class: "n minor-column" }, byteSize(row.bytes)),
    element("td", { class: "n" }, grouped(row.loss_episodes)), element("td", { class: "n" }, grouped(row.ce)), element("td", { class: "n" }, grouped(row.late)), element("td", { class: "n minor-column" }, grouped(row.repeated)),
    element("td", { class: "n minor-column" }, duration(row.rtt_min_ns)), element("td", { class: "n" }, duration(row.rtt_median_ns)), element("td", { class: "n" }, probability(row.p_loss)), element("td", {}, row.verdict === null ? "" : element("b", {}, row.verdict))));
  const details = element("details", { "data-key": title, open: problems > 0 }, element("summary", {}, title, problems > 0 ? element("b", {}, " !") : null, element("span", { class: "dim" }, ` ${facts}`)),
    element("div", { class: "scroll", role: "region", "aria-label": `entropies of ${title}`, tabindex: 0 }, element("table", {}, order.head(), element("tbody", {}, ...rows))));
  if (pair.rows_left_out > 0) details.append(element("p", { class: "dim" }, `${grouped(pair.rows_left_out)} more entropies are left out.`));
  if (pair.packets_needed !== null) details.append(element("p", { class: "dim" }, `Too few losses to blame a path: about ${grouped(pair.packets_needed)} more packets of an entropy are needed.`));
  return details;
}
