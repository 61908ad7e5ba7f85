// Spans that do not overlap, in order, with sums of 16 at a time: what is narrower than a pixel is drawn as one.

export const FAN = 16;

interface Level {
  start: Float64Array;
  end: Float64Array;
  /** time covered by spans */
  busy: Float64Array;
  /** the longest span below */
  top: Int32Array;
}

export class SpanTree {
  readonly levels: Level[] = [];

  /** Starts ascend; `items` are the numbers that callers know the spans by. */
  constructor(
    readonly items: Int32Array,
    readonly start: Float64Array,
    readonly end: Float64Array,
  ) {
    const count = items.length;
    const busy = new Float64Array(count);
    for (let at = 0; at < count; at++) busy[at] = Math.max(0, end[at]! - start[at]!);
    let below: Level = { start, end, busy, top: Int32Array.from({ length: count }, (_, at) => at) };
    this.levels.push(below);
    while (below.start.length > FAN) {
      below = joined(below, busy);
      this.levels.push(below);
    }
  }

  /** Visit what overlaps the range: `single` for spans wider than `least` of time or without neighbours, `many` for the rest. */
  visit(
    from: number,
    to: number,
    least: number,
    single: (at: number, start: number, end: number) => void,
    many: (start: number, end: number, busy: number, top: number) => void,
  ): void {
    const walk = (level: number, first: number, last: number): void => {
      const { start, end, busy, top } = this.levels[level]!;
      for (let at = first; at < last; at++) {
        const low = start[at]!;
        const high = end[at]!;
        if (low > to) return;
        if (high < from) continue;
        if (level === 0) single(at, low, high);
        else if (high - low <= least) many(low, high, busy[at]!, top[at]!);
        else walk(level - 1, at * FAN, Math.min(at * FAN + FAN, this.levels[level - 1]!.start.length));
      }
    };
    const top = this.levels.length - 1;
    walk(top, 0, this.levels[top]!.start.length);
  }

  /** The span at a time, or the nearest within reach; -1 if there is none. */
  at(time: number, reach: number): number {
    let low = 0;
    let high = this.start.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.start[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    const before = low - 1;
    if (before >= 0 && this.end[before]! >= time) return before;
    const left = before >= 0 ? time - this.end[before]! : Infinity;
    const right = low < this.start.length ? this.start[low]! - time : Infinity;
    if (Math.min(left, right) > reach) return -1;
    return left <= right ? before : low;
  }
}

function joined(below: Level, lengths: Float64Array): Level {
  const count = Math.ceil(below.start.length / FAN);
  const level: Level = {
    start: new Float64Array(count),
    end: new Float64Array(count),
    busy: new Float64Array(count),
    top: new Int32Array(count),
  };
  for (let at = 0; at < count; at++) {
    const first = at * FAN;
    const last = Math.min(first + FAN, below.start.length);
    let end = -Infinity;
    let busy = 0;
    let top = below.top[first]!;
    for (let child = first; child < last; child++) {
      if (below.end[child]! > end) end = below.end[child]!;
      busy += below.busy[child]!;
      const candidate = below.top[child]!;
      if (lengths[candidate]! > lengths[top]!) top = candidate;
    }
    level.start[at] = below.start[first]!;
    level.end[at] = end;
    level.busy[at] = busy;
    level.top[at] = top;
  }
  return level;
}
