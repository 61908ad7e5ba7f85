// The picture of a chart of stacked bands: axes, bands, ranges, lines.
import { themed } from './colours';
import { cutText, fitted } from './picture';

export interface Series {
  name: string;
  colour: string;
  values: Float64Array;
}

// point i of a series covers first + i * group to first + (i + 1) * group
export interface StackedData {
  first: number;
  group: number;
  series: Series[];
}

export interface Mark {
  at: number;
  name: string;
  colour?: string; // a name of the theme: it changes with light and dark
  dashed?: boolean;
}

// what is drawn, and the part of the axis that is visible
export interface StackedPicture {
  data: StackedData;
  totals: Float64Array; // of all series, point by point
  low: number;
  high: number;
  most: number; // top of the vertical axis
  axis: string;
  format(value: number): string;
  limit?: { value: number; name: string };
  ranges: [number, number][];
  marks: Mark[];
  cursor: number; // -1: none
}

export const LEFT = 66;
export const RIGHT = 14;
const TOP = 14;
const BOTTOM = 36;

// round steps: bytes in powers of two, others 1, 2, 5
function ticks(low: number, high: number, count: number, binary: boolean): number[] {
  const rough = Math.max(1, (high - low) / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = binary
    ? 2 ** Math.ceil(Math.log2(rough))
    : ([1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough);
  const found: number[] = [];
  for (let value = Math.ceil(low / step) * step; value <= high * 1.0001; value += step) found.push(value);
  return found;
}

class Painter {
  private readonly pen: CanvasRenderingContext2D;
  private readonly wide: number;
  private readonly tall: number;

  constructor(
    canvas: HTMLCanvasElement,
    private readonly width: number,
    private readonly height: number,
    private readonly of: StackedPicture,
  ) {
    this.pen = fitted(canvas, width, height);
    this.wide = width - LEFT - RIGHT;
    this.tall = height - TOP - BOTTOM;
  }

  private x(at: number): number {
    return LEFT + (this.wide * (at - this.of.low)) / (this.of.high - this.of.low);
  }

  private y(value: number): number {
    return TOP + this.tall - (this.tall * value) / this.of.most;
  }

  private index(at: number): number {
    return Math.floor((at - this.of.data.first) / this.of.data.group);
  }

  private line(x1: number, y1: number, x2: number, y2: number): void {
    this.pen.beginPath();
    this.pen.moveTo(x1, y1);
    this.pen.lineTo(x2, y2);
    this.pen.stroke();
  }

  private upright(x: number): void {
    this.line(x, TOP, x, this.height - BOTTOM);
  }

  paint(): void {
    const { of, pen } = this;
    this.axes();
    this.bands();
    of.ranges.forEach((range) => this.range(range));
    if (of.limit) this.limit(of.limit);
    of.marks.forEach((mark, number) => this.mark(mark, number));
    if (of.cursor >= of.low && of.cursor < of.high) {
      pen.strokeStyle = themed('--ink');
      pen.globalAlpha = 0.6;
      this.upright(Math.round(this.x(of.data.first + (this.index(of.cursor) + 0.5) * of.data.group)) + 0.5);
      pen.globalAlpha = 1;
    }
    if (!of.data.series.length) {
      pen.fillStyle = themed('--soft');
      pen.fillText('nothing to draw', LEFT + this.wide / 2, TOP + this.tall / 2);
    }
  }

  private axes(): void {
    const { of, pen } = this;
    const end = this.width - RIGHT;
    pen.fillStyle = themed('--soft');
    pen.strokeStyle = themed('--grid');
    pen.textAlign = 'right';
    for (const value of ticks(0, of.most, Math.max(2, this.tall / 52), true)) {
      const y = Math.round(this.y(value)) + 0.5;
      this.line(LEFT, y, end, y);
      pen.fillText(of.format(value), LEFT - 8, y);
    }
    pen.textAlign = 'center';
    for (const value of ticks(of.low, of.high, Math.max(2, this.wide / 90), false)) {
      const x = this.x(value);
      if (x > end) continue;
      const text = Math.round(value).toLocaleString('en-US');
      pen.fillText(text, Math.max(LEFT + 6, Math.min(end - 12, x)), this.height - BOTTOM + 13);
    }
    pen.fillText(of.axis, LEFT + this.wide / 2, this.height - 8);
  }

  private range([first, last]: [number, number]): void {
    const { pen } = this;
    const x = Math.max(LEFT, this.x(first));
    const to = Math.min(this.width - RIGHT, this.x(last));
    if (to < x) return;
    pen.globalAlpha = 0.22;
    pen.fillStyle = themed('--ink');
    pen.fillRect(x, TOP, Math.max(2, to - x), this.tall);
    pen.globalAlpha = 1;
    pen.fillStyle = themed('--accent');
    pen.fillRect(x, this.height - BOTTOM, Math.max(2, to - x), 3);
  }

  private limit({ value, name }: { value: number; name: string }): void {
    const { pen } = this;
    if (value > this.of.most) {
      this.label(
        `${name}, far above`,
        this.width - RIGHT - 4,
        TOP + 8 + 16 * this.of.marks.length,
        'right',
        themed('--bad'),
      );
      return;
    }
    const y = Math.round(this.y(value)) + 0.5;
    pen.strokeStyle = themed('--bad');
    pen.setLineDash([5, 4]);
    this.line(LEFT, y, this.width - RIGHT, y);
    pen.setLineDash([]);
    this.label(name, this.width - RIGHT - 4, y - 9, 'right', themed('--bad'));
  }

  private mark(mark: Mark, number: number): void {
    const { of, pen } = this;
    if (mark.at < of.low || mark.at >= of.high) return;
    const x = Math.round(this.x(mark.at + 0.5)) + 0.5;
    if (mark.dashed) pen.setLineDash([3, 3]);
    else {
      // an edge, as bands may have the colour of the line
      pen.strokeStyle = themed('--card');
      pen.lineWidth = 4;
      this.upright(x);
      pen.lineWidth = 2;
    }
    pen.strokeStyle = themed(mark.colour ?? '--accent');
    this.upright(x);
    pen.setLineDash([]);
    pen.lineWidth = 1;
    const right = x > LEFT + this.wide / 2;
    const name = cutText(pen, mark.name, this.wide * 0.45);
    this.label(name, right ? x - 6 : x + 6, TOP + 8 + 16 * (number % 4), right ? 'right' : 'left', themed('--ink'));
  }

  private label(text: string, x: number, y: number, align: 'left' | 'right', colour: string): void {
    const { pen } = this;
    const wide = pen.measureText(text).width + 8;
    pen.textAlign = align;
    pen.fillStyle = themed('--card');
    pen.globalAlpha = 0.85;
    pen.fillRect(align === 'right' ? x - wide + 4 : x - 4, y - 8, wide, 16);
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
    pen.textAlign = 'center';
  }

  // points that are drawn, with their edges: all of them, or the fullest of each column of pixels
  private columns(): [number, number, number][] {
    const { data, totals, low, high } = this.of;
    const from = Math.max(0, this.index(low));
    const to = Math.min(totals.length, this.index(high - 1e-9) + 1);
    const found: [number, number, number][] = [];
    if (to - from <= this.wide) {
      for (let i = from; i < to; i++) {
        const left = Math.max(LEFT, this.x(data.first + i * data.group));
        found.push([i, left, Math.min(LEFT + this.wide, this.x(data.first + (i + 1) * data.group))]);
      }
      return found;
    }
    const count = Math.floor(this.wide);
    for (let x = 0; x < count; x++) {
      const a = from + Math.floor(((to - from) * x) / count);
      const b = Math.max(a + 1, from + Math.floor(((to - from) * (x + 1)) / count));
      let best = a;
      for (let i = a + 1; i < b; i++) if ((totals[i] as number) > (totals[best] as number)) best = i;
      found.push([best, LEFT + x, LEFT + x + 1]);
    }
    return found;
  }

  private bands(): void {
    const columns = this.columns();
    const below = new Float64Array(columns.length);
    for (const each of this.of.data.series) {
      this.pen.fillStyle = each.colour;
      this.pen.beginPath();
      columns.forEach(([point, left, right], k) => {
        const value = each.values[point] as number;
        if (value <= 0) return;
        const bottom = this.y(below[k] as number);
        below[k] = (below[k] as number) + value;
        const top = this.y(below[k] as number);
        this.pen.rect(left, top, right - left + 0.5, bottom - top);
      });
      this.pen.fill();
    }
  }
}

export function paintStacked(canvas: HTMLCanvasElement, width: number, height: number, picture: StackedPicture): void {
  new Painter(canvas, width, height, picture).paint();
}
