// Rows on one time axis: scrolling, picking, selecting, drawing. Rows paint themselves; nothing here knows what they mean.
import { listen } from './input';
import { pressed } from './keys';
import { Labels } from './labels';
import { Layout } from './layout';
import { clamp, type Area, type Clock, type Extent, type Found, type Item, type Pane, type Row, type Tip, type TimelineState } from './model';
import { drawArea, drawCursor, drawMatches, drawOutline, type Plot, type Seen } from './overlay';
import { saveImage } from './picture';
import { Range } from './range';
import { Raster } from './raster';
import { drawRuler, paintGrid, RULER } from './ruler';
import { Search } from './search';
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

function made(tag: 'div' | 'canvas', name: string): HTMLElement {
  const node = document.createElement(tag);
  node.className = name;
  return node;
}

export class Timeline {
  readonly node = made('div', 'tl');
  readonly bar: Toolbar;
  readonly layout = new Layout();
  private readonly scroller = made('div', 'tl-scroll');
  private readonly stage = made('div', 'tl-stage');
  private readonly space = made('div', 'tl-space');
  private readonly canvas = made('canvas', 'tl-plot') as HTMLCanvasElement;
  private readonly status = made('div', 'tl-status');
  private readonly labels: Labels;
  private readonly strip: Strip;
  private readonly raster = new Raster();
  private readonly span: Range;
  private readonly finder: Search;
  private readonly stops: (() => void)[] = [];
  private theme: Theme;
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
  private seen = '';

  constructor(readonly options: TimelineOptions) {
    this.span = new Range(options.least);
    this.finder = new Search(options.search);
    this.bar = new Toolbar({
      zoom: (factor) => this.zoom(factor),
      all: () => this.showAll(),
      typed: (text) => {
        const understood = this.span.typed(text, this.options.clock);
        if (understood) this.changed();
        return understood;
      },
      selecting: (on) => this.canvas.classList.toggle('tl-selecting', on),
      search: (text) => this.search(text),
      next: (by) => this.next(by),
      image: () => saveImage(this.canvas, this.labels.node, this.theme, this.options.file),
    });
    this.labels = new Labels((id) => this.fold(id), (id) => this.pin(id));
    this.strip = new Strip(() => this.span.whole, () => this.span, () => this.options.least, (from, to) => this.show(from, to));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-label', `${options.label}. Keys: w and s zoom, a and d move, 0 shows all, n goes to the next match.`);
    const top = made('div', 'tl-top');
    top.append(this.status, this.strip.canvas);
    this.stage.append(this.labels.node, this.canvas);
    this.scroller.append(this.stage, this.space);
    this.node.append(this.bar.node, top, this.scroller);
    this.theme = readTheme(document.documentElement);
    this.scroller.addEventListener('scroll', () => this.redraw());
    this.listen();
    const sized = new ResizeObserver(() => this.redraw());
    sized.observe(this.scroller);
    this.stops.push(() => sized.disconnect(), onThemeChange(() => {
      this.theme = readTheme(document.documentElement);
      this.strip.renew();
      this.redraw();
    }));
  }

  private listen(): void {
    listen(this.canvas, {
      zoom: (factor, x) => this.zoom(factor, x),
      pan: (dx) => this.pan(-dx / this.width),
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

  /** Keys while the timeline is shown; true if it was one of its own. */
  key(event: KeyboardEvent): boolean {
    return pressed(event, {
      zoom: (factor) => this.zoom(factor),
      pan: (share) => this.pan(share),
      scroll: (pixels) => (this.scroller.scrollTop += pixels),
      all: () => this.showAll(),
      zoomToPicked: () => this.picked && this.reveal(this.picked, 0.8),
      selecting: () => this.bar.setSelecting(!this.bar.selecting),
      find: () => this.bar.search.focus(),
      next: (by) => this.next(by),
      pin: () => {
        const row = this.picked?.row ?? this.hovered?.row;
        if (row) this.pin(row);
      },
      escape: () => {
        if (this.bar.selecting) this.bar.setSelecting(false);
        else if (this.area) this.setArea(null);
        else this.pick(null);
      },
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
    const begin = Number.isFinite(from) ? from : 0;
    this.span.renew(whole ?? { from: begin, to: Math.max(to, begin + 1) });
    this.strip.renew();
    if (this.area) this.area.rows = this.area.rows.filter((id) => this.layout.get(id));
    this.changed();
  }

  /** Heights changed, or what rows hold. */
  renew(): void {
    this.layout.place();
    this.strip.renew();
    this.redraw();
  }

  get all(): Extent {
    return this.span.whole;
  }

  show(from: number, to: number): void {
    this.span.show(from, to);
    this.changed();
  }

  private showAll(): void {
    this.show(this.span.whole.from, this.span.whole.to);
  }

  private zoom(factor: number, x = this.cursor ? this.cursor.x : this.width / 2): void {
    this.span.zoom(factor, clamp(x / this.width, 0, 1));
    this.changed();
  }

  private pan(share: number): void {
    this.span.pan(share);
    this.changed();
  }

  private fold(id: string): void {
    this.layout.fold(id);
    this.changed();
  }

  private pin(id: string): void {
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
    const { from, length } = this.span;
    this.area = { from: from + (left / this.width) * length, to: from + (right / this.width) * length, rows: rows.map(({ placed }) => placed.row.id) };
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
    const shown = this.span.length;
    const centre = (item.from + item.to) / 2;
    if (share > 0 || length > shown || length < shown * 0.01) {
      const wide = share > 0 ? length / share : length > shown ? length / 0.8 : length / 0.06;
      this.show(centre - wide / 2, centre + wide / 2);
    } else if (item.from < this.span.from || item.to > this.span.to) this.show(centre - shown / 2, centre + shown / 2);
    const placed = this.layout.scrolled.find((each) => each.row.id === item.row);
    if (placed) {
      const room = this.scroller.clientHeight - RULER - this.layout.pinnedHeight;
      const top = placed.top + (placed.folded ? 0 : (item.top ?? 0));
      this.space.style.height = `${this.content}px`;
      if (top < this.scroller.scrollTop || top + 24 > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room / 3;
    }
    this.redraw();
  }

  private async search(text: string): Promise<void> {
    const looked = this.finder.look(text, this.layout.all);
    this.redraw();
    if (text.trim()) this.bar.searching();
    if (!(await looked)) return;
    this.bar.showFound(-1, this.finder.matches.length, this.finder.total);
    this.redraw();
  }

  private next(by: number): void {
    const match = this.finder.next(by, this.span.from);
    if (!match) return;
    const item = this.layout.get(match.row)?.item?.(match.key) ?? null;
    this.reveal(item ?? match);
    this.pick(item ?? { row: match.row, key: match.key, from: match.from, to: match.to, top: 2, height: 16, tip: () => ({ title: match.text, lines: [] }) });
    this.bar.showFound(this.finder.at, this.finder.matches.length, this.finder.total);
  }

  state(): TimelineState {
    return {
      from: this.span.from, to: this.span.to, pins: [...this.layout.pins], folded: [...this.layout.folded], area: this.area,
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

  /** Height of everything. */
  private get content(): number {
    return this.layout.height + RULER + this.layout.pinnedHeight;
  }

  private visible(): Seen[] {
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
    const scale = this.span.length / this.width;
    for (const { placed, y: top } of this.visible()) {
      if (!placed.pinned && y < RULER + this.layout.pinnedHeight) continue;
      if (y >= top && y < top + placed.height) return placed.row.at(this.span.from + x * scale, y - top, 4 * scale, placed.folded);
    }
    return null;
  }

  private draw(): void {
    this.frame = 0;
    this.scroller.style.height = `${this.content + 2}px`;
    const ratio = Math.min(3, devicePixelRatio || 1);
    this.height = this.scroller.clientHeight;
    this.width = Math.max(1, Math.floor(this.stage.getBoundingClientRect().width - this.labels.node.offsetWidth));
    if (this.height < 1 || !this.node.isConnected) return;
    const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    this.size(wide, high);
    const { from, to, whole } = this.span;
    const range = `${from} ${to} ${wide}`;
    if (range !== this.seen) {
      this.seen = range;
      this.options.onrange?.(from, to, wide);
    }
    const visible = this.visible();
    const scrolled = visible.filter(({ placed }) => !placed.pinned).map(({ placed }) => placed);
    this.labels.draw(RULER, this.layout.pinned, this.layout.pinnedHeight, scrolled, this.scroller.scrollTop);
    this.paint(visible, ratio, wide, high);
    this.strip.draw(this.layout.all as Row[], this.theme, ratio, this.strip.canvas.clientWidth || this.width);
    this.bar.showZoom((to - from) / (whole.to - whole.from));
    const { clock } = this.options;
    this.status.textContent = clock.span(to - from);
    this.status.title = `shown: ${clock.span(to - from)} of ${clock.span(whole.to - whole.from)}`;
    this.pointer();
    if (this.awaited) this.pickAwaited();
  }

  private size(wide: number, high: number): void {
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${this.height}px`;
    }
    this.stage.style.height = `${this.height}px`;
    this.stage.style.marginBottom = `${-this.height}px`;
    this.space.style.height = `${this.content}px`;
  }

  private paint(visible: Seen[], ratio: number, wide: number, high: number): void {
    const context = this.canvas.getContext('2d', { alpha: false })!;
    const { theme, raster, width, height } = this;
    const { from, to, length } = this.span;
    raster.resize(wide, high);
    raster.clear(theme.groundPixel);
    raster.clip(0, high);
    const step = this.options.clock.tick((length * 90) / width);
    paintGrid(raster, theme, from, to, step, ratio);
    const split = RULER + this.layout.pinnedHeight;
    const panes = visible.map(({ placed, y }): [Row, Pane] => [placed.row, {
      raster, context, theme, top: y, height: placed.height, clipTop: placed.pinned ? RULER : split, clipBottom: placed.pinned ? split : height,
      width, ratio, from, to, scale: width / length, folded: placed.folded,
    }]);
    for (const [row, pane] of panes) {
      raster.clip(pane.clipTop * ratio, pane.clipBottom * ratio);
      row.paint(pane);
    }
    raster.show(context);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    calibrate(context);
    drawRuler(context, theme, this.options.clock, from, to, step, width);
    for (const [row, pane] of panes) {
      context.save();
      context.beginPath();
      context.rect(0, pane.clipTop, width, pane.clipBottom - pane.clipTop);
      context.clip();
      context.fillStyle = theme.grid;
      context.fillRect(0, pane.top + pane.height - 0.5, width, 0.5);
      row.draw(pane);
      drawOutline(row, pane, this.hovered, theme.soft, 1);
      drawOutline(row, pane, this.picked, theme.ink, 2);
      context.restore();
    }
    if (this.layout.pinned.length) {
      context.fillStyle = theme.accent;
      context.fillRect(0, split - 1, width, 1);
    }
    const plot: Plot = { context, theme, from, width, height, scale: width / length };
    if (this.area) drawArea(plot, this.area, visible, split);
    drawMatches(plot, this.finder.matches);
    if (this.cursor) drawCursor(plot, this.cursor.x, this.options.clock);
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
