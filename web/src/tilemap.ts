// Tiles as cells, coloured by what lies on them: one IPU, or all of them side by side. One picture, no node per tile.
import { themed } from './colours';
import type { TipLine } from './elements';
import { el, hideTip, showTip } from './elements';
import { fitted } from './picture';

// A chip is drawn as 16 rows, one for each of its columns of tiles turned on its side, with four tiles of a column after
// each other: tile 0 to 3 in the first row, 4 to 7 in the second. Sources name the columns, not the place of each number.
const COLUMNS = 16,
  TOGETHER = 4;

export function place(tile: number, tiles: number): [number, number] {
  if (tiles < COLUMNS * TOGETHER) return [tile, 0];
  const four = Math.floor(tile / TOGETHER);
  return [Math.floor(four / COLUMNS) * TOGETHER + (tile % TOGETHER), four % COLUMNS];
}

export function grid(tiles: number): [number, number] {
  if (tiles < COLUMNS * TOGETHER) return [Math.max(1, tiles), 1];
  return [Math.ceil(tiles / (COLUMNS * TOGETHER)) * TOGETHER, COLUMNS];
}

export interface TileMapOptions {
  label: string;
  ipus: number[]; // which to draw
  tiles: number;
  colour(ipu: number, tile: number): [number, number, number];
  tip(ipu: number, tile: number): [string, TipLine[]];
  onselect(
    ipu: number,
    first: number,
    last: number,
    event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean },
  ): void;
}

export class TileMap {
  readonly canvas = el('canvas', { 'aria-hidden': 'true' });
  readonly element: HTMLElement;
  selected = new Set<number>(); // tiles of `selectedIpu`
  selectedIpu = -1;
  private picture: HTMLCanvasElement | null = null;
  private across = 1;
  private cell: [number, number] = [1, 1];
  private hover: [number, number] | null = null;
  private from: [number, number] | null = null;

  constructor(private readonly options: TileMapOptions) {
    this.element = el(
      'div',
      { class: 'chart tilemap', tabindex: '0', role: 'img', 'aria-label': options.label },
      this.canvas,
    );
    const box = this.element;
    box.addEventListener('pointermove', (event) => {
      this.point(this.at(event), event.clientX, event.clientY);
    });
    box.addEventListener('pointerleave', () => this.point(null));
    box.addEventListener('blur', () => this.point(null));
    box.addEventListener('pointerdown', (event) => {
      this.from = this.at(event);
    });
    box.addEventListener('pointerup', (event) => {
      const from = this.from,
        to = this.at(event);
      this.from = null;
      if (from && to && from[0] === to[0])
        this.options.onselect(from[0], Math.min(from[1], to[1]), Math.max(from[1], to[1]), event);
    });
    box.addEventListener('keydown', (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: TOGETHER, ArrowUp: -TOGETHER }[event.key];
      if (by) {
        const [ipu, tile] = this.hover ?? [this.options.ipus[0] as number, 0 - by];
        const next = Math.max(0, Math.min(this.options.tiles - 1, tile + by));
        const area = this.canvas.getBoundingClientRect(),
          [x, y] = this.corner(ipu, next);
        this.point([ipu, next], area.left + x + 10, area.top + y + 10);
      } else if (event.key === 'Enter' && this.hover)
        this.options.onselect(this.hover[0], this.hover[1], this.hover[1], event);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  // colours of all tiles, one pixel each
  private painted(): HTMLCanvasElement {
    const { ipus, tiles } = this.options;
    const [columns, rows] = grid(tiles);
    const made = document.createElement('canvas');
    made.width = columns;
    made.height = rows * ipus.length;
    const pen = made.getContext('2d');
    if (!pen) return made;
    const image = pen.createImageData(made.width, made.height);
    ipus.forEach((ipu, number) => {
      for (let tile = 0; tile < tiles; tile++) {
        const [x, y] = place(tile, tiles),
          to = 4 * ((number * rows + y) * columns + x);
        const [red, green, blue] = this.options.colour(ipu, tile);
        image.data[to] = red;
        image.data[to + 1] = green;
        image.data[to + 2] = blue;
        image.data[to + 3] = 255;
      }
    });
    pen.putImageData(image, 0, 0);
    return made;
  }

  refresh(): void {
    this.picture = null;
    this.draw();
  }

  draw(): void {
    const { ipus, tiles } = this.options;
    const width = Math.max(280, this.element.clientWidth);
    const [columns, rows] = grid(tiles);
    const one = ipus.length === 1;
    this.across = one
      ? 1
      : Math.max(
          1,
          Math.min(ipus.length, Math.floor(width / Math.max(96, columns + 6)), Math.ceil(Math.sqrt(ipus.length * 1.3))),
        );
    const wide = width / this.across - (one ? 0 : 8);
    const cellWide = wide / columns;
    this.cell = [cellWide, one ? Math.max(4, Math.min(14, cellWide * 1.2)) : Math.max(1, Math.min(5, cellWide * 1.4))];
    const title = one ? 0 : 14;
    const height = Math.ceil(ipus.length / this.across) * (rows * this.cell[1] + title + (one ? 0 : 6));
    const pen = fitted(this.canvas, width, height);
    const picture = (this.picture ??= this.painted());
    pen.imageSmoothingEnabled = false;
    ipus.forEach((ipu, number) => {
      const [x, y] = this.corner(ipu, 0, true);
      pen.drawImage(picture, 0, number * rows, columns, rows, x, y, wide, rows * this.cell[1]);
      if (!one) {
        pen.fillStyle = themed('--soft');
        pen.font = '11px system-ui, sans-serif';
        pen.textAlign = 'left';
        pen.fillText(`IPU ${ipu}`, x, y - 7);
      } else if (this.cell[0] >= 5) {
        pen.strokeStyle = themed('--card');
        pen.lineWidth = 0.5;
        pen.beginPath();
        for (let c = TOGETHER; c < columns; c += TOGETHER) {
          pen.moveTo(c * this.cell[0], 0);
          pen.lineTo(c * this.cell[0], height);
        }
        for (let r = 1; r < rows; r++) {
          pen.moveTo(0, r * this.cell[1]);
          pen.lineTo(wide, r * this.cell[1]);
        }
        pen.stroke();
      }
    });
    const frame = (ipu: number, tile: number, colour: string, line: number) => {
      const [x, y] = this.corner(ipu, tile);
      pen.strokeStyle = colour;
      pen.lineWidth = line;
      pen.strokeRect(x - 0.5, y - 0.5, this.cell[0] + 1, this.cell[1] + 1);
    };
    if (this.options.ipus.includes(this.selectedIpu)) {
      for (const tile of this.selected) {
        frame(this.selectedIpu, tile, themed('--card'), 4);
        frame(this.selectedIpu, tile, themed('--ink'), 2);
      }
    }
    if (this.hover) frame(this.hover[0], this.hover[1], themed('--ink'), 1.5);
  }

  // the corner of a tile, or of its IPU
  private corner(ipu: number, tile: number, ofIpu = false): [number, number] {
    const number = this.options.ipus.indexOf(ipu),
      one = this.options.ipus.length === 1;
    const [columns, rows] = grid(this.options.tiles);
    const wide = columns * this.cell[0] + (one ? 0 : 8),
      high = rows * this.cell[1] + (one ? 0 : 20);
    const x = (number % this.across) * wide,
      y = Math.floor(number / this.across) * high + (one ? 0 : 14);
    if (ofIpu) return [x, y];
    const [c, r] = place(tile, this.options.tiles);
    return [x + c * this.cell[0], y + r * this.cell[1]];
  }

  private at(event: PointerEvent): [number, number] | null {
    const area = this.canvas.getBoundingClientRect();
    const { ipus, tiles } = this.options;
    const [columns, rows] = grid(tiles),
      one = ipus.length === 1;
    const wide = columns * this.cell[0] + (one ? 0 : 8),
      high = rows * this.cell[1] + (one ? 0 : 20);
    const px = event.clientX - area.left,
      py = event.clientY - area.top;
    const number = Math.floor(py / high) * this.across + Math.floor(px / wide);
    const ipu = ipus[number];
    if (ipu === undefined || px < 0 || py < 0) return null;
    const [x, y] = this.corner(ipu, 0, true);
    const c = Math.floor((px - x) / this.cell[0]),
      r = Math.floor((py - y) / this.cell[1]);
    if (c < 0 || r < 0 || c >= columns || r >= rows) return null;
    const tile = rows === 1 ? c : Math.floor(c / TOGETHER) * COLUMNS * TOGETHER + r * TOGETHER + (c % TOGETHER);
    return tile < tiles ? [ipu, tile] : null;
  }

  private point(at: [number, number] | null, x = 0, y = 0): void {
    this.hover = at;
    this.draw();
    if (!at) {
      hideTip();
      return;
    }
    const [title, lines] = this.options.tip(at[0], at[1]);
    showTip(x, y, title, lines);
  }
}
