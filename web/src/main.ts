import type { ReportDocument } from "./document";
import { commandSection } from "./commands";
import { element, redrawAll } from "./dom";
import { flowSection } from "./flow_table";
import { flowViewSection } from "./flow_view";
import { hostSection } from "./hosts";
import { methodSection } from "./method";
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
  light.addEventListener("change", () => { if (!chosen) set(light.matches ? "light" : "dark"); });
  button.addEventListener("click", () => { chosen = true; set(root.dataset.theme === "light" ? "dark" : "light"); });
  set(light.matches ? "light" : "dark");
  return button;
}

function build(report: ReportDocument, page: HTMLElement): void {
  document.title = `${report.title}: ${report.headline.label}`;
  const theme = themeButton();
  const state = new PageState(report);
  const commands = commandSection(state);
  const sections = [verdictSection(state), timeSection(state), flowSection(state), flowViewSection(state), commands, hostSection(state), methodSection(state)].filter((each): each is HTMLElement => each !== null);
  const links = sections.map((each) => element("a", { href: `#${each.id}` }, each.querySelector("h2")!.textContent));
  page.replaceChildren(
    element("header", { class: "top" }, element("h1", {}, report.title), element("p", { class: "dim" }, report.summary)),
    element("nav", { "aria-label": "parts of the page" }, ...links, theme), ...sections);
}

const page = document.getElementById("page")!;
try {
  build(JSON.parse(document.getElementById("data")!.textContent ?? "") as ReportDocument, page);
} catch (error) {
  page.replaceChildren(element("p", {}, `The report cannot be shown: ${String(error)}. Its data is JSON in the element "data" of this file.`));
  throw error;
}
