// Elements from text. Names of hosts and files are text and never HTML: nothing here parses markup.

type Content = Node | string | number | null | undefined;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export function element<Name extends keyof HTMLElementTagNameMap>(name: Name, attributes: Attributes = {}, ...content: Content[]): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false) made.setAttribute(key, String(value));
  }
  made.append(...content.filter((each): each is Node | string | number => each !== null && each !== undefined).map((each) => typeof each === "number" ? String(each) : each));
  return made;
}

export function section(id: string, heading: string, ...content: Content[]): HTMLElement {
  return element("section", { id, "aria-labelledby": `${id}-heading` }, element("h2", { id: `${id}-heading`, tabindex: -1 }, heading), ...content);
}

/** Gives an element the content of another one, if it differs. What the user has unfolded stays so, and the focus too. */
export function renew(old: HTMLElement, fresh: HTMLElement): void {
  const opened = new Map(Array.from(old.querySelectorAll("details[data-key]"), (each) => [each.getAttribute("data-key"), (each as HTMLDetailsElement).open]));
  for (const each of Array.from(fresh.querySelectorAll<HTMLDetailsElement>("details[data-key]"))) {
    const open = opened.get(each.getAttribute("data-key"));
    if (open !== undefined) each.open = open;
  }
  if (old.isEqualNode(fresh)) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  old.replaceChildren(...Array.from(fresh.childNodes));
  if (!focused) return;
  const same = Array.from(old.querySelectorAll<HTMLElement>(focused.tagName)).find((each) => each.isEqualNode(focused));
  same?.focus({ preventScroll: true });
}

/** Gives a body of a table other rows. Rows that stay the same stay in place. */
export function renewRows(body: HTMLElement, rows: HTMLElement[]): void {
  const focused = body.contains(document.activeElement) ? document.activeElement!.closest("tr")?.getAttribute("data-flow") : null;
  rows.forEach((row, i) => {
    const old = body.children[i];
    if (!old) body.append(row);
    else if (!old.isEqualNode(row)) old.replaceWith(row);
  });
  while (body.children.length > rows.length) body.lastElementChild!.remove();
  if (focused && !body.contains(document.activeElement))
    body.querySelector<HTMLElement>(`tr[data-flow="${CSS.escape(focused)}"] .open`)?.focus({ preventScroll: true });
}

/** A column of a table; with `value`, the table can be sorted by it. Unknown values come last. */
export interface SortColumn<Row> { title: string; kind?: string; hint?: string; value?: (row: Row) => number | string | null }
/** The order of a table: its headings sort by their columns, first in one direction and then in the other. */
export class TableOrder<Row> {
  private by: SortColumn<Row> | null = null;
  private descending = true;
  /** `changed` draws the table again. */
  constructor(private readonly columns: ReadonlyArray<SortColumn<Row>>, private readonly changed: () => void) {}
  head(): HTMLElement {
    return element("thead", {}, element("tr", {}, ...this.columns.map((column) => {
      if (!column.value) return element("th", { scope: "col", class: column.kind ?? "" }, column.title);
      const made = element("th", { scope: "col", class: column.kind ?? "" }, element("button", { type: "button", title: column.hint ?? "", "data-column": column.title, click: () => this.choose(column) }, column.title));
      if (column === this.by) made.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      return made;
    })));
  }
  sorted(rows: readonly Row[]): Row[] {
    const value = this.by?.value;
    if (!value) return [...rows];
    const sign = this.descending ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [one, other] = [value(a), value(b)];
      if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
      return one === other ? 0 : one < other ? -sign : sign;
    });
  }
  private choose(column: SortColumn<Row>): void {
    this.descending = column === this.by ? !this.descending : column.kind !== undefined && column.kind !== "";
    this.by = column;
    this.changed();
  }
}

/** A field for words that the rows of a table must contain, and how many rows do. */
export class TextFilter {
  readonly box: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly total: HTMLOutputElement;
  /** `what`: "hosts". `changed` draws the table again. */
  constructor(what: string, examples: string, changed: () => void) {
    this.input = element("input", { type: "search", placeholder: examples, "aria-label": `filter ${what}`, input: changed });
    this.total = element("output", { class: "dim", id: `${what}-shown` });
    this.box = element("div", { class: "controls" }, this.input, this.total);
  }
  get text(): string { return this.input.value; }
  showTotal(shown: number, all: number, words: string): void { this.total.value = `${shown.toLocaleString("en-US")} of ${all.toLocaleString("en-US")} ${words}`; }
}

/** The value of a colour of the present theme. */
export const color = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function copied(text: string): HTMLElement {
  const button = element("button", { type: "button", class: "screen-only" }, "Copy");
  const code = element("code", {}, text);
  button.addEventListener("click", () => {
    const done = () => { button.textContent = "Copied"; };
    // A page from a file has no clipboard in some browsers: the text is selected then.
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = getSelection();
      selection?.removeAllRanges();
      selection?.addRange(range);
      try { if (document.execCommand("copy")) done(); } catch { /* the text is selected */ }
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select);
    else select();
  });
  return element("div", { class: "command" }, code, button);
}

/** A canvas that fits its box, is sharp, and is drawn again when the box or the theme changes. */
export function canvasOf(height: number, label: string, draw: (context: CanvasRenderingContext2D, width: number, height: number) => void): { box: HTMLElement; canvas: HTMLCanvasElement; redraw: () => void } {
  const canvas = element("canvas", { role: "img", "aria-label": label });
  canvas.style.height = `${height}px`;
  const box = element("div", { class: "plot" }, canvas);
  const redraw = () => {
    const width = canvas.clientWidth;
    if (width === 0) return;
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  new ResizeObserver(redraw).observe(box);
  redraws.push(redraw);
  return { box, canvas, redraw };
}
const redraws: Array<() => void> = [];
export const redrawAll = (): void => { for (const redraw of redraws) redraw(); };
