// The roofline: floating-point work per cycle against work per cycle of exchange, one dot for each op.
import { themed } from './colours';
import { el, hideTip, showTip } from './elements';
import { compact, percent, whole } from './format';
import { fitted } from './picture';

export interface Dot {
  name: string;
  flops: number;
  cycles: number;
  exchange: number;
  colour: string;
  row: number;
}

export interface RooflineOptions {
  peak: number;
  peakName: string;
  share: (cycles: number) => string;
  onpick(row: number): void;
}

const LEFT = 62,
  RIGHT = 16,
  TOP = 16,
  BOTTOM = 40;

export class Roofline {
  readonly canvas = el('canvas', { 'aria-hidden': 'true' });
  readonly element: HTMLElement;
  chosen = -1;
  private readonly dots: (Dot & { x: number; y: number })[];
  private readonly lowX: number;
  private readonly highX: number;
  private readonly lowY: number;
  private readonly highY: number;
  private hover = -1;

  constructor(
    dots: Dot[],
    private readonly options: RooflineOptions,
  ) {
    this.dots = dots
      .filter((dot) => dot.flops > 0 && dot.cycles > 0)
      .map((dot) => ({ ...dot, x: dot.exchange > 0 ? dot.flops / dot.exchange : Infinity, y: dot.flops / dot.cycles }));
    const xs = this.dots.map((dot) => dot.x).filter(Number.isFinite),
      ys = this.dots.map((dot) => dot.y);
    const bound = (values: number[], pickOne: (...each: number[]) => number, missing: number) =>
      values.reduce((best, value) => pickOne(best, value), missing);
    // small ops far away are drawn at the edge
    this.lowX = Math.max(1e-3, options.peak / 1e5, bound(xs, Math.min, 1e9) / 2);
    this.highX = Math.max(this.lowX * 10, bound(xs, Math.max, options.peak || 1) * 2, (options.peak || 1) * 4);
    this.lowY = Math.max(1e-3, options.peak / 1e6, bound(ys, Math.min, 1e9) / 2);
    this.highY = Math.max(this.lowY * 10, options.peak * 1.8, bound(ys, Math.max, 1) * 1.5);
    this.element = el(
      'div',
      {
        class: 'chart',
        tabindex: '0',
        role: 'img',
        'aria-label':
          'Roofline: floating-point operations per cycle against those per cycle of exchange; the table below has the same figures',
      },
      this.canvas,
    );
    this.element.addEventListener('pointermove', (event) => this.point(this.near(event), event.clientX, event.clientY));
    this.element.addEventListener('pointerleave', () => this.point(-1, 0, 0));
    this.element.addEventListener('click', (event) => {
      const at = this.near(event);
      if (at >= 0) this.options.onpick((this.dots[at] as Dot).row);
    });
    this.element.addEventListener('keydown', (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by && this.dots.length) {
        const at = (this.hover + by + this.dots.length) % this.dots.length,
          area = this.canvas.getBoundingClientRect();
        const dot = this.dots[at] as Dot & { x: number; y: number };
        this.point(at, area.left + this.sx(dot.x), area.top + this.sy(dot.y));
      } else if (event.key === 'Enter' && this.hover >= 0) this.options.onpick((this.dots[this.hover] as Dot).row);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  get count(): number {
    return this.dots.length;
  }

  private sx(value: number): number {
    const wide = this.canvas.clientWidth - LEFT - RIGHT;
    const at = Number.isFinite(value)
      ? (Math.log(value) - Math.log(this.lowX)) / (Math.log(this.highX) - Math.log(this.lowX))
      : 1;
    return LEFT + Math.max(0, Math.min(1, at)) * wide;
  }

  private sy(value: number): number {
    const high = this.canvas.clientHeight - TOP - BOTTOM;
    const at = (Math.log(value) - Math.log(this.lowY)) / (Math.log(this.highY) - Math.log(this.lowY));
    return TOP + high - Math.max(0, Math.min(1, at)) * high;
  }

  private size(dot: Dot, all: number): number {
    return 2.5 + 16 * Math.sqrt(dot.cycles / all);
  }

  draw(): void {
    const width = Math.max(280, this.element.clientWidth),
      height = 360;
    const pen = fitted(this.canvas, width, height);
    const soft = themed('--soft');
    pen.strokeStyle = themed('--grid');
    pen.fillStyle = soft;
    for (let power = Math.ceil(Math.log10(this.lowX)); 10 ** power <= this.highX; power++) {
      const x = this.sx(10 ** power);
      pen.beginPath();
      pen.moveTo(x, TOP);
      pen.lineTo(x, height - BOTTOM);
      pen.stroke();
      pen.textAlign = 'center';
      pen.fillText(compact(10 ** power), x, height - BOTTOM + 13);
    }
    for (let power = Math.ceil(Math.log10(this.lowY)); 10 ** power <= this.highY; power++) {
      const y = this.sy(10 ** power);
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(width - RIGHT, y);
      pen.stroke();
      pen.textAlign = 'right';
      pen.fillText(compact(10 ** power), LEFT - 7, y);
    }
    pen.textAlign = 'center';
    pen.fillText(
      'FLOP per cycle of exchange (to the right: less exchange)',
      LEFT + (width - LEFT - RIGHT) / 2,
      height - 9,
    );
    pen.save();
    pen.translate(11, TOP + (height - TOP - BOTTOM) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText('FLOP per cycle, whole IPU', 0, 0);
    pen.restore();
    const all = this.dots.reduce((most, dot) => Math.max(most, dot.cycles), 1);
    for (const [index, dot] of this.dots.entries()) {
      pen.globalAlpha = 0.7;
      pen.fillStyle = dot.colour;
      pen.beginPath();
      pen.arc(this.sx(dot.x), this.sy(dot.y), this.size(dot, all), 0, 7);
      pen.fill();
      pen.globalAlpha = 1;
      if (index === this.hover || dot.row === this.chosen) {
        pen.strokeStyle = themed('--ink');
        pen.lineWidth = 2;
        pen.stroke();
        pen.lineWidth = 1;
      }
    }
    // the roof: no op is faster than its exchange allows, nor than the chip
    const peak = this.options.peak || Infinity,
      corner = Math.min(peak, this.highY);
    pen.strokeStyle = themed('--bad');
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(this.sx(Math.max(this.lowX, this.lowY)), this.sy(Math.max(this.lowX, this.lowY)));
    pen.lineTo(this.sx(corner), this.sy(corner));
    if (Number.isFinite(peak)) pen.lineTo(width - RIGHT, this.sy(peak));
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = themed('--bad');
    if (Number.isFinite(peak)) {
      pen.textAlign = 'right';
      pen.fillText(
        width > 640 ? this.options.peakName : `peak: ${compact(peak)} FLOP per cycle`,
        width - RIGHT - 2,
        this.sy(peak) - 9,
      );
    }
  }

  private near(event: MouseEvent): number {
    const area = this.canvas.getBoundingClientRect(),
      x = event.clientX - area.left,
      y = event.clientY - area.top;
    let best = -1,
      nearest = 14 * 14;
    const all = this.dots.reduce((most, dot) => Math.max(most, dot.cycles), 1);
    this.dots.forEach((dot, index) => {
      const far = Math.max(0, Math.hypot(this.sx(dot.x) - x, this.sy(dot.y) - y) - this.size(dot, all)) ** 2;
      if (far < nearest) {
        nearest = far;
        best = index;
      }
    });
    return best;
  }

  private point(at: number, x: number, y: number): void {
    this.hover = at;
    this.draw();
    const dot = this.dots[at];
    if (!dot) {
      hideTip();
      return;
    }
    showTip(x, y, dot.name, [
      ['FLOP per cycle', compact(dot.y)],
      ...(this.options.peak ? [['of the peak', percent(dot.y, this.options.peak)] as [string, string]] : []),
      ['FLOP per cycle of exchange', Number.isFinite(dot.x) ? compact(dot.x) : 'no exchange'],
      ['cycles per step', whole(dot.cycles)],
      ['of all ops', this.options.share(dot.cycles)],
    ]);
  }
}
