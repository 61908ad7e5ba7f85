// Counters over time: lines or filled areas, the lowest and highest value in each pixel.
import { clamp, type Extent, type Item, type Pane, type Row, type TipLine } from './model';
import { LINES, LINES_DARK } from './theme';

export interface Series {
  name: string;
  time: Float64Array;
  value: Float64Array;
}

const FAN = 16;

/** Lowest and highest of 16 at a time, so that any range is looked through in few steps. */
class Bounds {
  private readonly low: Float64Array[] = [];
  private readonly high: Float64Array[] = [];

  constructor(value: Float64Array) {
    this.low.push(value);
    this.high.push(value);
    while (this.low[this.low.length - 1]!.length > FAN) {
      const below = this.low[this.low.length - 1]!;
      const above = this.high[this.high.length - 1]!;
      const count = Math.ceil(below.length / FAN);
      const low = new Float64Array(count).fill(Infinity);
      const high = new Float64Array(count).fill(-Infinity);
      for (let at = 0; at < below.length; at++) {
        const into = Math.floor(at / FAN);
        if (below[at]! < low[into]!) low[into] = below[at]!;
        if (above[at]! > high[into]!) high[into] = above[at]!;
      }
      this.low.push(low);
      this.high.push(high);
    }
  }

  /** Of the values from `first` up to, not including, `last`. */
  of(first: number, last: number): [number, number] {
    let low = Infinity;
    let high = -Infinity;
    let level = 0;
    while (first < last) {
      const lows = this.low[level]!;
      const highs = this.high[level]!;
      const top = level === this.low.length - 1;
      while (first < last && (top || first % FAN !== 0)) {
        if (lows[first]! < low) low = lows[first]!;
        if (highs[first]! > high) high = highs[first]!;
        first++;
      }
      while (first < last && last % FAN !== 0) {
        last--;
        if (lows[last]! < low) low = lows[last]!;
        if (highs[last]! > high) high = highs[last]!;
      }
      first /= FAN;
      last /= FAN;
      level++;
    }
    return [low, high];
  }
}

function firstAfter(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function figure(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
  return Number(value.toPrecision(4)).toLocaleString('en-US', { maximumFractionDigits: 6 });
}

export class CounterRow implements Row {
  readonly foldable = true;
  readonly note?: string;
  readonly parent?: string;
  filled = false;
  private readonly bounds: Bounds[];
  private low = Infinity;
  private high = -Infinity;

  constructor(
    readonly id: string,
    readonly name: string,
    readonly unit: string,
    readonly series: Series[],
    more: { parent?: string; note?: string } = {},
  ) {
    if (more.parent !== undefined) this.parent = more.parent;
    if (more.note !== undefined) this.note = more.note;
    this.bounds = series.map((line) => new Bounds(line.value));
    series.forEach((line, at) => {
      const [low, high] = this.bounds[at]!.of(0, line.value.length);
      this.low = Math.min(this.low, low);
      this.high = Math.max(this.high, high);
    });
    if (!(this.low <= this.high)) [this.low, this.high] = [0, 1];
    if (this.low > 0 && this.low < this.high * 0.8) this.low = 0;
    if (this.low === this.high) this.high = this.low + (Math.abs(this.low) || 1);
  }

  height(folded: boolean): number {
    return folded ? 24 : 84;
  }

  extent(): Extent | null {
    let from = Infinity;
    let to = -Infinity;
    for (const line of this.series) {
      if (!line.time.length) continue;
      from = Math.min(from, line.time[0]!);
      to = Math.max(to, line.time[line.time.length - 1]!);
    }
    return from <= to ? { from, to } : null;
  }

  paint(): void {}

  private colour(at: number, dark: boolean): string {
    const table = dark ? LINES_DARK : LINES;
    return table[at % table.length]!;
  }

  private y(value: number, pane: { top: number; height: number }): number {
    const inside = pane.height - 10;
    return pane.top + pane.height - 5 - (inside * (clamp(value, this.low, this.high) - this.low)) / (this.high - this.low);
  }

  draw(pane: Pane): void {
    const { context, from, to, scale, theme, width, ratio } = pane;
    const columns = Math.ceil(width * ratio);
    this.series.forEach((line, number) => {
      const first = Math.max(0, firstAfter(line.time, from) - 1);
      const last = Math.min(line.time.length, firstAfter(line.time, to) + 1);
      if (last <= first) return;
      const path = new Path2D();
      const under = new Path2D();
      const x = (time: number) => (time - from) * scale;
      const ground = pane.top + pane.height - 5;
      if (last - first <= columns * 2) {
        path.moveTo(x(line.time[first]!), this.y(line.value[first]!, pane));
        under.moveTo(x(line.time[first]!), ground);
        for (let at = first; at < last; at++) {
          path.lineTo(x(line.time[at]!), this.y(line.value[at]!, pane));
          under.lineTo(x(line.time[at]!), this.y(line.value[at]!, pane));
        }
        under.lineTo(x(line.time[last - 1]!), ground);
      } else {
        let begin = first;
        under.moveTo(Math.max(0, x(line.time[first]!)), ground);
        let edge = 0;
        for (let column = 0; column < columns && begin < last; column++) {
          edge = (column + 1) / ratio;
          const end = Math.min(last, Math.max(begin, firstAfter(line.time, from + edge / scale)));
          if (end <= begin) continue;
          const [low, high] = this.bounds[number]!.of(begin, end);
          path.lineTo(edge, this.y(low, pane));
          path.lineTo(edge, this.y(high, pane));
          under.lineTo(edge, this.y(high, pane));
          begin = end;
        }
        under.lineTo(edge, ground);
      }
      const colour = this.colour(number, theme.dark);
      if (this.filled) {
        context.globalAlpha = 0.28;
        context.fillStyle = colour;
        context.fill(under);
        context.globalAlpha = 1;
      }
      context.strokeStyle = colour;
      context.lineWidth = 1.3;
      context.lineJoin = 'round';
      context.stroke(path);
      if (last - first <= 60) {
        context.fillStyle = colour;
        for (let at = first; at < last; at++) context.fillRect(x(line.time[at]!) - 1.5, this.y(line.value[at]!, pane) - 1.5, 3, 3);
      }
    });
    if (pane.folded) return;
    context.font = '10.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [value, y] of [[this.high, pane.top + 8], [this.low, pane.top + pane.height - 9]] as const) {
      const text = figure(value) + (this.unit ? ' ' + this.unit : '');
      context.globalAlpha = 0.8;
      context.fillStyle = theme.ground;
      context.fillRect(2, y - 7, text.length * 6 + 4, 14);
      context.globalAlpha = 1;
      context.fillStyle = theme.soft;
      context.fillText(text, 4, y);
    }
  }

  at(time: number, _y: number, reach: number): Item | null {
    let near = Infinity;
    let moment = time;
    const lines: TipLine[] = [];
    this.series.forEach((line, number) => {
      const after = firstAfter(line.time, time);
      const before = after - 1;
      const left = before >= 0 ? time - line.time[before]! : Infinity;
      const right = after < line.time.length ? line.time[after]! - time : Infinity;
      if (Math.min(left, right) === Infinity) return;
      // between samples the last one still holds; before the first there is nothing
      const index = left <= right || right > reach ? (before >= 0 ? before : after) : after;
      const off = Math.abs(line.time[index]! - time);
      if (before < 0 && off > reach) return;
      if (off < near) {
        near = off;
        moment = line.time[index]!;
      }
      lines.push([line.name, figure(line.value[index]!) + (this.unit ? ' ' + this.unit : ''), this.colour(number, false)]);
    });
    if (!lines.length) return null;
    const title = this.name;
    return { row: this.id, key: String(moment), from: moment, to: moment, top: 0, height: 0, tip: () => ({ title, lines }) };
  }
}
