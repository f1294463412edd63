import type { ReportDocument } from "./document";
import { commandSection } from "./commands";
import { element, redrawAll } from "./dom";
import { flowSection } from "./flow_table";
import { flowViewSection } from "./flow_view";
import { hostSection } from "./hosts";
import { startLive } from "./live";
import { methodSection } from "./method";
import { pathSection } from "./paths";
import { PageState } from "./state";
import { timeSection } from "./time_line";
import { verdictSection } from "./verdict";

/** Dark or light: as the system has it, until the user chooses. */
function themeButton(): HTMLElement {
  const light = matchMedia("(prefers-color-scheme: light)");
  const root = document.documentElement;
  const button = element("button", { type: "button", class: "push" });
  const set = (theme: string) => {
    root.dataset.theme = theme;
    button.textContent = theme === "light" ? "Dark" : "Light";
    button.setAttribute("aria-label", `${button.textContent} colours`);
    redrawAll();
  };
  let chosen = false;
  // Paper is white, also for pictures that were drawn on a dark page.
  let onScreen = "";
  addEventListener("beforeprint", () => { onScreen = root.dataset.theme!; set("light"); });
  addEventListener("afterprint", () => { set(onScreen); });
  light.addEventListener("change", () => { if (!chosen) set(light.matches ? "light" : "dark"); });
  button.addEventListener("click", () => { chosen = true; set(root.dataset.theme === "light" ? "dark" : "light"); });
  set(light.matches ? "light" : "dark");
  return button;
}

function build(report: ReportDocument, page: HTMLElement, before: (state: PageState) => HTMLElement | null = () => null): PageState {
  const theme = themeButton();
  const state = new PageState(report);
  const bar = before(state);
  const commands = commandSection(state);
  const sections = [verdictSection(state), timeSection(state), flowSection(state), flowViewSection(state), commands, hostSection(state), pathSection(state), methodSection(state)];
  const links = sections.map((each) => element("a", { href: `#${each.id}` }, each.querySelector("h2")!.textContent));
  const showLinks = () => links.forEach((link, i) => { link.hidden = sections[i].hidden; });
  showLinks();
  state.onReport(showLinks);
  const title = element("h1");
  const summary = element("p", { class: "dim" });
  const head = () => {
    document.title = `${state.report.title}: ${state.report.headline.label}`;
    title.textContent = state.report.title;
    summary.textContent = state.report.summary;
  };
  head();
  state.onReport(head);
  page.replaceChildren(
    element("header", { class: "top" }, title, summary), ...(bar ? [bar] : []),
    element("nav", { "aria-label": "parts of the page" }, ...links, theme), ...sections);
  return state;
}

const page = document.getElementById("page")!;
try {
  const data = JSON.parse(document.getElementById("data")!.textContent ?? "") as ReportDocument | { live: true };
  if (data.live === true) startLive(page, build);
  else build(data as ReportDocument, page);
} catch (error) {
  page.replaceChildren(element("p", {}, `The report cannot be shown: ${String(error)}. Its data is JSON in the element "data" of this file.`));
  throw error;
}
