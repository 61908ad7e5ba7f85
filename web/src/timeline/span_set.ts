// Spans of a row by depth, ready to be painted: colours by number and a tree for each depth.
import { SpanTree } from './span_tree';
import { HUES, hue, pixel } from './theme';

export interface Spans {
  start: Float64Array;
  end: Float64Array;
  /** 0 is outermost; missing means all 0; spans of one depth do not overlap and ascend */
  depth?: ArrayLike<number>;
  /** number in `labels` */
  label: ArrayLike<number>;
  labels: string[];
  /** number in `colours`; missing means by label */
  colour?: ArrayLike<number>;
  colours?: string[];
  /** numbers that last when other spans are loaded; missing means the place */
  id?: ArrayLike<number>;
  /** how many events it stands for, and the time they cover; missing means one */
  events?: ArrayLike<number>;
  busy?: ArrayLike<number>;
}

export class SpanSet {
  readonly depths: number;
  readonly trees: SpanTree[] = [];
  readonly pixels: Uint32Array;
  readonly colourOf: ArrayLike<number>;

  constructor(readonly spans: Spans) {
    const count = spans.start.length;
    const sizes: number[] = [];
    const depthOf = (at: number) => (spans.depth ? spans.depth[at]! : 0);
    for (let at = 0; at < count; at++) sizes[depthOf(at)] = (sizes[depthOf(at)] ?? 0) + 1;
    this.depths = Math.max(1, sizes.length);
    const items = Array.from({ length: this.depths }, (_, depth) => new Int32Array(sizes[depth] ?? 0));
    const filled = new Int32Array(this.depths);
    for (let at = 0; at < count; at++) {
      const depth = depthOf(at);
      items[depth]![filled[depth]!++] = at;
    }
    for (const list of items) {
      const start = new Float64Array(list.length);
      const end = new Float64Array(list.length);
      for (let at = 0; at < list.length; at++) {
        start[at] = spans.start[list[at]!]!;
        end[at] = spans.end[list[at]!]!;
      }
      this.trees.push(new SpanTree(list, start, end));
    }
    if (spans.colour && spans.colours) {
      this.pixels = Uint32Array.from(spans.colours, pixel);
      this.colourOf = spans.colour;
    } else {
      this.pixels = Uint32Array.from(HUES, pixel);
      const table = spans.labels.map(hue);
      this.colourOf = Int32Array.from({ length: count }, (_, at) => table[spans.label[at]!] ?? 0);
    }
  }

  label(span: number): string {
    return this.spans.labels[this.spans.label[span]!] ?? '';
  }

  id(span: number): number {
    return this.spans.id ? this.spans.id[span]! : span;
  }

  depth(span: number): number {
    return this.spans.depth ? this.spans.depth[span]! : 0;
  }

  events(span: number): number {
    return this.spans.events ? this.spans.events[span]! : 1;
  }

  /** How much of it is covered, 0 to 1: less than 1 only for blocks of several events. */
  dense(span: number): number {
    if (!this.spans.busy || this.events(span) <= 1) return 1;
    const length = this.spans.end[span]! - this.spans.start[span]!;
    return length > 0 ? Math.min(1, this.spans.busy[span]! / length) : 1;
  }

  range(): [number, number] {
    let from = Infinity;
    let to = -Infinity;
    for (const tree of this.trees) {
      const level = tree.levels[tree.levels.length - 1]!;
      for (let at = 0; at < level.start.length; at++) {
        from = Math.min(from, level.start[at]!);
        to = Math.max(to, level.end[at]!);
      }
    }
    return [from, to];
  }
}
