// Rows on one time axis: range, scrolling, cursor, selection, search. Rows paint themselves; nothing here knows what they mean.
import { listen } from './input';
import { Labels } from './labels';
import { Layout, type Placed } from './layout';
import { clamp, type Area, type Clock, type Extent, type Found, type Item, type Match, type Pane, type Row, type Tip, type TimelineState } from './model';
import { saveImage } from './picture';
import { Raster } from './raster';
import { drawRuler, paintGrid, RULER } from './ruler';
import { Strip } from './strip';
import { calibrate } from './text';
import { onThemeChange, readTheme, type Theme } from './theme';
import { Toolbar } from './toolbar';

export interface TimelineOptions {
  clock: Clock;
  /** what it shows, for those who cannot see it */
  label: string;
  /** the shortest range that can be shown */
  least: number;
  /** name of saved images */
  file: string;
  tip(x: number, y: number, tip: Tip | null): void;
  onpick?(item: Item | null): void;
  onarea?(area: Area | null): void;
  onstate?(state: TimelineState): void;
  /** the range changed: a place to load what it needs */
  onrange?(from: number, to: number, pixels: number): void;
  /** instead of asking the rows */
  search?(needle: string, most: number): Promise<Found>;
}

const MOST_MATCHES = 5000;

export class Timeline {
  readonly node = document.createElement('div');
  readonly bar: Toolbar;
  readonly layout = new Layout();
  private readonly scroller = document.createElement('div');
  private readonly stage = document.createElement('div');
  private readonly space = document.createElement('div');
  private readonly canvas = document.createElement('canvas');
  private readonly status = document.createElement('div');
  private readonly labels: Labels;
  private readonly strip: Strip;
  private readonly raster = new Raster();
  private readonly stops: (() => void)[] = [];
  private theme: Theme;
  private whole: Extent = { from: 0, to: 1 };
  private from = 0;
  private to = 1;
  private width = 1;
  private height = 1;
  private frame = 0;
  private stateTimer = 0;
  private cursor: { x: number; y: number; clientX: number; clientY: number } | null = null;
  private hovered: Item | null = null;
  private picked: Item | null = null;
  /** picked by the address, not here yet */
  private awaited: TimelineState['picked'] = null;
  private area: Area | null = null;
  private matches: Match[] = [];
  private total = 0;
  private matchAt = -1;
  private searchTurn = 0;
  private seen = '';

  constructor(readonly options: TimelineOptions) {
    this.bar = new Toolbar({
      zoom: (factor) => this.zoom(factor),
      all: () => this.show(this.whole.from, this.whole.to),
      typed: (text) => this.typed(text),
      selecting: (on) => this.canvas.classList.toggle('tl-selecting', on),
      search: (text) => this.search(text),
      next: (by) => this.next(by),
      image: () => saveImage(this.canvas, this.labels.node, this.theme, this.options.file),
    });
    this.labels = new Labels((id) => this.fold(id), (id) => this.pin(id));
    this.strip = new Strip(() => this.whole, () => ({ from: this.from, to: this.to }), () => this.options.least, (from, to) => this.show(from, to));
    this.node.className = 'tl';
    this.scroller.className = 'tl-scroll';
    this.stage.className = 'tl-stage';
    this.space.className = 'tl-space';
    this.status.className = 'tl-status';
    this.canvas.className = 'tl-plot';
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-label', `${options.label}. Keys: w and s zoom, a and d move, 0 shows all, n goes to the next match.`);
    const top = document.createElement('div');
    top.className = 'tl-top';
    top.append(this.status, this.strip.canvas);
    this.stage.append(this.labels.node, this.canvas);
    this.scroller.append(this.stage, this.space);
    this.node.append(this.bar.node, top, this.scroller);
    this.theme = readTheme(document.documentElement);
    this.scroller.addEventListener('scroll', () => this.redraw());
    this.listen();
    const sized = new ResizeObserver(() => this.redraw());
    sized.observe(this.scroller);
    this.stops.push(() => sized.disconnect(), onThemeChange(() => this.restyle()));
  }

  private listen(): void {
    listen(this.canvas, {
      zoom: (factor, x) => this.zoom(factor, x),
      pan: (dx) => this.pan(dx),
      scroll: (dy) => (this.scroller.scrollTop += dy),
      hover: (x, y, { clientX, clientY }) => {
        this.cursor = { x, y, clientX, clientY };
        this.redraw();
      },
      leave: () => {
        this.cursor = null;
        this.hovered = null;
        this.options.tip(0, 0, null);
        this.redraw();
      },
      click: (x, y) => this.pick(this.itemAt(x, y)),
      open: (x, y) => {
        const item = this.itemAt(x, y);
        if (item && item.to > item.from) this.reveal(item, 0.8);
      },
      area: (x0, y0, x1, y1, done) => this.drag(x0, y0, x1, y1, done),
      selects: () => this.bar.selecting,
    });
  }

  destroy(): void {
    this.stops.forEach((stop) => stop());
    cancelAnimationFrame(this.frame);
    clearTimeout(this.stateTimer);
    this.options.tip(0, 0, null);
  }

  /** Other rows, on a time from and to; the range stays if it still lies within. */
  setRows(rows: Row[], whole?: Extent): void {
    this.layout.set(rows);
    this.labels.clear();
    let from = Infinity;
    let to = -Infinity;
    for (const row of rows) {
      const extent = whole ? null : row.extent();
      if (!extent) continue;
      from = Math.min(from, extent.from);
      to = Math.max(to, extent.to);
    }
    const before = this.whole;
    const all = this.from === before.from && this.to === before.to;
    this.whole = whole ?? (from < to ? { from, to } : { from: Number.isFinite(from) ? from : 0, to: (Number.isFinite(from) ? from : 0) + 1 });
    this.strip.renew();
    if (all || this.to <= this.whole.from || this.from >= this.whole.to) this.show(this.whole.from, this.whole.to);
    else this.show(this.from, this.to);
    if (this.area) this.area.rows = this.area.rows.filter((id) => this.layout.get(id));
    this.redraw();
  }

  /** Heights changed, or what rows hold. */
  renew(): void {
    this.layout.place();
    this.strip.renew();
    this.redraw();
  }

  private restyle(): void {
    this.theme = readTheme(document.documentElement);
    this.strip.renew();
    this.redraw();
  }

  get range(): Extent {
    return { from: this.from, to: this.to };
  }

  get all(): Extent {
    return this.whole;
  }

  get pickedItem(): Item | null {
    return this.picked;
  }

  show(from: number, to: number): void {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return;
    const whole = this.whole.to - this.whole.from;
    const length = clamp(to - from, Math.min(this.options.least, whole), whole);
    const begin = clamp((from + to) / 2 - length / 2, this.whole.from, this.whole.to - length);
    this.from = begin;
    this.to = begin + length;
    this.changed();
  }

  zoom(factor: number, x = this.cursor ? this.cursor.x : this.width / 2): void {
    const at = this.from + ((this.to - this.from) * clamp(x, 0, this.width)) / this.width;
    const whole = this.whole.to - this.whole.from;
    const length = clamp((this.to - this.from) * factor, Math.min(this.options.least, whole), whole);
    const share = clamp(x, 0, this.width) / this.width;
    this.show(at - length * share, at + length * (1 - share));
  }

  pan(dx: number): void {
    const by = (-dx * (this.to - this.from)) / this.width;
    this.show(this.from + by, this.to + by);
  }

  private typed(text: string): boolean {
    const percent = /^\s*([\d.,e+]+)\s*%\s*$/i.exec(text);
    const centre = (this.from + this.to) / 2;
    if (percent) {
      const share = Number((percent[1] ?? '').replaceAll(',', '')) / 100;
      if (!(share > 0)) return false;
      const length = (this.whole.to - this.whole.from) / Math.max(1, share);
      this.show(centre - length / 2, centre + length / 2);
      return true;
    }
    const parts = text.split(/\s*(?:-|–|\.\.|to)\s*/);
    const numbers = parts.map((part) => this.options.clock.parse(part));
    if (numbers.some((number) => !Number.isFinite(number) || number < 0)) return false;
    if (numbers.length === 1 && numbers[0]! > 0) {
      this.show(centre - numbers[0]! / 2, centre + numbers[0]! / 2);
      return true;
    }
    if (numbers.length !== 2 || !(numbers[0]! < numbers[1]!)) return false;
    this.show(this.whole.from + numbers[0]!, this.whole.from + numbers[1]!);
    return true;
  }

  fold(id: string): void {
    this.layout.fold(id);
    this.changed();
  }

  pin(id: string): void {
    this.layout.pin(id);
    this.changed();
  }

  pick(item: Item | null): void {
    this.awaited = null;
    this.picked = item;
    this.options.onpick?.(item);
    this.changed();
  }

  setArea(area: Area | null): void {
    this.area = area;
    this.options.onarea?.(area);
    this.changed();
  }

  private drag(x0: number, y0: number, x1: number, y1: number, done: boolean): void {
    const [left, right] = [clamp(Math.min(x0, x1), 0, this.width), clamp(Math.max(x0, x1), 0, this.width)];
    const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)];
    const rows = this.visible().filter(({ y, placed }) => !placed.row.heading && y < bottom && y + placed.height > top);
    const scale = (this.to - this.from) / this.width;
    this.area = { from: this.from + left * scale, to: this.from + right * scale, rows: rows.map(({ placed }) => placed.row.id) };
    if (done) {
      this.bar.setSelecting(false);
      this.setArea(right - left > 2 && rows.length ? this.area : null);
    }
    this.redraw();
  }

  /** Bring an item to sight; `share` of the width for it, or 0 to zoom only as far as needed to see it. */
  reveal(item: Extent & { row: string; top?: number }, share = 0): void {
    this.layout.reveal(item.row);
    const length = Math.max(item.to - item.from, this.options.least / 4);
    const shown = this.to - this.from;
    const centre = (item.from + item.to) / 2;
    if (share > 0 || length > shown || length < shown * 0.01) {
      const wide = share > 0 ? length / share : length > shown ? length / 0.8 : length / 0.06;
      this.show(centre - wide / 2, centre + wide / 2);
    } else if (item.from < this.from || item.to > this.to) this.show(centre - shown / 2, centre + shown / 2);
    const placed = this.layout.scrolled.find((each) => each.row.id === item.row);
    if (placed) {
      const room = this.scroller.clientHeight - RULER - this.layout.pinnedHeight;
      const top = placed.top + (placed.folded ? 0 : (item.top ?? 0));
      this.space.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight}px`;
      if (top < this.scroller.scrollTop || top + 24 > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room / 3;
    }
    this.redraw();
  }

  async search(text: string): Promise<void> {
    const needle = text.trim().toLowerCase().slice(0, 200);
    const turn = ++this.searchTurn;
    this.matches = [];
    this.total = 0;
    this.matchAt = -1;
    for (const row of this.layout.all) row.mark?.(needle);
    this.redraw();
    if (needle) {
      this.bar.searching();
      const found = await this.found(needle).catch((): Found => ({ matches: [], total: 0 }));
      if (turn !== this.searchTurn) return;
      this.matches = found.matches;
      this.total = found.total;
    }
    this.bar.showFound(-1, this.matches.length, this.total);
    this.redraw();
  }

  private async found(needle: string): Promise<Found> {
    if (this.options.search) return this.options.search(needle, MOST_MATCHES);
    const all: Found = { matches: [], total: 0 };
    for (const row of this.layout.all) {
      if (!row.find) continue;
      const found = await row.find(needle, MOST_MATCHES - all.matches.length);
      all.matches.push(...found.matches);
      all.total += found.total;
    }
    all.matches.sort((one, other) => one.from - other.from);
    return all;
  }

  next(by: number): void {
    if (!this.matches.length) return;
    if (this.matchAt < 0) {
      // start at what is on screen
      const first = this.matches.findIndex((match) => match.to >= this.from);
      this.matchAt = by > 0 ? Math.max(0, first) : (first + this.matches.length - 1) % this.matches.length;
    } else this.matchAt = (this.matchAt + by + this.matches.length) % this.matches.length;
    const match = this.matches[this.matchAt]!;
    const item = this.layout.get(match.row)?.item?.(match.key) ?? null;
    this.reveal(item ?? match);
    this.pick(item ?? { row: match.row, key: match.key, from: match.from, to: match.to, top: 2, height: 16, tip: () => ({ title: match.text, lines: [] }) });
    this.bar.showFound(this.matchAt, this.matches.length, this.total);
  }

  /** Keys while the timeline is shown; true if it was one of its own. */
  key(event: KeyboardEvent): boolean {
    const step = event.shiftKey ? 0.5 : 0.15;
    switch (event.key) {
      case 'w': case 'W': case '+': case '=': this.zoom(1 / 1.5); break;
      case 's': case 'S': case '-': case '_': this.zoom(1.5); break;
      case 'a': case 'A': case 'ArrowLeft': this.pan(this.width * step); break;
      case 'd': case 'D': case 'ArrowRight': this.pan(-this.width * step); break;
      case 'ArrowUp': this.scroller.scrollTop -= 60; break;
      case 'ArrowDown': this.scroller.scrollTop += 60; break;
      case '0': case 'Home': this.show(this.whole.from, this.whole.to); break;
      case 'z': if (this.picked) this.reveal(this.picked, 0.8); break;
      case 'm': this.bar.setSelecting(!this.bar.selecting); break;
      case 'f': this.bar.search.focus(); break;
      case 'n': this.next(1); break;
      case 'N': this.next(-1); break;
      case 'p': {
        const row = this.picked?.row ?? this.hovered?.row;
        if (row) this.pin(row);
        break;
      }
      case 'Escape':
        if (this.bar.selecting) this.bar.setSelecting(false);
        else if (this.area) this.setArea(null);
        else this.pick(null);
        break;
      default: return false;
    }
    return true;
  }

  state(): TimelineState {
    return {
      from: this.from, to: this.to, pins: [...this.layout.pins], folded: [...this.layout.folded], area: this.area,
      picked: this.picked ? { row: this.picked.row, key: this.picked.key } : this.awaited,
    };
  }

  /** Take up a state; what it names and is not here is left out. */
  setState(state: Partial<TimelineState>): void {
    if (state.pins) this.layout.pins.splice(0, this.layout.pins.length, ...state.pins.filter((id) => this.layout.get(id)));
    if (state.folded) {
      this.layout.folded.clear();
      for (const id of state.folded) if (this.layout.get(id)) this.layout.folded.add(id);
    }
    this.layout.place();
    if (state.from !== undefined && state.to !== undefined && state.to > state.from) this.show(state.from, state.to);
    if (state.area) this.setArea({ ...state.area, rows: state.area.rows.filter((id) => this.layout.get(id)) });
    if (state.picked && this.layout.get(state.picked.row)?.item) this.awaited = state.picked;
    this.pickAwaited();
    this.redraw();
  }

  /** What the address names may still have to be loaded. */
  private pickAwaited(): void {
    const item = this.awaited ? this.layout.get(this.awaited.row)?.item?.(this.awaited.key) : null;
    if (item) this.pick(item);
  }

  private changed(): void {
    this.redraw();
    clearTimeout(this.stateTimer);
    this.stateTimer = window.setTimeout(() => this.options.onstate?.(this.state()), 250);
  }

  redraw(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  private visible(): { placed: Placed; y: number }[] {
    const scroll = this.scroller.scrollTop;
    const above = RULER + this.layout.pinnedHeight;
    return [
      ...this.layout.pinned.map((placed) => ({ placed, y: RULER + placed.top })),
      ...this.layout.scrolled
        .filter((placed) => placed.top + placed.height > scroll && above + placed.top - scroll < this.height)
        .map((placed) => ({ placed, y: above + placed.top - scroll })),
    ];
  }

  private itemAt(x: number, y: number): Item | null {
    const scale = (this.to - this.from) / this.width;
    for (const { placed, y: top } of this.visible()) {
      if (!placed.pinned && y < RULER + this.layout.pinnedHeight) continue;
      if (y >= top && y < top + placed.height) return placed.row.at(this.from + x * scale, y - top, 4 * scale, placed.folded);
    }
    return null;
  }

  private draw(): void {
    this.frame = 0;
    this.scroller.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight + 2}px`;
    const box = this.stage.getBoundingClientRect();
    const ratio = Math.min(3, devicePixelRatio || 1);
    this.height = this.scroller.clientHeight;
    const gutter = this.labels.node.offsetWidth;
    this.width = Math.max(1, Math.floor(box.width - gutter));
    if (this.height < 1 || !this.node.isConnected) return;
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    this.stage.style.height = `${this.height}px`;
    this.stage.style.marginBottom = `${-this.height}px`;
    this.space.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight}px`;
    const range = `${this.from} ${this.to} ${wide}`;
    if (range !== this.seen) {
      this.seen = range;
      this.options.onrange?.(this.from, this.to, wide);
    }
    const visible = this.visible();
    this.labels.draw(RULER, this.layout.pinned, this.layout.pinnedHeight, visible.filter(({ placed }) => !placed.pinned).map(({ placed }) => placed), this.scroller.scrollTop);
    this.paint(visible, ratio, wide, high);
    this.strip.draw(this.layout.all as Row[], this.theme, ratio, this.strip.canvas.clientWidth || this.width);
    this.bar.showZoom((this.to - this.from) / (this.whole.to - this.whole.from));
    this.status.textContent = this.options.clock.span(this.to - this.from);
    this.status.title = `shown: ${this.options.clock.span(this.to - this.from)} of ${this.options.clock.span(this.whole.to - this.whole.from)}`;
    this.pointer();
    if (this.awaited) this.pickAwaited();
  }

  private paint(visible: { placed: Placed; y: number }[], ratio: number, wide: number, high: number): void {
    const context = this.canvas.getContext('2d', { alpha: false })!;
    const { theme, raster, width } = this;
    raster.resize(wide, high);
    raster.clear(theme.groundPixel);
    raster.clip(0, high);
    const step = this.options.clock.tick(((this.to - this.from) * 90) / width);
    paintGrid(raster, theme, this.from, this.to, step, ratio);
    const split = RULER + this.layout.pinnedHeight;
    const panes = visible.map(({ placed, y }): [Row, Pane] => [placed.row, {
      raster, context, theme, top: y, height: placed.height, clipTop: placed.pinned ? RULER : split, clipBottom: placed.pinned ? split : this.height,
      width, ratio, from: this.from, to: this.to, scale: width / (this.to - this.from), folded: placed.folded, picked: null, hovered: null,
    }]);
    for (const [row, pane] of panes) {
      raster.clip(pane.clipTop * ratio, pane.clipBottom * ratio);
      row.paint(pane);
    }
    raster.show(context);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    calibrate(context);
    drawRuler(context, theme, this.options.clock, this.from, this.to, step, width);
    for (const [row, pane] of panes) {
      context.save();
      context.beginPath();
      context.rect(0, pane.clipTop, width, pane.clipBottom - pane.clipTop);
      context.clip();
      context.fillStyle = theme.grid;
      context.fillRect(0, pane.top + pane.height - 0.5, width, 0.5);
      row.draw(pane);
      this.outline(context, row, pane);
      context.restore();
    }
    if (this.layout.pinned.length) {
      context.fillStyle = theme.accent;
      context.fillRect(0, split - 1, width, 1);
    }
    this.marks(context, visible);
  }

  private outline(context: CanvasRenderingContext2D, row: Row, pane: Pane): void {
    for (const [item, colour] of [[this.hovered, this.theme.soft], [this.picked, this.theme.ink]] as const) {
      if (!item || item.row !== row.id) continue;
      const left = clamp((item.from - pane.from) * pane.scale, -3, pane.width + 3);
      const right = clamp((item.to - pane.from) * pane.scale, left + 2, pane.width + 3);
      const tall = pane.folded ? pane.height - 4 : item.height || pane.height - 4;
      context.strokeStyle = colour;
      context.lineWidth = item === this.picked ? 2 : 1;
      context.strokeRect(left, pane.top + (pane.folded ? 2 : item.top) + 0.5, right - left, tall - 1);
    }
  }

  /** What lies over all rows: the area, matches on the ruler, the cursor. */
  private marks(context: CanvasRenderingContext2D, visible: { placed: Placed; y: number }[]): void {
    const { theme, width } = this;
    const scale = width / (this.to - this.from);
    if (this.area) {
      const left = clamp((this.area.from - this.from) * scale, 0, width);
      const right = clamp((this.area.to - this.from) * scale, 0, width);
      context.fillStyle = theme.accent;
      for (const { placed, y } of visible) {
        if (!this.area.rows.includes(placed.row.id)) continue;
        const top = placed.pinned ? y : Math.max(y, RULER + this.layout.pinnedHeight);
        context.globalAlpha = 0.16;
        context.fillRect(left, top, right - left, y + placed.height - top);
      }
      context.globalAlpha = 1;
      context.fillRect(left - 0.5, 0, 1, this.height);
      context.fillRect(right - 0.5, 0, 1, this.height);
      context.fillRect(left, RULER - 4, Math.max(1, right - left), 3);
    }
    context.fillStyle = theme.bad;
    let before = -9;
    for (const match of this.matches) {
      const x = Math.round((match.from - this.from) * scale);
      if (x - before < 2 || x < 0 || x > width) continue;
      before = x;
      context.fillRect(x - 0.5, RULER - 6, 2, 6);
    }
    if (this.cursor) {
      context.fillStyle = theme.ink;
      context.globalAlpha = 0.55;
      context.fillRect(Math.round(this.cursor.x), RULER, 1, this.height - RULER);
      context.globalAlpha = 1;
      const time = this.from + this.cursor.x / scale;
      const text = this.options.clock.moment(time, 1 / scale);
      context.font = '11px system-ui, sans-serif';
      const wide = context.measureText(text).width + 10;
      const left = clamp(this.cursor.x - wide / 2, 0, width - wide);
      context.fillStyle = theme.ink;
      context.fillRect(left, 2, wide, 17);
      context.fillStyle = theme.ground;
      context.textBaseline = 'middle';
      context.fillText(text, left + 5, 11);
    }
  }

  private pointer(): void {
    if (!this.cursor) return;
    const item = this.itemAt(this.cursor.x, this.cursor.y);
    const before = this.hovered;
    this.hovered = item;
    this.options.tip(this.cursor.clientX, this.cursor.clientY, item ? item.tip() : null);
    if (before?.key !== item?.key || before?.row !== item?.row) this.redraw();
  }
}
