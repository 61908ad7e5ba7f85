// The part of the time that is shown: zoom, pan, what was typed.
import { clamp, type Clock, type Extent } from './model';

export class Range {
  whole: Extent = { from: 0, to: 1 };
  from = 0;
  to = 1;

  /** `least` is the shortest range that can be shown. */
  constructor(readonly least: number) {}

  get length(): number {
    return this.to - this.from;
  }

  /** Another whole; the range stays if it still lies within. */
  renew(whole: Extent): void {
    const all = this.from === this.whole.from && this.to === this.whole.to;
    this.whole = whole;
    if (all || this.to <= whole.from || this.from >= whole.to) this.show(whole.from, whole.to);
    else this.show(this.from, this.to);
  }

  private fitting(length: number): number {
    const whole = this.whole.to - this.whole.from;
    return clamp(length, Math.min(this.least, whole), whole);
  }

  show(from: number, to: number): void {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return;
    const length = this.fitting(to - from);
    this.from = clamp((from + to) / 2 - length / 2, this.whole.from, this.whole.to - length);
    this.to = this.from + length;
  }

  /** Zoom by a factor, under 1 is closer, around a share of the width. */
  zoom(factor: number, share: number): void {
    const at = this.from + this.length * share;
    const length = this.fitting(this.length * factor);
    this.show(at - length * share, at + length * (1 - share));
  }

  /** Move by a share of the width; more than 0 shows later times. */
  pan(share: number): void {
    const by = this.length * share;
    this.show(this.from + by, this.to + by);
  }

  /** A share of the whole (400 %), a length (3 ms) or a range (1 ms - 3 ms); false if it is none. */
  typed(text: string, clock: Clock): boolean {
    const centre = (this.from + this.to) / 2;
    const around = (length: number): boolean => {
      if (!(length > 0)) return false;
      this.show(centre - length / 2, centre + length / 2);
      return true;
    };
    const percent = /^\s*([\d.,e+]+)\s*%\s*$/i.exec(text);
    if (percent) return around((this.whole.to - this.whole.from) / Math.max(1, Number((percent[1] ?? '').replaceAll(',', '')) / 100));
    const [first, second, more] = text.split(/\s*(?:-|–|\.\.|to)\s*/).map((part) => clock.parse(part));
    if (first === undefined || more !== undefined || !(first >= 0)) return false;
    if (second === undefined) return around(first);
    if (!(second > first)) return false;
    this.show(this.whole.from + first, this.whole.from + second);
    return true;
  }
}
