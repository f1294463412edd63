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
