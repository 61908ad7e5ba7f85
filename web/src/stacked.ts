// A chart of stacked bands on a canvas: zoom, a moving cursor, frozen cursors, a range that is selected by dragging.
import type { TipLine } from './elements';
import { el, hideTip, showTip } from './elements';
import type { Mark, Series, StackedData } from './stacked_paint';
import { LEFT, paintStacked, RIGHT } from './stacked_paint';

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

const TIP_LINES = 12;

// of a chart that needs less than this share of its limit, the axis ends at what it needs
const LEAST_OF_LIMIT = 0.2;

// top of the axis: the limit, or what is beyond it; a small program would be a thin line below a far limit
export function axisTop(most: number, limit: number): number {
  return most < LEAST_OF_LIMIT * limit ? most * 1.2 || 1 : Math.max(most, limit) * 1.06 || 1;
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
    const { axis, format, height, limit } = this.options;
    const ranges = [...this.selected];
    if (this.drag?.moved) ranges.push([Math.min(this.drag.from, this.cursor), Math.max(this.drag.from, this.cursor)]);
    paintStacked(this.canvas, Math.max(280, this.element.clientWidth), height, {
      data: this.data,
      totals: this.totals,
      low: this.low,
      high: this.high,
      most: this.options.most ?? axisTop(this.most, limit?.value ?? 0),
      axis,
      format,
      ...(limit ? { limit } : {}),
      ranges,
      marks: this.marks,
      cursor: this.cursor,
    });
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
