// A line of text that other rows stand under; folding it hides them.
import type { Extent, Item, Pane, Row } from './model';
import { fitted } from './text';

export class HeadingRow implements Row {
  readonly heading = true;
  readonly foldable = true;
  readonly note?: string;
  readonly parent?: string;

  constructor(
    readonly id: string,
    readonly name: string,
    note?: string,
    parent?: string,
  ) {
    if (note !== undefined) this.note = note;
    if (parent !== undefined) this.parent = parent;
  }

  height(): number {
    return 26;
  }

  extent(): Extent | null {
    return null;
  }

  paint(pane: Pane): void {
    const { raster, ratio } = pane;
    raster.box(0, Math.round(pane.top * ratio), raster.width, Math.round((pane.top + pane.height) * ratio), pane.theme.band);
  }

  draw(pane: Pane): void {
    if (!this.note) return;
    const { context } = pane;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = pane.theme.soft;
    context.fillText(fitted(this.note, pane.width - 16), 8, pane.top + pane.height / 2);
  }

  at(): Item | null {
    return null;
  }
}
