// Cycles by module as boxes: a module below the one around it, as wide as its share. A click enlarges.
import { hue } from './colours';
import { button, el, hideTip, showTip } from './elements';
import { percent, shortened, whole } from './format';
import { cutText, fitted } from './picture';

// name, parent, cycles of forward, backward and the rest, ops
export type ModuleRow = [string, number, number, number, number, number];

interface Box {
  id: number;
  level: number;
  x: number;
  wide: number;
}
const HIGH = 24;

export class Flame {
  readonly canvas = el('canvas', { 'aria-hidden': 'true' });
  readonly element: HTMLElement;
  private readonly kids: number[][];
  private readonly cycles: number[];
  private boxes: Box[] = [];
  private top = 0;
  private hover = -1;
  private readonly back: HTMLButtonElement;

  constructor(private readonly rows: ModuleRow[]) {
    this.kids = rows.map(() => []);
    rows.forEach((row, id) => {
      if (row[1] >= 0) this.kids[row[1]]?.push(id);
    });
    this.cycles = rows.map((row) => row[2] + row[3] + row[4]);
    const box = el(
      'div',
      {
        class: 'chart',
        tabindex: '0',
        role: 'img',
        'aria-label': 'Cycles by module; choose a layer above for the same figures as a table',
      },
      this.canvas,
    );
    this.back = button('Back to all', () => this.zoom(0), { class: 'small', disabled: true });
    this.element = el(
      'div',
      {},
      box,
      el(
        'div',
        { class: 'controls key' },
        this.back,
        el('span', { class: 'label', text: 'Click a box to enlarge it.' }),
      ),
    );
    const at = (event: PointerEvent | MouseEvent) => {
      const area = this.canvas.getBoundingClientRect(),
        x = event.clientX - area.left,
        level = Math.floor((event.clientY - area.top) / HIGH);
      return this.boxes.find((each) => each.level === level && x >= each.x && x < each.x + each.wide);
    };
    box.addEventListener('pointermove', (event) => this.point(at(event)?.id ?? -1, event.clientX, event.clientY));
    box.addEventListener('pointerleave', () => this.point(-1, 0, 0));
    box.addEventListener('click', (event) => {
      const found = at(event);
      if (found) this.zoom(found.id);
    });
    box.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.top) {
        event.stopPropagation();
        this.zoom(0);
      }
    });
  }

  private path(id: number): string[] {
    const found: string[] = [];
    for (let at = id; at > 0; at = (this.rows[at] as ModuleRow)[1]) found.unshift((this.rows[at] as ModuleRow)[0]);
    return found;
  }

  private zoom(id: number): void {
    this.top = id;
    this.back.disabled = id === 0;
    hideTip();
    this.draw();
  }

  private point(id: number, x: number, y: number): void {
    if (id !== this.hover) {
      this.hover = id;
      this.draw();
    }
    const row = this.rows[id];
    if (!row) {
      hideTip();
      return;
    }
    showTip(x, y, id ? this.path(id).join('.') : 'all ops and the host', [
      ['cycles of work', whole(this.cycles[id] as number)],
      ['of all', percent(this.cycles[id] as number, this.cycles[0] as number)],
      ['forward', whole(row[2])],
      ['backward', whole(row[3])],
      ['update, host and rest', whole(row[4])],
      ['ops', whole(row[5])],
    ]);
  }

  draw(): void {
    if (!this.rows.length) return;
    const width = Math.max(280, (this.canvas.parentElement as HTMLElement).clientWidth);
    this.boxes = [];
    let deepest = 0;
    const put = (id: number, level: number, x: number, wide: number) => {
      if (wide < 1 || level > 24) return;
      deepest = Math.max(deepest, level);
      this.boxes.push({ id, level, x, wide });
      const all = this.cycles[id] as number;
      for (const kid of this.kids[id] as number[]) {
        const part = all ? (wide * (this.cycles[kid] as number)) / all : 0;
        put(kid, level + 1, x, part);
        x += part;
      }
    };
    put(this.top, 0, 0, width);
    const pen = fitted(this.canvas, width, (deepest + 1) * HIGH);
    for (const { id, level, x, wide } of this.boxes) {
      pen.fillStyle = id ? hue(id) : '#c3cad6';
      pen.globalAlpha = id === this.hover ? 0.75 : 1;
      pen.fillRect(x, level * HIGH, Math.max(0.5, wide - 1), HIGH - 1);
      pen.globalAlpha = 1;
      if (wide > 22) {
        pen.fillStyle = '#14181f';
        pen.fillText(
          cutText(pen, shortened(id ? (this.rows[id] as ModuleRow)[0] : 'all ops and the host', 200), wide - 9),
          x + 5,
          level * HIGH + HIGH / 2,
        );
      }
    }
  }
}
