// What a timeline shows: rows on one time axis. A row paints itself; the timeline owns range, scrolling and input.
import type { Raster } from './raster';
import type { Theme } from './theme';

export interface Extent {
  from: number;
  to: number;
}

/** Name, value and, if there is one, the colour of a swatch before the name. */
export type TipLine = [string, string, string?];

export interface Tip {
  title: string;
  lines: TipLine[];
}

/** Something in a row that the pointer can be on. */
export interface Item {
  row: string;
  /** tells items of a row apart; the same item has the same key */
  key: string;
  from: number;
  to: number;
  /** where it is drawn, in pixels from the row's top */
  top: number;
  height: number;
  tip(): Tip;
}

/** A place that a search found. */
export interface Match {
  row: string;
  from: number;
  to: number;
  /** key of the item, if it is one */
  key: string;
  text: string;
}

export interface Found {
  matches: Match[];
  /** how many there are; more than `matches` holds if they were too many */
  total: number;
}

export interface Area extends Extent {
  /** ids of the rows the area touches, in the order shown */
  rows: string[];
}

/** Where a row paints, and with what. Lengths are CSS pixels unless said otherwise. */
export interface Pane {
  raster: Raster;
  context: CanvasRenderingContext2D;
  theme: Theme;
  top: number;
  height: number;
  /** what may be painted, from and to, of the canvas */
  clipTop: number;
  clipBottom: number;
  width: number;
  /** device pixels per CSS pixel */
  ratio: number;
  from: number;
  to: number;
  /** CSS pixels per unit of time */
  scale: number;
  folded: boolean;
}

export interface Row {
  /** unique in the timeline; stands in the address of the page */
  readonly id: string;
  readonly name: string;
  readonly note?: string;
  /** id of the heading it stands under */
  readonly parent?: string;
  readonly heading?: boolean;
  /** whether it is drawn in the navigation strip */
  readonly sketched?: boolean;
  /** whether it can be folded to a thin form */
  readonly foldable?: boolean;
  height(folded: boolean): number;
  /** where its data is; null if it has none */
  extent(): Extent | null;
  /** bars, as pixels */
  paint(pane: Pane): void;
  /** lines and text, above the bars */
  draw(pane: Pane): void;
  /** the item at a time and a height within the row; `reach` is how far off in time still counts */
  at(time: number, y: number, reach: number, folded: boolean): Item | null;
  /** an item by its key, if it can be found again */
  item?(key: string): Item | null;
  /** make what contains the (lower-case) needle stand out; an empty needle ends it */
  mark?(needle: string): void;
  /** the places whose text contains the (lower-case) needle */
  find?(needle: string, most: number): Found | Promise<Found>;
}

/** How times are written. */
export interface Clock {
  /** a moment, exact to about `step` */
  moment(time: number, step: number): string;
  /** a length of time */
  span(length: number): string;
  /** a typed length of time, or NaN */
  parse(text: string): number;
  /** good distances between marks: the smallest at least `least` */
  tick(least: number): number;
}

export interface TimelineState {
  from: number;
  to: number;
  pins: string[];
  folded: string[];
  area: Area | null;
  picked: { row: string; key: string } | null;
}

export function clamp(value: number, low: number, high: number): number {
  return value < low ? low : value > high ? high : value;
}
