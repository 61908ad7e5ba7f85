// Nested spans: one band for each depth. Also stages of a pipeline, with a depth of one.
import { clamp, type Extent, type Found, type Item, type Match, type Pane, type Row, type Tip } from './model';
import { mixed } from './raster';
import { SpanSet, type Spans } from './span_set';
import { fitted } from './text';

export interface FlameOptions {
  id: string;
  name: string;
  note?: string;
  parent?: string;
  band?: number;
  /** whether it is drawn in the navigation strip; missing means yes */
  sketched?: boolean;
  /** depths to make room for; missing means those of the first spans */
  depths?: number;
  tip(set: SpanSet, span: number): Tip;
  /** the words drawn in the span; missing means its label */
  words?(set: SpanSet, span: number): string;
}

interface Detail extends Extent {
  set: SpanSet;
}

export class FlameRow implements Row {
  readonly id: string;
  readonly name: string;
  readonly note?: string;
  readonly parent?: string;
  readonly sketched: boolean;
  private base: SpanSet;
  private detail: Detail | null = null;
  private readonly band: number;
  private needle = '';
  private marks = new WeakMap<SpanSet, Uint8Array>();

  constructor(
    spans: Spans,
    private readonly options: FlameOptions,
  ) {
    this.id = options.id;
    this.name = options.name;
    if (options.note !== undefined) this.note = options.note;
    if (options.parent !== undefined) this.parent = options.parent;
    this.sketched = options.sketched ?? true;
    this.band = options.band ?? 18;
    this.base = new SpanSet(spans);
  }

  /** Spans of a part of the time, more exact than those of the whole. */
  show(spans: Spans, from: number, to: number): void {
    this.detail = { set: new SpanSet(spans), from, to };
  }

  get depths(): number {
    return this.options.depths ?? this.base.depths;
  }

  get foldable(): boolean {
    return this.depths > 1;
  }

  height(folded: boolean): number {
    return (folded ? 1 : this.depths) * this.band + 4;
  }

  extent(): Extent | null {
    const [from, to] = this.base.range();
    return from <= to ? { from, to } : null;
  }

  private set(from: number, to: number): SpanSet {
    return this.detail && this.detail.from <= from && this.detail.to >= to ? this.detail.set : this.base;
  }

  private marked(set: SpanSet): Uint8Array | null {
    if (!this.needle) return null;
    let found = this.marks.get(set);
    if (!found) {
      found = Uint8Array.from(set.spans.labels, (text) => (text.toLowerCase().includes(this.needle) ? 1 : 0));
      this.marks.set(set, found);
    }
    return found;
  }

  paint(pane: Pane): void {
    const { raster, ratio, from, to } = pane;
    const ground = pane.theme.groundPixel;
    const set = this.set(from, to);
    const marked = this.marked(set);
    const scale = pane.scale * ratio;
    const width = raster.width;
    const busy = new Float64Array(width);
    const widest = new Float64Array(width);
    const colour = new Uint32Array(width);
    const band = pane.folded ? Math.max(1, pane.height - 3) : this.band;
    const shade = (item: number) => {
      const own = set.pixels[set.colourOf[item]!] ?? ground;
      return marked && !marked[set.spans.label[item]!] ? mixed(ground, own, 0.22) : own;
    };
    for (let depth = 0; depth < Math.min(pane.folded ? 1 : this.depths, set.depths); depth++) {
      const top = Math.round((pane.top + 2 + depth * band) * ratio);
      const bottom = Math.max(top + 1, Math.round((pane.top + 1 + (depth + 1) * band) * ratio));
      if (bottom < raster.clipTop || top > raster.clipBottom) continue;
      busy.fill(0);
      widest.fill(0);
      const tree = set.trees[depth]!;
      const small = (start: number, end: number, time: number, item: number) => {
        const first = clamp(Math.floor((start - from) * scale), 0, width - 1);
        const last = clamp(Math.floor((end - from) * scale), first, width - 1);
        const share = (time * scale) / (last - first + 1);
        for (let x = first; x <= last; x++) {
          busy[x]! += share;
          if (time >= widest[x]!) {
            widest[x] = Math.max(time, Number.MIN_VALUE);
            colour[x] = shade(item);
          }
        }
      };
      tree.visit(
        from, to, 1.5 / scale,
        (at, start, end) => {
          const item = tree.items[at]!;
          const left = Math.round((Math.max(start, from) - from) * scale);
          const right = Math.round((Math.min(end, to) - from) * scale);
          const dense = set.dense(item);
          if (right - left < 2) return small(start, end, (end - start) * dense, item);
          // a hairline of ground parts neighbours
          const own = dense < 1 ? mixed(ground, shade(item), 0.35 + 0.65 * dense) : shade(item);
          raster.box(left, top, right - left > 3 ? right - 1 : right, bottom, own);
        },
        (start, end, time, longest) => small(start, end, time, tree.items[longest]!),
      );
      // something that is there is seen, however short
      for (let x = 0; x < width; x++)
        if (widest[x]! > 0) raster.box(x, top, x + 1, bottom, mixed(ground, colour[x]!, 0.35 + 0.65 * Math.min(1, busy[x]!)));
    }
  }

  draw(pane: Pane): void {
    const { context, from, to, scale } = pane;
    const set = this.set(from, to);
    const marked = this.marked(set);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (let depth = 0; depth < Math.min(pane.folded ? 1 : this.depths, set.depths); depth++) {
      const top = pane.top + 2 + depth * this.band;
      if (top + this.band < pane.clipTop || top > pane.clipBottom) continue;
      const tree = set.trees[depth]!;
      tree.visit(
        from, to, 26 / scale,
        (at, start, end) => {
          const left = (Math.max(start, from) - from) * scale;
          const right = (Math.min(end, to) - from) * scale;
          if (right - left < 26) return;
          const item = tree.items[at]!;
          const count = set.events(item);
          const words = this.options.words?.(set, item) ?? (count > 1 ? `${count.toLocaleString('en-US')} × ${set.label(item)} …` : set.label(item));
          const text = fitted(words, right - left - 8);
          if (!text) return;
          const dim = marked && !marked[set.spans.label[item]!];
          context.globalAlpha = dim ? 0.5 : 1;
          context.fillStyle = dim ? pane.theme.ink : '#161b24';
          context.fillText(text, left + 4, top + this.band / 2, right - left - 6);
        },
        () => undefined,
      );
      context.globalAlpha = 1;
    }
  }

  private made(set: SpanSet, span: number): Item {
    return {
      row: this.id,
      key: String(set.id(span)),
      from: set.spans.start[span]!,
      to: set.spans.end[span]!,
      top: 2 + set.depth(span) * this.band,
      height: this.band - 1,
      tip: () => this.options.tip(set, span),
    };
  }

  at(time: number, y: number, reach: number, folded: boolean): Item | null {
    const set = this.set(time, time);
    const depth = Math.floor((y - 2) / this.band);
    const tree = depth >= 0 && depth < (folded ? 1 : this.depths) ? set.trees[depth] : undefined;
    const found = tree ? tree.at(time, reach) : -1;
    return tree && found >= 0 ? this.made(set, tree.items[found]!) : null;
  }

  item(key: string): Item | null {
    const id = Number(key);
    for (const set of [this.detail?.set, this.base]) {
      if (!set || !Number.isInteger(id)) continue;
      const span = set.spans.id ? Array.prototype.indexOf.call(set.spans.id, id) : id;
      if (span >= 0 && span < set.spans.start.length) return this.made(set, span);
    }
    return null;
  }

  mark(needle: string): void {
    if (needle !== this.needle) this.marks = new WeakMap();
    this.needle = needle;
  }

  find(needle: string, most: number): Found {
    const matches: Match[] = [];
    let total = 0;
    if (!needle) return { matches, total };
    const { labels, label, start, end } = this.base.spans;
    const wanted = labels.map((text) => text.toLowerCase().includes(needle));
    for (let at = 0; at < start.length; at++) {
      if (!wanted[label[at]!]) continue;
      total++;
      if (matches.length < most)
        matches.push({ row: this.id, from: start[at]!, to: end[at]!, key: String(this.base.id(at)), text: labels[label[at]!] ?? '' });
    }
    return { matches, total };
  }
}
