// What one IPU does in a run: steps that follow each other, with sums of 16 at a time, and steps loaded where they are looked at.

/** Entries of one level, in order; the four sums are cycles of compute, exchange, waiting and stream copies. */
export interface LaneLevel {
  start: Float64Array;
  end: Float64Array;
  sums: [Float64Array, Float64Array, Float64Array, Float64Array];
}

/** Steps from `first` on; all arrays are of one length. */
export interface Steps {
  first: number;
  start: Float64Array;
  cycles: Float64Array;
  /** number in KINDS */
  kind: Uint8Array;
  program: Int32Array;
  computeSet: Int32Array;
  /** of steps that a page brings along: what tables need besides */
  more?: { mean: Float64Array; bytesIn: Float64Array; bytesOut: Float64Array };
}

export const FAN = 16;
export const CHUNK = 2048;
const AT_ONCE = 4;
const KEPT = 600;

export interface StepStore {
  /** the steps around a row, or null while (or because) they are not here */
  get(row: number): Steps | null;
  /** how many requests are under way or wait */
  readonly waiting: number;
}

/** Steps that a page brings along: pieces of rows that follow each other. */
export class KeptSteps implements StepStore {
  readonly waiting = 0;

  constructor(readonly pieces: Steps[]) {}

  get(row: number): Steps | null {
    let low = 0;
    let high = this.pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.pieces[middle]!.first <= row) low = middle + 1;
      else high = middle;
    }
    const found = this.pieces[low - 1];
    return found && row < found.first + found.start.length ? found : null;
  }
}

/** Steps by chunks of `CHUNK` rows, newest wish first, a few requests at a time, the longest unused forgotten. */
export class LoadedSteps implements StepStore {
  private readonly kept = new Map<number, Steps>();
  private readonly missing = new Set<number>();
  private wishes: number[] = [];
  private running = new Set<number>();

  constructor(
    private readonly load: (first: number, rows: number) => Promise<Steps>,
    private readonly changed: () => void,
  ) {}

  get(row: number): Steps | null {
    const chunk = Math.floor(row / CHUNK);
    const found = this.kept.get(chunk);
    if (found) return found;
    if (!this.running.has(chunk) && !this.missing.has(chunk)) {
      const at = this.wishes.indexOf(chunk);
      if (at >= 0) this.wishes.splice(at, 1);
      this.wishes.push(chunk);
      if (this.wishes.length > 256) this.wishes.shift();
      this.next();
    }
    return null;
  }

  get waiting(): number {
    return this.running.size + this.wishes.length;
  }

  private next(): void {
    while (this.running.size < AT_ONCE && this.wishes.length) {
      const chunk = this.wishes.pop()!;
      this.running.add(chunk);
      this.load(chunk * CHUNK, CHUNK)
        .then((steps) => {
          if (steps.start.length) this.kept.set(chunk, steps);
          else this.missing.add(chunk);
          for (const old of this.kept.keys()) {
            if (this.kept.size <= KEPT) break;
            this.kept.delete(old);
          }
        })
        .catch(() => this.missing.add(chunk))
        .finally(() => {
          this.running.delete(chunk);
          this.changed();
          this.next();
        });
    }
  }
}

export interface LaneData {
  /** row of the first step in the frame of steps */
  first: number;
  steps: number;
  cycles: number;
  /** from the finest that is here upwards; empty until they are loaded */
  levels: LaneLevel[];
  /** steps that an entry of the finest one covers */
  covers: number;
}
