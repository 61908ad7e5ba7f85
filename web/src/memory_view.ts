// Memory: the tile map, bytes on each tile by use, region or layer, and the variables of the tiles that are chosen.
import { button, card, choice, el, legend, note, toggles } from './elements';
import { bytes, whole } from './format';
import { saveButton } from './picture';
import { axisTop, StackedChart } from './stacked';
import type { Series } from './stacked_paint';
import type { Summary } from './summary_data';
import type { Tiles } from './tile_bands';
import { bands, bothTiles, BY } from './tile_bands';
import { usageCard, variablesCard } from './tile_details';
import { MOST_SELECTED, tileList, tileRanges, tileText } from './tile_list';
import type { AllTiles } from './tile_map_card';
import { tileMapCard } from './tile_map_card';
import type { TileMap } from './tilemap';
import type { Context, View } from './view';

class Memory {
  private ipu: number; // -1: all
  private by: string;
  private chosen: number[];
  private readonly maps = el('div', { class: 'stack' });
  private readonly charts = el('div', { class: 'stack' });
  private readonly details = el('div', { class: 'stack' });
  private readonly input = el('input', {
    type: 'text',
    class: 'tiles',
    placeholder: 'for example 1,5 or 10-20',
    'aria-label': 'Tiles',
  });
  private map: TileMap | null = null;
  private drawn: StackedChart[] = [];
  private turn = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly context: Context,
    private readonly before: AllTiles,
    private readonly after: AllTiles | null,
    private readonly summary: Summary,
  ) {
    const state = context.state;
    const fullest = summary.ipus.reduce(
      (best, ipu, index) => (Number(ipu.max) > Number(summary.ipus[best]?.max ?? 0) ? index : best),
      0,
    );
    this.ipu = state.get('ipu') === 'all' ? -1 : state.number('ipu', fullest, 0, before.ipus - 1);
    this.by = BY.includes(state.get('by')) ? state.get('by') : 'use';
    this.chosen = tileList(
      state.get('tiles', this.ipu < 0 ? '' : String(summary.ipus[this.ipu]?.fullest ?? '')),
      before.tiles,
    );
  }

  async show(): Promise<void> {
    const ipus = ['all IPUs', ...Array.from({ length: this.before.ipus }, (_, n) => `IPU ${n}`)];
    this.input.value = tileText(this.chosen);
    this.input.addEventListener('change', () => this.select(tileList(this.input.value, this.before.tiles)));
    this.host.append(
      el(
        'div',
        { class: 'controls sticky' },
        choice('Show', ipus, this.ipu + 1, (index) => {
          this.ipu = index - 1;
          this.context.state.set({ ipu: index ? index - 1 : 'all' });
          void this.redraw();
        }),
        toggles('by', BY, BY.indexOf(this.by), (index) => {
          this.by = BY[index] as string;
          this.context.state.set({ by: this.by });
          void this.redraw();
        }),
        el('label', { class: 'choice' }, el('span', { text: 'Tiles' }), this.input),
        button(
          'Fullest tile',
          () => {
            if (this.ipu < 0) this.fullestIpu();
            this.select([Number(this.summary.ipus[this.ipu]?.fullest ?? 0)]);
          },
          { class: 'small' },
        ),
      ),
      this.maps,
      this.charts,
      this.details,
    );
    this.context.redraw(() => {
      this.map?.refresh();
      this.drawn.forEach((chart) => chart.draw());
    });
    await this.redraw();
  }

  private fullestIpu(): void {
    this.ipu = this.summary.ipus.reduce(
      (best, ipu, index) => (Number(ipu.max) > Number(this.summary.ipus[best]?.max ?? 0) ? index : best),
      0,
    );
    this.context.state.set({ ipu: this.ipu });
    void this.redraw();
  }

  private async redraw(): Promise<void> {
    this.drawMap();
    await this.drawCharts();
    await this.drawDetails();
  }

  private drawMap(): void {
    const { map, element } = tileMapCard({
      before: this.before,
      after: this.after,
      ipu: this.ipu,
      over: this.summary.ipus.reduce((sum, ipu) => sum + Number(ipu.over), 0),
      state: this.context.state,
      onselect: (ipu, first, last, event) => {
        const picked = Array.from({ length: last - first + 1 }, (_, n) => first + n);
        const add = event.shiftKey || event.ctrlKey || event.metaKey;
        if (ipu !== this.ipu) {
          this.ipu = ipu;
          this.context.state.set({ ipu });
          this.select(picked, true);
        } else this.select(add ? [...new Set([...this.chosen, ...picked])].sort((x, y) => x - y) : picked);
      },
      again: () => this.drawMap(),
    });
    this.map = map;
    this.markMap();
    this.maps.replaceChildren(element);
    requestAnimationFrame(() => map.draw());
  }

  private markMap(): void {
    if (!this.map) return;
    this.map.selected = new Set(this.chosen);
    this.map.selectedIpu = this.ipu;
  }

  private async drawCharts(): Promise<void> {
    const mine = ++this.turn;
    this.drawn = [];
    if (this.ipu < 0) {
      this.charts.replaceChildren(note('Select one IPU to see its tiles.'));
      return;
    }
    const [a, b] = await bothTiles(this.context, this.ipu, this.by);
    if (mine !== this.turn) return;
    const made = [a, ...(b ? [b] : [])].map((answer): [Tiles, Series[]] => [answer, bands(answer, this.by)]);
    let most = 0;
    for (const [, series] of made) {
      for (let i = 0; i < a.tiles; i++)
        most = Math.max(
          most,
          series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0),
        );
    }
    this.charts.replaceChildren(
      ...made.map(([answer, series], index) =>
        this.chart(answer, series, index > 0, b !== null, axisTop(most, a.room)),
      ),
    );
    this.markCharts();
  }

  private chart(answer: Tiles, series: Series[], later: boolean, compared: boolean, most: number): HTMLElement {
    const which = compared ? (later ? 'After: ' : 'Before: ') : '';
    const chart = new StackedChart({
      label: `Bytes on each tile of IPU ${this.ipu} by ${this.by}`,
      height: compared ? 240 : 320,
      end: answer.tiles,
      axis: 'tile',
      dragging: 'select',
      limit: { value: answer.room, name: `memory of a tile: ${bytes(answer.room)}` },
      most,
      format: bytes,
      title: (at) => `tile ${whole(Math.floor(at))}`,
      onclick: (at, event) =>
        this.select(event.shiftKey ? [...new Set([...this.chosen, at])].sort((x, y) => x - y) : [at]),
      onselect: (first, last) => this.select(Array.from({ length: last - first + 1 }, (_, n) => first + n)),
      onwindow: (low, high) => {
        if (!later)
          this.context.state.set({
            from: low > 0 ? Math.floor(low) : null,
            to: high < answer.tiles ? Math.ceil(high) : null,
          });
      },
    });
    chart.setData({ first: 0, group: 1, series });
    const state = this.context.state;
    if (state.get('from') || state.get('to'))
      chart.window(state.number('from', 0, 0), state.number('to', answer.tiles, 1, answer.tiles));
    const full = this.summary.ipus[this.ipu];
    if (!later)
      chart.marks = [
        {
          at: Number(full?.fullest ?? -1),
          name: `fullest: tile ${whole(Number(full?.fullest ?? 0))}`,
          dashed: true,
        },
      ];
    this.drawn.push(chart);
    const shown = series.filter((each) => each.values.some((value) => value > 0));
    const title = `${which}Bytes on each tile of IPU ${this.ipu} at its fullest moment, by ${this.by}`;
    return card(
      title,
      chart.element,
      el(
        'div',
        { class: 'controls key' },
        legend(shown.map((each) => [each.name, each.colour])),
        el('span', { class: 'spring' }),
        this.zooms(chart),
        saveButton(
          () => chart.canvas,
          () => title,
          () => shown.map((each) => [each.name, each.colour]),
        ),
      ),
      later
        ? null
        : note(
            `Fullest at ${full?.peakOp ?? '?'} (${full?.peakPhase ?? '?'}): ${whole(Number(full?.max ?? 0))} of ${whole(answer.room)} bytes. Click or drag to select tiles; + and − zoom.`,
          ),
    );
  }

  private zooms(chart: StackedChart): HTMLElement {
    return el(
      'span',
      { class: 'zooms' },
      button('+', () => chart.zoom(0.5), { class: 'small', 'aria-label': 'Zoom in' }),
      button('−', () => chart.zoom(2), { class: 'small', 'aria-label': 'Zoom out' }),
      button('All', () => chart.window(0, Infinity), { class: 'small' }),
    );
  }

  private markCharts(): void {
    const ranges = tileRanges(this.chosen);
    for (const chart of this.drawn) {
      chart.selected = ranges;
      chart.draw();
    }
  }

  select(tiles: number[], redrawAll = false): void {
    this.chosen = tiles.slice(0, MOST_SELECTED);
    this.input.value = tileText(this.chosen);
    this.context.state.set({ tiles: tileText(this.chosen) });
    if (redrawAll) {
      void this.redraw();
      return;
    }
    this.markMap();
    this.map?.draw();
    this.markCharts();
    void this.drawDetails();
  }

  private async drawDetails(): Promise<void> {
    const mine = this.turn,
      tiles = this.chosen;
    if (this.ipu < 0 || !tiles.length) {
      this.details.replaceChildren(
        ...(this.ipu < 0 ? [] : [note('Please select a tile: click the map or the chart, or type its number.')]),
      );
      return;
    }
    const made = await Promise.all([
      usageCard(this.context, this.ipu, this.by, tiles),
      variablesCard(this.context, this.ipu, tiles),
    ]);
    if (mine === this.turn && tiles === this.chosen) this.details.replaceChildren(...made);
  }
}

export const memoryView: View = {
  id: 'memory',
  title: 'Memory',
  lead: 'What each tile holds when its IPU is fullest. The fullest tile decides whether the program fits.',
  key: 'm',
  async render(host, context) {
    const [map, other] = (await context.both('tile_map')) as [AllTiles, AllTiles | null];
    if (!map.ipus) {
      host.append(note('This report has no memory data.'));
      return;
    }
    const summary = (await context.json('summary')) as Summary;
    const wanted = context.state.number('variable', -1);
    if (wanted >= 0) await showVariable(context, wanted);
    await new Memory(host, context, map, other, summary).show();
  },
};

// a variable that was searched for: its IPU and its tiles
async function showVariable(context: Context, id: number): Promise<void> {
  const found = await context.frame(
    'variables',
    ['id', 'ipu', 'first_tile', 'tiles'],
    context.source.served ? id : 0,
    context.source.served ? 1 : undefined,
  );
  const at = (found.columns.id as Float64Array).indexOf(id);
  if (at < 0) return;
  const value = (name: string) => (found.columns[name] as Float64Array)[at] as number;
  const first = Math.max(0, value('first_tile')),
    count = Math.max(1, value('tiles'));
  context.state.set({
    ipu: value('ipu'),
    tiles: count > 1 ? `${first}-${first + count - 1}` : String(first),
    variable: null,
  });
}
