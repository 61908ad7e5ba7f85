// A BSP lane: red compute, blue exchange, yellow waiting, in each pixel in proportion; single steps where there is room.
import { FAN, type LaneData, type Steps, type StepStore } from './lane';
import type { Extent, Found, Item, Pane, Row, Tip } from './model';
import { fitted, fittedEnd } from './text';
import { KIND_COLOURS, KINDS, pixel } from './theme';

export interface LaneOptions {
  id: string;
  name: string;
  note?: string;
  parent?: string;
  /** added to all times, and a factor before: runs follow each other, two chips share one scale */
  offset: number;
  factor: number;
  /** height in pixels */
  tall: number;
  /** name of a step, empty while it is not known */
  label(steps: Steps, at: number): string;
  stepTip(steps: Steps, at: number, label: string): Tip;
  /** several steps together: cycles by kind */
  groupTip(count: number, from: number, to: number, sums: number[]): Tip;
  find?(needle: string, most: number): Promise<Found>;
}

/** Device pixels that 16 steps take before they are looked at one by one. */
const ENTER = 8;
const NODE = 4;
const PIXELS = Uint32Array.from(KIND_COLOURS, pixel);
const INK = ['#ffffff', '#10202c', '#2b2410', '#ffffff', '#ffffff'];

export class LaneRow implements Row {
  readonly id: string;
  readonly name: string;
  readonly note?: string;
  readonly parent?: string;
  readonly foldable = true;
  readonly sketched = true;
  store: StepStore;
  /** kinds in bands of their own */
  split = false;
  private sums: Float32Array[] = [];

  constructor(
    readonly lane: LaneData,
    store: StepStore,
    readonly options: LaneOptions,
  ) {
    this.store = store;
    this.id = options.id;
    this.name = options.name;
    if (options.note !== undefined) this.note = options.note;
    if (options.parent !== undefined) this.parent = options.parent;
  }

  height(folded: boolean): number {
    return folded ? 12 : this.split ? 64 : this.options.tall;
  }

  extent(): Extent | null {
    return { from: this.options.offset, to: this.options.offset + this.lane.cycles * this.options.factor };
  }

  /** Visit what overlaps the range of the lane's own times: steps one by one where 16 of them are wider than `least`. */
  private visit(
    from: number,
    to: number,
    least: number,
    step: (steps: Steps, at: number) => void,
    group: (level: number, at: number) => void,
  ): void {
    const { levels, first, steps: count } = this.lane;
    const walk = (level: number, begin: number, end: number): void => {
      const { start, end: ends } = levels[level]!;
      for (let at = begin; at < end; at++) {
        if (start[at]! > to) return;
        if (ends[at]! < from) continue;
        if (ends[at]! - start[at]! <= least) group(level, at);
        else if (level > 0) walk(level - 1, at * FAN, Math.min(at * FAN + FAN, levels[level - 1]!.start.length));
        else if (this.lane.covers !== FAN || !this.leaves(first + at * FAN, first + Math.min(at * FAN + FAN, count), from, to, step)) group(0, at);
      }
    };
    const top = levels.length - 1;
    if (top >= 0) walk(top, 0, levels[top]!.start.length);
  }

  private leaves(begin: number, end: number, from: number, to: number, step: (steps: Steps, at: number) => void): boolean {
    const low = this.store.get(begin);
    const high = this.store.get(end - 1);
    if (!low || !high) return false;
    for (let row = begin; row < end; row++) {
      const steps = row - low.first < low.start.length ? low : high;
      const at = row - steps.first;
      if (at < 0 || at >= steps.start.length) return false;
      if (steps.start[at]! > to) break;
      if (steps.start[at]! + steps.cycles[at]! >= from) step(steps, at);
    }
    return true;
  }

  paint(pane: Pane): void {
    const { raster, ratio } = pane;
    const { offset, factor } = this.options;
    const width = raster.width;
    while (this.sums.length < KINDS.length) this.sums.push(new Float32Array(width));
    this.sums.forEach((sum, kind) => {
      if (sum.length === width) sum.fill(0);
      else this.sums[kind] = new Float32Array(width);
    });
    const scale = pane.scale * ratio * factor;
    const from = (pane.from - offset) / factor;
    const to = (pane.to - offset) / factor;
    const add = (kind: number, start: number, end: number, cycles: number) => {
      if (cycles <= 0 || end <= start) return;
      const low = Math.max(0, (start - from) * scale);
      const high = Math.min(width, (end - from) * scale);
      const dense = cycles / (end - start);
      const sum = this.sums[kind]!;
      const last = Math.min(width - 1, Math.floor(high));
      for (let x = Math.floor(low); x <= last; x++) sum[x]! += dense * (Math.min(high, x + 1) - Math.max(low, x));
    };
    this.visit(
      from, to, ENTER / scale,
      (steps, at) => add(steps.kind[at]!, steps.start[at]!, steps.start[at]! + steps.cycles[at]!, steps.cycles[at]!),
      (level, at) => {
        const { start, end, sums } = this.lane.levels[level]!;
        for (let kind = 0; kind < 4; kind++) add(kind, start[at]!, end[at]!, sums[kind]![at]!);
      },
    );
    const top = Math.round((pane.top + 2) * ratio);
    const bottom = Math.round((pane.top + pane.height - 2) * ratio);
    if (this.split && !pane.folded) this.bands(pane, top, bottom);
    else this.stacked(pane, top, bottom);
  }

  private stacked(pane: Pane, top: number, bottom: number): void {
    const { raster } = pane;
    const high = bottom - top;
    const width = raster.width;
    const sums = this.sums;
    for (let x = 0; x < width; ) {
      let whole = -1;
      let filled = 0;
      for (let kind = 0; kind < sums.length; kind++) {
        const value = sums[kind]![x]!;
        filled += value;
        if (value > 0.98) whole = kind;
      }
      if (filled <= 0.001) {
        x++;
        continue;
      }
      if (whole >= 0) {
        // one step over many pixels is one box
        let end = x + 1;
        while (end < width && sums[whole]![end]! > 0.98) end++;
        raster.box(x, top, end, bottom, PIXELS[whole]!);
        x = end;
        continue;
      }
      // compute stands on the ground, so that its height is easy to follow
      let y = bottom;
      let below = 0;
      for (let kind = 0; kind < sums.length; kind++) {
        const value = sums[kind]![x]!;
        if (value <= 0) continue;
        below += value;
        const upper = bottom - Math.round((high * Math.min(filled, below)) / Math.max(filled, 1));
        raster.box(x, upper, x + 1, y, PIXELS[kind]!);
        y = upper;
      }
      x++;
    }
  }

  private bands(pane: Pane, top: number, bottom: number): void {
    const { raster } = pane;
    const high = (bottom - top) / 4;
    for (let kind = 0; kind < this.sums.length; kind++) {
      // exchange between IPUs shares the band of exchange
      const band = kind === 4 ? 1 : kind;
      const floor = Math.round(top + high * (band + 1)) - 1;
      const sum = this.sums[kind]!;
      for (let x = 0; x < raster.width; ) {
        if (sum[x]! <= 0.001) {
          x++;
          continue;
        }
        const tall = Math.max(1, Math.round((high - 2) * Math.min(1, sum[x]!)));
        let end = x + 1;
        while (end < raster.width && Math.max(1, Math.round((high - 2) * Math.min(1, sum[end]!))) === tall && sum[end]! > 0.001) end++;
        raster.box(x, floor - tall, end, floor, PIXELS[kind]!);
        x = end;
      }
    }
  }

  draw(pane: Pane): void {
    if (pane.folded) return;
    const { context } = pane;
    const { offset, factor } = this.options;
    const scale = pane.scale * factor;
    const from = (pane.from - offset) / factor;
    const to = (pane.to - offset) / factor;
    // 16 steps in fewer pixels than this have no room for a name or a line between them
    const least = 48 / scale;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const band = (pane.height - 4) / 4;
    this.visit(
      from, to, least,
      (steps, at) => {
        const left = (Math.max(steps.start[at]!, from) - from) * scale;
        const right = (Math.min(steps.start[at]! + steps.cycles[at]!, to) - from) * scale;
        const kind = steps.kind[at]!;
        const row = this.split ? (kind === 4 ? 1 : kind) : 0;
        const top = pane.top + 2 + (this.split ? band * row : 0);
        const tall = this.split ? band : pane.height - 4;
        if (right - left >= 3) {
          context.fillStyle = pane.theme.ground;
          context.fillRect(right - 0.75, top, 0.75, tall);
        }
        if (right - left < 34 || tall < 11) return;
        const name = this.options.label(steps, at);
        // of a path, the end says most
        const text = name.includes('/') ? fittedEnd(name, right - left - 8) : fitted(name, right - left - 8);
        if (!text) return;
        context.fillStyle = INK[kind]!;
        context.fillText(text, left + 4, top + tall / 2 + 0.5, right - left - 6);
      },
      () => undefined,
    );
  }

  private made(steps: Steps, at: number): Item {
    const { offset, factor } = this.options;
    const label = this.options.label(steps, at);
    return {
      row: this.id, key: `s${steps.first + at}`, from: offset + steps.start[at]! * factor,
      to: offset + (steps.start[at]! + steps.cycles[at]!) * factor, top: 2, height: this.height(false) - NODE,
      tip: () => this.options.stepTip(steps, at, label),
    };
  }

  at(time: number, _y: number, reach: number): Item | null {
    const { offset, factor } = this.options;
    const own = (time - offset) / factor;
    // as drawn: single steps only where 16 of them are wide enough (reach is 4 pixels)
    const found: Item[] = [];
    this.visit(
      own, own, ((reach / 4) * ENTER) / factor,
      (steps, at) => found.push(this.made(steps, at)),
      (level, at) => {
        const { start, end, sums } = this.lane.levels[level]!;
        const size = this.lane.covers * FAN ** level;
        const count = Math.min(size, this.lane.steps - at * size);
        const values = sums.map((sum) => sum[at]!);
        found.push({
          row: this.id, key: `g${level}.${at}`, from: offset + start[at]! * factor, to: offset + end[at]! * factor,
          top: 2, height: this.height(false) - NODE, tip: () => this.options.groupTip(count, start[at]!, end[at]!, values),
        });
      },
    );
    return found.find((item) => item.from <= time && item.to > time) ?? found[0] ?? null;
  }

  item(key: string): Item | null {
    const row = /^s\d+$/.test(key) ? Number(key.slice(1)) : NaN;
    if (!(row >= this.lane.first && row < this.lane.first + this.lane.steps)) return null;
    const steps = this.store.get(row);
    const at = steps ? row - steps.first : -1;
    return steps && at >= 0 && at < steps.start.length ? this.made(steps, at) : null;
  }

  find(needle: string, most: number): Found | Promise<Found> {
    return needle && this.options.find ? this.options.find(needle, most) : { matches: [], total: 0 };
  }
}
