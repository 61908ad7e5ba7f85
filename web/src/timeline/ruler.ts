// The time axis on top, and fine lines below the rows.
import type { Clock } from './model';
import type { Raster } from './raster';
import { pixel, type Theme } from './theme';

export const RULER = 24;

export function drawRuler(
  context: CanvasRenderingContext2D, theme: Theme, clock: Clock, from: number, to: number, step: number, width: number,
): void {
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, width, RULER);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const scale = width / (to - from);
  const first = Math.ceil(from / step);
  const last = Math.min(first + 400, Math.floor(to / step));
  for (let mark = first; mark <= last; mark++) {
    const x = Math.round((mark * step - from) * scale);
    context.fillStyle = theme.line;
    context.fillRect(x, RULER - 6, 1, 6);
    context.fillStyle = theme.soft;
    const text = clock.moment(mark * step, step);
    const wide = context.measureText(text).width;
    if (x + 4 + wide < width) context.fillText(text, x + 4, 11);
  }
  context.fillStyle = theme.line;
  context.fillRect(0, RULER - 1, width, 1);
}

export function paintGrid(raster: Raster, theme: Theme, from: number, to: number, step: number, ratio: number): void {
  const scale = raster.width / (to - from);
  const first = Math.ceil(from / step);
  const last = Math.min(first + 400, Math.floor(to / step));
  const colour = pixel(theme.grid);
  for (let mark = first; mark <= last; mark++) {
    const x = Math.round((mark * step - from) * scale);
    raster.box(x, Math.round(RULER * ratio), x + Math.max(1, Math.round(ratio)), raster.height, colour);
  }
}
