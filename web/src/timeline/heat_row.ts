// Heat maps: the bins of a histogram stacked, one column for each moment at which it was taken.
import { clamp, type Extent, type Item, type Pane, type Row, type TipLine } from './model';
import { figure } from './counter_row';
import { mixed, packed } from './raster';

const HOT = [packed(59, 82, 165), packed(86, 160, 178), packed(233, 196, 106), packed(230, 120, 70), packed(178, 38, 60)];

function warm(share: number): number {
  const place = clamp(share, 0, 1) * (HOT.length - 1);
  const below = Math.min(HOT.length - 2, Math.floor(place));
  return mixed(HOT[below]!, HOT[below + 1]!, place - below);
}

export class HeatRow implements Row {
  readonly foldable = true;
  readonly note?: string;
  readonly parent?: string;
  private most = 0;
  private readonly bins: number;

  /** `count` has the bins of the first moment, then those of the second; `edges` is one longer than the bins. */
  constructor(
    readonly id: string,
    readonly name: string,
    readonly unit: string,
    readonly time: Float64Array,
    readonly edges: ArrayLike<number>,
    readonly count: ArrayLike<number>,
    more: { parent?: string; note?: string } = {},
  ) {
    if (more.parent !== undefined) this.parent = more.parent;
    if (more.note !== undefined) this.note = more.note;
    this.bins = Math.max(1, edges.length - 1);
    for (let at = 0; at < count.length; at++) this.most = Math.max(this.most, count[at]!);
  }

  height(folded: boolean): number {
    return folded ? 24 : clamp(this.bins * 6, 60, 132);
  }

  extent(): Extent | null {
    return this.time.length ? { from: this.time[0]!, to: this.time[this.time.length - 1]! } : null;
  }

  private after(time: number): number {
    let low = 0;
    let high = this.time.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** A moment holds until the next; the last for as long as the one before it. */
  private until(at: number): number {
    if (at + 1 < this.time.length) return this.time[at + 1]!;
    return this.time[at]! + (at > 0 ? this.time[at]! - this.time[at - 1]! : 1);
  }

  paint(pane: Pane): void {
    const { raster, ratio, from, to } = pane;
    const scale = pane.scale * ratio;
    const top = (pane.top + 2) * ratio;
    const high = (pane.height - 4) * ratio;
    const sums = new Float64Array(this.bins);
    const last = Math.min(this.time.length, this.after(to));
    let at = Math.max(0, this.after(from) - 1);
    while (at < last) {
      const left = Math.round((this.time[at]! - from) * scale);
      sums.fill(0);
      let right = left;
      // several moments in one pixel: the fullest of each bin
      do {
        for (let bin = 0; bin < this.bins; bin++) sums[bin] = Math.max(sums[bin]!, this.count[at * this.bins + bin] ?? 0);
        right = Math.round((this.until(at) - from) * scale);
        at++;
      } while (at < last && right <= left);
      for (let bin = 0; bin < this.bins; bin++) {
        if (sums[bin]! <= 0) continue;
        const y0 = Math.round(top + (high * (this.bins - 1 - bin)) / this.bins);
        const y1 = Math.round(top + (high * (this.bins - bin)) / this.bins);
        raster.box(left, y0, Math.max(right, left + 1), Math.max(y1, y0 + 1), warm(Math.log1p(sums[bin]!) / Math.log1p(this.most)));
      }
    }
  }

  draw(pane: Pane): void {
    if (pane.folded) return;
    const { context, theme } = pane;
    context.font = '10.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const ends = [[this.edges[this.bins] ?? 0, pane.top + 9], [this.edges[0] ?? 0, pane.top + pane.height - 9]] as const;
    for (const [value, y] of ends) {
      const text = figure(value) + (this.unit ? ' ' + this.unit : '');
      context.globalAlpha = 0.8;
      context.fillStyle = theme.ground;
      context.fillRect(2, y - 7, text.length * 6 + 4, 14);
      context.globalAlpha = 1;
      context.fillStyle = theme.ink;
      context.fillText(text, 4, y);
    }
  }

  at(time: number, y: number, _reach: number, folded: boolean): Item | null {
    const at = this.after(time) - 1;
    if (at < 0 || time > this.until(at)) return null;
    const high = this.height(folded) - 4;
    const bin = clamp(this.bins - 1 - Math.floor(((y - 2) / high) * this.bins), 0, this.bins - 1);
    const count = this.count[at * this.bins + bin] ?? 0;
    let all = 0;
    for (let other = 0; other < this.bins; other++) all += this.count[at * this.bins + other] ?? 0;
    const unit = this.unit ? ' ' + this.unit : '';
    const lines: TipLine[] = [
      ['between', `${figure(this.edges[bin] ?? 0)} and ${figure(this.edges[bin + 1] ?? 0)}${unit}`],
      ['values', figure(count)],
      ['of', figure(all)],
    ];
    return {
      row: this.id, key: `${at}.${bin}`, from: this.time[at]!, to: this.until(at),
      top: 2 + (high * (this.bins - 1 - bin)) / this.bins, height: high / this.bins, tip: () => ({ title: this.name, lines }),
    };
  }
}
