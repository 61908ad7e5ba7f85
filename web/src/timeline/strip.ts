// The navigation strip: everything in small, the part that is shown, and a handle at each end of it.
import { clamp, type Extent, type Pane, type Row } from './model';
import { Raster } from './raster';
import type { Theme } from './theme';

const HIGH = 34;
const GRIP = 9;
const MOST_ROWS = 14;

export class Strip {
  readonly canvas = document.createElement('canvas');
  private readonly raster = new Raster();
  private readonly sketch = document.createElement('canvas');
  private stale = true;
  private held: 'from' | 'to' | 'all' | null = null;
  private holdAt = 0;
  private holdFrom = 0;

  constructor(
    private readonly whole: () => Extent,
    private readonly shown: () => Extent,
    private readonly least: () => number,
    private readonly move: (from: number, to: number) => void,
  ) {
    this.canvas.className = 'tl-strip';
    this.canvas.addEventListener('pointerdown', (event) => this.down(event));
    this.canvas.addEventListener('pointermove', (event) => this.drag(event));
    this.canvas.addEventListener('pointerup', () => (this.held = null));
    this.canvas.addEventListener('pointercancel', () => (this.held = null));
  }

  /** The data or the colours changed. */
  renew(): void {
    this.stale = true;
  }

  private time(event: PointerEvent): number {
    const box = this.canvas.getBoundingClientRect();
    const { from, to } = this.whole();
    return from + clamp((event.clientX - box.left) / box.width, 0, 1) * (to - from);
  }

  private down(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const { from, to } = this.whole();
    const x = (time: number) => box.left + ((time - from) / (to - from)) * box.width;
    const shown = this.shown();
    const [left, right] = [x(shown.from), x(shown.to)];
    const reach = event.pointerType === 'touch' ? 22 : GRIP;
    this.holdAt = this.time(event);
    this.holdFrom = shown.from;
    if (Math.abs(event.clientX - left) <= reach && Math.abs(event.clientX - left) <= Math.abs(event.clientX - right)) this.held = 'from';
    else if (Math.abs(event.clientX - right) <= reach) this.held = 'to';
    else if (event.clientX > left && event.clientX < right) this.held = 'all';
    else {
      // beside it: bring it here
      const length = shown.to - shown.from;
      this.move(this.holdAt - length / 2, this.holdAt + length / 2);
      this.holdFrom = this.shown().from;
      this.held = 'all';
    }
    this.canvas.setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  private drag(event: PointerEvent): void {
    if (!this.held) return;
    const shown = this.shown();
    const time = this.time(event);
    if (this.held === 'from') this.move(Math.min(time, shown.to - this.least()), shown.to);
    else if (this.held === 'to') this.move(shown.from, Math.max(time, shown.from + this.least()));
    else this.move(this.holdFrom + time - this.holdAt, this.holdFrom + time - this.holdAt + shown.to - shown.from);
  }

  draw(rows: Row[], theme: Theme, ratio: number, cssWidth: number): void {
    const width = Math.max(1, Math.round(cssWidth * ratio));
    const height = Math.round(HIGH * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.canvas.style.height = `${HIGH}px`;
      this.stale = true;
    }
    if (this.stale) this.paint(rows, theme, ratio, width, height);
    const context = this.canvas.getContext('2d')!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.sketch, 0, 0);
    const { from, to } = this.whole();
    const shown = this.shown();
    const left = ((shown.from - from) / (to - from)) * width;
    const right = Math.max(left + 2 * ratio, ((shown.to - from) / (to - from)) * width);
    context.globalAlpha = 0.62;
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5 * ratio;
    context.strokeRect(left + ratio, ratio, Math.max(ratio, right - left - 2 * ratio), height - 2 * ratio);
    context.fillStyle = theme.accent;
    for (const x of [left, right]) {
      const at = clamp(x, 3 * ratio, width - 3 * ratio);
      context.beginPath();
      context.roundRect(at - 3 * ratio, height * 0.2, 6 * ratio, height * 0.6, 3 * ratio);
      context.fill();
    }
  }

  private paint(rows: Row[], theme: Theme, ratio: number, width: number, height: number): void {
    this.stale = false;
    this.sketch.width = width;
    this.sketch.height = height;
    const context = this.sketch.getContext('2d')!;
    this.raster.resize(width, height);
    this.raster.clear(theme.band);
    this.raster.clip(0, height);
    const { from, to } = this.whole();
    const shown = rows.filter((row) => row.sketched).slice(0, MOST_ROWS);
    const each = (HIGH - 6) / Math.max(1, shown.length);
    const ground = { ...theme, groundPixel: theme.band };
    shown.forEach((row, at) => {
      const pane: Pane = {
        raster: this.raster, context, theme: ground, top: 2 + at * each, height: each + 2, clipTop: 0, clipBottom: HIGH, width: width / ratio,
        ratio, from, to, scale: width / ratio / (to - from || 1), folded: true,
      };
      row.paint(pane);
    });
    this.raster.show(context);
  }
}
