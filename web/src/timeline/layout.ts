// Which rows are shown, where, and how high: headings fold their rows away, pinned rows stay on top.
import type { Row } from './model';

export interface Placed {
  row: Row;
  /** from the top of the pinned part, or of the scrolled part */
  top: number;
  height: number;
  folded: boolean;
  pinned: boolean;
  level: number;
}

export class Layout {
  readonly pins: string[] = [];
  readonly folded = new Set<string>();
  pinned: Placed[] = [];
  scrolled: Placed[] = [];
  pinnedHeight = 0;
  height = 0;
  private rows: Row[] = [];
  private byId = new Map<string, Row>();

  set(rows: Row[]): void {
    this.rows = rows;
    this.byId = new Map(rows.map((row) => [row.id, row]));
    this.place();
  }

  get all(): readonly Row[] {
    return this.rows;
  }

  get(id: string): Row | undefined {
    return this.byId.get(id);
  }

  private level(row: Row): number {
    let level = 0;
    for (let up = row.parent; up !== undefined && level < 8; up = this.byId.get(up)?.parent) level++;
    return level;
  }

  private hidden(row: Row): boolean {
    let steps = 0;
    for (let up = row.parent; up !== undefined && steps < 8; up = this.byId.get(up)?.parent, steps++) if (this.folded.has(up)) return true;
    return false;
  }

  place(): void {
    this.pinned = [];
    this.scrolled = [];
    this.pinnedHeight = this.height = 0;
    for (const id of this.pins) {
      const row = this.byId.get(id);
      if (!row) continue;
      const folded = !row.heading && this.folded.has(id);
      const height = row.height(folded);
      this.pinned.push({ row, top: this.pinnedHeight, height, folded, pinned: true, level: 0 });
      this.pinnedHeight += height;
    }
    for (const row of this.rows) {
      if (this.pins.includes(row.id) || this.hidden(row)) continue;
      const folded = this.folded.has(row.id);
      const height = row.height(folded);
      this.scrolled.push({ row, top: this.height, height, folded, pinned: false, level: this.level(row) });
      this.height += height;
    }
  }

  pin(id: string): void {
    const at = this.pins.indexOf(id);
    if (at >= 0) this.pins.splice(at, 1);
    else if (this.byId.has(id)) this.pins.push(id);
    this.place();
  }

  fold(id: string): void {
    if (!this.folded.delete(id)) this.folded.add(id);
    this.place();
  }

  /** Unfold whatever hides a row. */
  reveal(id: string): void {
    const row = this.byId.get(id);
    let steps = 0;
    for (let up = row?.parent; up !== undefined && steps < 8; up = this.byId.get(up)?.parent, steps++) this.folded.delete(up);
    this.place();
  }

  find(id: string): Placed | undefined {
    return this.pinned.find((placed) => placed.row.id === id) ?? this.scrolled.find((placed) => placed.row.id === id);
  }
}
