// What the page uses of D3. Debian's packages have no types.
declare module "d3-scale" {
  export interface LinearScale {
    (value: number): number;
    domain(): number[];
    domain(values: number[]): this;
    range(values: number[]): this;
    invert(value: number): number;
    ticks(count?: number): number[];
    copy(): this;
  }
  export function scaleLinear(): LinearScale;
}
declare module "d3-selection" {
  export interface Selection {
    append(name: string): Selection;
    attr(name: string, value: string | number): this;
    call(f: (selection: Selection, ...more: never[]) => void, ...more: unknown[]): this;
    selectAll(query: string): Selection;
    select(query: string): Selection;
    text(value: string): this;
    remove(): this;
    node(): Element;
  }
  export function select(element: Element): Selection;
  export const event: { selection: [number, number] | null; sourceEvent: Event | null } | null;
}
declare module "d3-axis" {
  import type { LinearScale } from "d3-scale";
  import type { Selection } from "d3-selection";
  export interface Axis {
    (selection: Selection): void;
    ticks(count: number): this;
    tickFormat(format: (value: number) => string): this;
    tickSizeOuter(size: number): this;
  }
  export function axisBottom(scale: LinearScale): Axis;
}
declare module "d3-brush" {
  import type { Selection } from "d3-selection";
  export interface Brush {
    (selection: Selection): void;
    extent(extent: [[number, number], [number, number]]): this;
    on(names: string, listener: () => void): this;
    move(selection: Selection, range: [number, number] | null): void;
  }
  export function brushX(): Brush;
}
