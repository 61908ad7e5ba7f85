// A search in a timeline: matches in the order of time, visited one after the other.
import type { Found, Match, Row } from './model';

const MOST_MATCHES = 5000;

export class Search {
  matches: Match[] = [];
  total = 0;
  at = -1;
  private turn = 0;

  /** `ask` answers for all rows at once; without it each row is asked. */
  constructor(private readonly ask?: (needle: string, most: number) => Promise<Found>) {}

  /** Look for a text; false if another search began meanwhile. */
  async look(text: string, rows: readonly Row[]): Promise<boolean> {
    const needle = text.trim().toLowerCase().slice(0, 200);
    const turn = ++this.turn;
    this.matches = [];
    this.total = 0;
    this.at = -1;
    for (const row of rows) row.mark?.(needle);
    if (!needle) return true;
    const found = await (this.ask ? this.ask(needle, MOST_MATCHES) : asked(needle, rows)).catch((): Found => ({ matches: [], total: 0 }));
    if (turn !== this.turn) return false;
    this.matches = found.matches;
    this.total = found.total;
    return true;
  }

  /** The next match, or the one before; the first is the first at or after a time. */
  next(by: number, from: number): Match | null {
    const count = this.matches.length;
    if (!count) return null;
    if (this.at < 0) {
      const first = this.matches.findIndex((match) => match.to >= from);
      this.at = by > 0 ? Math.max(0, first) : (Math.max(0, first) + count - 1) % count;
    } else this.at = (this.at + by + count) % count;
    return this.matches[this.at] ?? null;
  }
}

async function asked(needle: string, rows: readonly Row[]): Promise<Found> {
  const all: Found = { matches: [], total: 0 };
  for (const row of rows) {
    if (!row.find) continue;
    const found = await row.find(needle, MOST_MATCHES - all.matches.length);
    all.matches.push(...found.matches);
    all.total += found.total;
  }
  all.matches.sort((one, other) => one.from - other.from);
  return all;
}
