// What lies over the rows: outlines of what is hovered and picked, the area, matches on the ruler, the cursor.
import type { Placed } from './layout';
import { clamp, type Area, type Clock, type Item, type Match, type Pane, type Row } from './model';
import { RULER } from './ruler';
import type { Theme } from './theme';

export interface Seen {
  placed: Placed;
  /** from the top of the canvas */
  y: number;
}

/** The plot as a whole, in CSS pixels. */
export interface Plot {
  context: CanvasRenderingContext2D;
  theme: Theme;
  from: number;
  width: number;
  height: number;
  /** pixels per unit of time */
  scale: number;
}

export function drawOutline(row: Row, pane: Pane, item: Item | null, colour: string, thick: number): void {
  if (!item || item.row !== row.id) return;
  const left = clamp((item.from - pane.from) * pane.scale, -3, pane.width + 3);
  const right = clamp((item.to - pane.from) * pane.scale, left + 2, pane.width + 3);
  const tall = pane.folded ? pane.height - 4 : item.height || pane.height - 4;
  pane.context.strokeStyle = colour;
  pane.context.lineWidth = thick;
  pane.context.strokeRect(left, pane.top + (pane.folded ? 2 : item.top) + 0.5, right - left, tall - 1);
}

export function drawArea({ context, theme, from, width, height, scale }: Plot, area: Area, seen: Seen[], below: number): void {
  const left = clamp((area.from - from) * scale, 0, width);
  const right = clamp((area.to - from) * scale, 0, width);
  context.fillStyle = theme.accent;
  context.globalAlpha = 0.16;
  for (const { placed, y } of seen) {
    if (!area.rows.includes(placed.row.id)) continue;
    const top = placed.pinned ? y : Math.max(y, below);
    context.fillRect(left, top, right - left, y + placed.height - top);
  }
  context.globalAlpha = 1;
  context.fillRect(left - 0.5, 0, 1, height);
  context.fillRect(right - 0.5, 0, 1, height);
  context.fillRect(left, RULER - 4, Math.max(1, right - left), 3);
}

export function drawMatches({ context, theme, from, width, scale }: Plot, matches: Match[]): void {
  context.fillStyle = theme.bad;
  let before = -9;
  for (const match of matches) {
    const x = Math.round((match.from - from) * scale);
    if (x - before < 2 || x < 0 || x > width) continue;
    before = x;
    context.fillRect(x - 0.5, RULER - 6, 2, 6);
  }
}

export function drawCursor({ context, theme, from, width, height, scale }: Plot, x: number, clock: Clock): void {
  context.fillStyle = theme.ink;
  context.globalAlpha = 0.55;
  context.fillRect(Math.round(x), RULER, 1, height - RULER);
  context.globalAlpha = 1;
  const text = clock.moment(from + x / scale, 1 / scale);
  context.font = '11px system-ui, sans-serif';
  const wide = context.measureText(text).width + 10;
  const left = clamp(x - wide / 2, 0, width - wide);
  context.fillStyle = theme.ink;
  context.fillRect(left, 2, wide, 17);
  context.fillStyle = theme.ground;
  context.textBaseline = 'middle';
  context.fillText(text, left + 5, 11);
}
