// Instant events as flags on sticks; where they stand closer than a few pixels, one flag says how many.
import { type Extent, type Found, type Item, type Match, type Pane, type Row, type Tip } from './model';
import { fitted } from './text';
import { HUES, hue } from './theme';

export interface Instants {
  time: Float64Array;
  label: ArrayLike<number>;
  labels: string[];
  /** numbers that last, and how many events each stands for; missing means the place, and one */
  id?: ArrayLike<number>;
  events?: ArrayLike<number>;
}

const APART = 7;

export class FlagRow implements Row {
  readonly note?: string;
  readonly parent?: string;
  private matched: Uint8Array | null = null;
  private needle = '';

  constructor(
    readonly id: string,
    readonly name: string,
    private events: Instants,
    private readonly tipOf: (event: number) => Tip,
    more: { parent?: string; note?: string } = {},
  ) {
    if (more.parent !== undefined) this.parent = more.parent;
    if (more.note !== undefined) this.note = more.note;
  }

  height(): number {
    return 26;
  }

  extent(): Extent | null {
    const { time } = this.events;
    return time.length ? { from: time[0]!, to: time[time.length - 1]! } : null;
  }

  paint(): void {}

  private after(time: number): number {
    const times = this.events.time;
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  draw(pane: Pane): void {
    const { context, from, to, scale, theme } = pane;
    const { time, label, labels } = this.events;
    context.font = '10.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    let at = this.after(from - APART / scale);
    while (at < time.length && time[at]! <= to) {
      const x = (time[at]! - from) * scale;
      const next = Math.max(at + 1, this.after(time[at]! + APART / scale));
      const room = (next < time.length ? (time[next]! - from) * scale : pane.width) - x;
      let wanted = at;
      if (this.matched) for (let seen = at; seen < Math.min(next, at + 64); seen++) if (this.matched[label[seen]!]) wanted = seen;
      const dim = this.matched !== null && !this.matched[label[wanted]!];
      context.globalAlpha = dim ? 0.3 : 1;
      context.strokeStyle = theme.soft;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, pane.top + 8);
      context.lineTo(x, pane.top + 24);
      context.stroke();
      context.fillStyle = HUES[hue(labels[label[wanted]!] ?? '')]!;
      context.beginPath();
      context.moveTo(x - 5, pane.top + 7);
      context.lineTo(x, pane.top + 2);
      context.lineTo(x + 5, pane.top + 7);
      context.lineTo(x, pane.top + 12);
      context.closePath();
      context.fill();
      context.stroke();
      let count = 0;
      for (let seen = at; seen < next; seen++) count += this.events.events ? this.events.events[seen]! : 1;
      const words = count > 1 ? `${count.toLocaleString('en-US')} events` : (labels[label[at]!] ?? '');
      const text = room > 40 ? fitted(words, room - 14) : '';
      if (text) {
        context.fillStyle = theme.ink;
        context.fillText(text, x + 8, pane.top + 10);
      }
      context.globalAlpha = 1;
      at = next;
    }
  }

  private made(event: number): Item {
    const time = this.events.time[event]!;
    return { row: this.id, key: String(this.events.id ? this.events.id[event]! : event), from: time, to: time, top: 1, height: 24, tip: () => this.tipOf(event) };
  }

  at(time: number, _y: number, reach: number): Item | null {
    const { time: times } = this.events;
    const after = this.after(time);
    const left = after > 0 ? time - times[after - 1]! : Infinity;
    const right = after < times.length ? times[after]! - time : Infinity;
    if (Math.min(left, right) > 2 * reach) return null;
    return this.made(left < right ? after - 1 : after);
  }

  item(key: string): Item | null {
    const id = Number(key);
    const event = this.events.id ? Array.prototype.indexOf.call(this.events.id, id) : id;
    return Number.isInteger(event) && event >= 0 && event < this.events.time.length ? this.made(event) : null;
  }

  /** Other events: those of a part of the time, more exact. */
  show(events: Instants): void {
    this.events = events;
    this.mark(this.needle);
  }

  mark(needle: string): void {
    this.needle = needle;
    this.matched = needle ? Uint8Array.from(this.events.labels, (text) => (text.toLowerCase().includes(needle) ? 1 : 0)) : null;
  }

  find(needle: string, most: number): Found {
    if (!needle) return { matches: [], total: 0 };
    const { labels, label, time } = this.events;
    const matched = labels.map((text) => text.toLowerCase().includes(needle));
    const matches: Match[] = [];
    let total = 0;
    for (let at = 0; at < time.length; at++) {
      if (!matched[label[at]!]) continue;
      total++;
      if (matches.length < most)
        matches.push({ row: this.id, from: time[at]!, to: time[at]!, key: String(this.events.id ? this.events.id[at]! : at), text: labels[label[at]!] ?? '' });
    }
    return { matches, total };
  }
}
