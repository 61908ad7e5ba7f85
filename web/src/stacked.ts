// A chart of stacked bands on a canvas: zoom, a moving cursor, frozen cursors, a range that is selected by dragging.
import { themed } from './colours';
import type { TipLine } from './elements';
import { el, hideTip, showTip } from './elements';
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
  colour?: string;
  dashed?: boolean;
}

export interface StackedOptions {
  label: string;
  height: number;
  end: number; // the axis goes from 0 to here
  axis: string;
  limit?: { value: number; name: string };
  most?: number; // top of the axis, where charts are compared
  format(value: number): string;
  title(at: number): string;
  lines?(at: number): TipLine[]; // more for the tip
  dragging: 'zoom' | 'select';
  onclick?(at: number, event: { shiftKey: boolean }): void;
  onselect?(first: number, last: number, event: { shiftKey: boolean }): void;
  onwindow?(low: number, high: number): void; // after zooming
}

const LEFT = 66,
  RIGHT = 14,
  TOP = 14,
  BOTTOM = 36,
  TIP_LINES = 12;

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

export class StackedChart {
  readonly canvas: HTMLCanvasElement = el('canvas', { 'aria-hidden': 'true' });
  readonly element: HTMLElement;
  marks: Mark[] = [];
  selected: [number, number][] = []; // ranges that are marked
  low = 0;
  high: number;
  private data: StackedData = { first: 0, group: 1, series: [] };
  private totals = new Float64Array(0);
  private cursor = -1;
  private drag: { from: number; x: number; moved: boolean; shift: boolean } | null = null;
  private asked = false;

  constructor(private readonly options: StackedOptions) {
    this.high = Math.max(1, options.end);
    this.element = el('div', { class: 'chart', tabindex: '0', role: 'img', 'aria-label': options.label }, this.canvas);
    const box = this.element;
    box.addEventListener('pointerdown', (event) => this.press(event));
    box.addEventListener('pointermove', (event) => this.move(event));
    box.addEventListener('pointerup', (event) => this.release(event));
    box.addEventListener('pointerleave', () => {
      if (!this.drag) this.point(-1);
    });
    box.addEventListener('blur', () => this.point(-1));
    box.addEventListener('dblclick', () => this.window(0, this.options.end));
    box.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && document.activeElement !== box) return;
        event.preventDefault();
        const at = this.place(event.clientX);
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
          this.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
        else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
      },
      { passive: false },
    );
    box.addEventListener('keydown', (event) => this.key(event));
  }

  setData(data: StackedData): void {
    this.data = data;
    const count = data.series[0]?.values.length ?? 0;
    this.totals = new Float64Array(count);
    for (const each of data.series)
      for (let i = 0; i < count; i++) this.totals[i] = (this.totals[i] as number) + (each.values[i] as number);
    this.draw();
  }

  get most(): number {
    let most = 0;
    for (const total of this.totals) most = Math.max(most, total);
    return most;
  }

  window(low: number, high: number): void {
    const least = Math.min(this.options.end, 4);
    const wide = Math.max(least, Math.min(this.options.end, high - low));
    this.low = Math.max(0, Math.min(this.options.end - wide, low));
    this.high = this.low + wide;
    this.draw();
    this.options.onwindow?.(this.low, this.high);
  }

  zoom(factor: number, at = (this.low + this.high) / 2): void {
    const share = (at - this.low) / (this.high - this.low),
      wide = (this.high - this.low) * factor;
    this.window(at - share * wide, at + (1 - share) * wide);
  }

  pan(share: number): void {
    const by = share * (this.high - this.low);
    this.window(this.low + by, this.high + by);
  }

  draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.element.isConnected) this.paint();
    });
  }

  private index(at: number): number {
    return Math.floor((at - this.data.first) / this.data.group);
  }

  private place(clientX: number): number {
    const area = this.canvas.getBoundingClientRect();
    const share = (clientX - area.left - LEFT) / Math.max(1, area.width - LEFT - RIGHT);
    return this.low + Math.max(0, Math.min(0.999999, share)) * (this.high - this.low);
  }

  private paint(): void {
    const width = Math.max(280, this.element.clientWidth),
      height = this.options.height;
    const pen = fitted(this.canvas, width, height);
    const { series, first, group } = this.data;
    const wide = width - LEFT - RIGHT,
      high = height - TOP - BOTTOM;
    const most = (this.options.most ?? Math.max(this.options.limit?.value ?? 0, this.most) * 1.06) || 1;
    const sx = (at: number) => LEFT + (wide * (at - this.low)) / (this.high - this.low);
    const sy = (value: number) => TOP + high - (high * value) / most;
    const soft = themed('--soft'),
      ink = themed('--ink');
    pen.fillStyle = soft;
    pen.strokeStyle = themed('--grid');
    pen.textAlign = 'right';
    for (const value of ticks(0, most, Math.max(2, high / 52), true)) {
      pen.beginPath();
      pen.moveTo(LEFT, Math.round(sy(value)) + 0.5);
      pen.lineTo(width - RIGHT, Math.round(sy(value)) + 0.5);
      pen.stroke();
      pen.fillText(this.options.format(value), LEFT - 8, sy(value));
    }
    pen.textAlign = 'center';
    for (const value of ticks(this.low, this.high, Math.max(2, wide / 90), false)) {
      if (sx(value) < width - RIGHT + 1)
        pen.fillText(
          Math.round(value).toLocaleString('en-US'),
          Math.max(LEFT + 6, Math.min(width - RIGHT - 12, sx(value))),
          height - BOTTOM + 13,
        );
    }
    pen.fillText(this.options.axis, LEFT + wide / 2, height - 8);
    this.paintBands(pen, sx, sy, wide);
    const spread = (range: [number, number]) => {
      const x = Math.max(LEFT, sx(range[0])),
        to = Math.min(width - RIGHT, sx(range[1]));
      if (to < x) return;
      pen.globalAlpha = 0.22;
      pen.fillStyle = ink;
      pen.fillRect(x, TOP, Math.max(2, to - x), high);
      pen.globalAlpha = 1;
      pen.fillStyle = themed('--accent');
      pen.fillRect(x, height - BOTTOM, Math.max(2, to - x), 3);
    };
    this.selected.forEach(spread);
    if (this.drag?.moved) spread([Math.min(this.drag.from, this.cursor), Math.max(this.drag.from, this.cursor)]);
    if (this.options.limit) {
      const y = Math.round(sy(this.options.limit.value)) + 0.5;
      pen.strokeStyle = themed('--bad');
      pen.fillStyle = themed('--bad');
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(width - RIGHT, y);
      pen.stroke();
      pen.setLineDash([]);
      this.label(pen, this.options.limit.name, width - RIGHT - 4, y - 9, 'right', themed('--bad'));
    }
    this.marks.forEach((mark, number) => {
      if (mark.at < this.low || mark.at >= this.high) return;
      const x = Math.round(sx(mark.at + 0.5)) + 0.5,
        colour = mark.colour ?? themed('--accent');
      const line = () => {
        pen.beginPath();
        pen.moveTo(x, TOP);
        pen.lineTo(x, height - BOTTOM);
        pen.stroke();
      };
      if (mark.dashed) pen.setLineDash([3, 3]);
      else {
        pen.strokeStyle = themed('--card');
        pen.lineWidth = 4;
        line();
        pen.lineWidth = 2;
      } // a light edge: bands may have the colour of the line
      pen.strokeStyle = colour;
      line();
      pen.setLineDash([]);
      pen.lineWidth = 1;
      const right = x > LEFT + wide / 2;
      this.label(
        pen,
        cutText(pen, mark.name, wide * 0.45),
        right ? x - 6 : x + 6,
        TOP + 8 + 16 * (number % 4),
        right ? 'right' : 'left',
        ink,
      );
    });
    if (this.cursor >= this.low && this.cursor < this.high) {
      const i = this.index(this.cursor),
        x = Math.round(sx(first + (i + 0.5) * group)) + 0.5;
      pen.strokeStyle = ink;
      pen.globalAlpha = 0.6;
      pen.beginPath();
      pen.moveTo(x, TOP);
      pen.lineTo(x, height - BOTTOM);
      pen.stroke();
      pen.globalAlpha = 1;
    }
    if (!series.length) {
      pen.fillStyle = soft;
      pen.fillText('nothing to draw', LEFT + wide / 2, TOP + high / 2);
    }
  }

  private label(
    pen: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    align: CanvasTextAlign,
    colour: string,
  ): void {
    pen.textAlign = align;
    const wide = pen.measureText(text).width + 8;
    pen.fillStyle = themed('--card');
    pen.globalAlpha = 0.85;
    pen.fillRect(align === 'right' ? x - wide + 4 : x - 4, y - 8, wide, 16);
    pen.globalAlpha = 1;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
    pen.textAlign = 'center';
  }

  // one column of pixels at a time shows the fullest of its points
  private paintBands(
    pen: CanvasRenderingContext2D,
    sx: (at: number) => number,
    sy: (value: number) => number,
    wide: number,
  ): void {
    const { series, first, group } = this.data;
    const count = this.totals.length;
    if (!count) return;
    const from = Math.max(0, this.index(this.low)),
      to = Math.min(count, this.index(this.high - 1e-9) + 1);
    const chosen: number[] = [],
      left: number[] = [],
      right: number[] = [];
    if (to - from <= wide) {
      for (let i = from; i < to; i++) {
        chosen.push(i);
        left.push(Math.max(LEFT, sx(first + i * group)));
        right.push(Math.min(LEFT + wide, sx(first + (i + 1) * group)));
      }
    } else {
      const columns = Math.floor(wide);
      for (let x = 0; x < columns; x++) {
        const a = from + Math.floor(((to - from) * x) / columns),
          b = Math.max(a + 1, from + Math.floor(((to - from) * (x + 1)) / columns));
        let best = a;
        for (let i = a + 1; i < b; i++) if ((this.totals[i] as number) > (this.totals[best] as number)) best = i;
        chosen.push(best);
        left.push(LEFT + x);
        right.push(LEFT + x + 1);
      }
    }
    const below = new Float64Array(chosen.length);
    for (const each of series) {
      pen.fillStyle = each.colour;
      pen.beginPath();
      for (let k = 0; k < chosen.length; k++) {
        const value = each.values[chosen[k] as number] as number;
        if (value <= 0) continue;
        const bottom = sy(below[k] as number),
          top = sy((below[k] as number) + value);
        pen.rect(left[k] as number, top, (right[k] as number) - (left[k] as number) + 0.5, bottom - top);
        below[k] = (below[k] as number) + value;
      }
      pen.fill();
    }
  }

  private point(at: number, x = 0, y = 0): void {
    this.cursor = at;
    this.draw();
    const i = this.index(at);
    if (at < 0 || i < 0 || i >= this.totals.length) {
      hideTip();
      return;
    }
    const format = this.options.format;
    const parts = this.data.series
      .map((each): [Series, number] => [each, each.values[i] as number])
      .filter((part) => part[1] > 0)
      .reverse();
    const shown = parts.length > TIP_LINES ? [...parts].sort((a, b) => b[1] - a[1]).slice(0, TIP_LINES) : parts;
    showTip(x, y, this.options.title(at), [
      ['total', format(this.totals[i] as number)],
      ...(this.options.lines?.(at) ?? []),
      ...shown.map(([each, value]): TipLine => [each.name, format(value), each.colour]),
      ...(parts.length > shown.length ? [[`and ${parts.length - shown.length} smaller`, ''] as TipLine] : []),
    ]);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.element.focus({ preventScroll: true });
    this.drag = { from: this.place(event.clientX), x: event.clientX, moved: false, shift: event.shiftKey };
    try {
      this.element.setPointerCapture(event.pointerId);
    } catch {
      /* a pointer of a script */
    }
  }

  private move(event: PointerEvent): void {
    if (this.drag && Math.abs(event.clientX - this.drag.x) > 4) this.drag.moved = true;
    if (this.drag?.moved && this.drag.shift && this.options.dragging === 'zoom') {
      const by = this.drag.from - this.place(event.clientX);
      this.window(this.low + by, this.high + by);
      return;
    }
    this.point(this.place(event.clientX), event.clientX, event.clientY);
  }

  private release(event: PointerEvent): void {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const at = this.place(event.clientX);
    if (!drag.moved) {
      this.options.onclick?.(Math.floor(at), event);
      return;
    }
    const low = Math.min(drag.from, at),
      high = Math.max(drag.from, at);
    if (this.options.dragging === 'select') this.options.onselect?.(Math.floor(low), Math.floor(high), event);
    else if (!drag.shift) this.window(low, high);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (by) {
      if (event.shiftKey) this.pan(by > 0 ? 0.2 : -0.2);
      else {
        const from = this.cursor < 0 ? (this.low + this.high) / 2 : this.cursor;
        const at = Math.max(0, Math.min(this.options.end - 1, from + by * this.data.group));
        if (at < this.low || at >= this.high) this.pan(by > 0 ? 0.5 : -0.5);
        const area = this.canvas.getBoundingClientRect();
        this.point(
          at,
          area.left + LEFT + ((at - this.low) / (this.high - this.low)) * (area.width - LEFT - RIGHT),
          area.top + 40,
        );
      }
    } else if (event.key === '+' || event.key === '=') this.zoom(0.6, this.cursor < 0 ? undefined : this.cursor);
    else if (event.key === '-') this.zoom(1 / 0.6, this.cursor < 0 ? undefined : this.cursor);
    else if (event.key === '0') this.window(0, this.options.end);
    else if ((event.key === 'Enter' || event.key === ' ') && this.cursor >= 0)
      this.options.onclick?.(Math.floor(this.cursor), event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
