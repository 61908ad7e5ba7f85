// Memory: the tile map, bytes on each tile by use, region or layer, and the variables of the tiles that are chosen.
import { css, difference, hue, pick, REGIONS, scale, USES } from './colours';
import { button, card, choice, el, legend, note, toggles } from './elements';
import { bytes, delta, percent, plural, whole } from './format';
import { saveButton } from './picture';
import type { Series } from './stacked';
import { StackedChart } from './stacked';
import { numbers } from './source';
import type { Summary } from './summary_view';
import { plainTable } from './table';
import { TileMap } from './tilemap';
import { leftOut, variableDifference, variableTable } from './variable_table';
import { onTile } from './variables';
import type { Context, View } from './view';
import { deltaCell } from './pairs';

interface Tiles {
  ipu: number;
  tiles: number;
  room: number;
  bands: [string, number, { i4?: string; f8?: string }][];
}
interface Map_ {
  ipus: number;
  tiles: number;
  room: number;
  bytes: { i4?: string; f8?: string };
}

const BY = ['use', 'region', 'layer'];
const MOST_SELECTED = 2000;

// "1, 5, 10-20" as numbers below `most`
export function tileList(text: string, most: number): number[] {
  const found = new Set<number>();
  for (const part of text.split(/[,;\s]+/)) {
    const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!range) continue;
    const first = Number(range[1]),
      last = Math.min(most - 1, Number(range[2] ?? range[1]));
    for (let tile = first; tile <= last && found.size < MOST_SELECTED; tile++) found.add(tile);
  }
  return [...found].filter((tile) => tile < most).sort((a, b) => a - b);
}

export function tileText(tiles: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < tiles.length; i++) {
    let j = i;
    while (j + 1 < tiles.length && tiles[j + 1] === (tiles[j] as number) + 1) j++;
    parts.push(j > i + 1 ? `${tiles[i]}-${tiles[j]}` : tiles.slice(i, j + 1).join(','));
    i = j;
  }
  return parts.join(',');
}

function bands(answer: Tiles, by: string): Series[] {
  const made = answer.bands.map(([name, always, values], index): Series & { always: number } => ({
    name,
    always,
    values: numbers(values),
    colour: by === 'layer' ? (index === answer.bands.length - 1 ? '#c3cad6' : hue(index)) : pick(USES, name, index),
  }));
  if (by !== 'region') return made;
  const sum = (name: string, colour: string, parts: Series[]): Series => {
    const values = new Float64Array(answer.tiles);
    for (const part of parts)
      for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) + (part.values[i] as number);
    return { name, colour, values };
  };
  const gaps = made.filter((each) => each.name === 'gaps'),
    rest = made.filter((each) => each.name !== 'gaps');
  return [
    sum(
      'always live',
      REGIONS.always,
      rest.filter((each) => each.always),
    ),
    sum(
      'not always live',
      REGIONS.temporary,
      rest.filter((each) => !each.always),
    ),
    sum('gaps', REGIONS.gaps, gaps),
  ];
}

const sumOf = (values: Float64Array, tiles: number[]) => tiles.reduce((sum, tile) => sum + (values[tile] ?? 0), 0);

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
    placeholder: 'such as 1,5 or 10-20',
    'aria-label': 'Tiles',
  });
  private map: TileMap | null = null;
  private drawn: StackedChart[] = [];
  private turn = 0;

  constructor(
    private readonly host: HTMLElement,
    private readonly context: Context,
    private readonly before: Map_,
    private readonly after: Map_ | null,
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
    const a = numbers(this.before.bytes),
      b = this.after ? numbers(this.after.bytes) : null,
      room = this.before.room,
      tiles = this.before.tiles;
    const ipus = this.ipu < 0 ? Array.from({ length: this.before.ipus }, (_, n) => n) : [this.ipu];
    const same = b && this.after?.tiles === tiles && ipus.every((ipu) => ipu < (this.after?.ipus ?? 0));
    const at = (ipu: number, tile: number) => ipu * tiles + tile;
    // from empty to full, or from the least to the most of what is shown
    const relative = this.context.state.get('colours') === 'relative' && !same;
    let least = Infinity,
      largest = 0;
    for (const ipu of ipus)
      for (let tile = 0; tile < tiles; tile++) {
        least = Math.min(least, a[at(ipu, tile)] as number);
        largest = Math.max(largest, a[at(ipu, tile)] as number);
      }
    const shade = (value: number) => scale(relative ? (value - least) / Math.max(1, largest - least) : value / room);
    let widest = 1;
    if (same) for (let i = 0; i < a.length; i++) widest = Math.max(widest, Math.abs((b[i] ?? 0) - (a[i] as number)));
    this.map = new TileMap({
      label:
        'Tiles coloured by the memory that they need; the table of the fullest tiles in Insights has the same figures',
      ipus,
      tiles,
      colour: (ipu, tile) => {
        const value = a[at(ipu, tile)] as number;
        return same ? difference(((b[at(ipu, tile)] ?? 0) - value) / widest) : shade(value);
      },
      tip: (ipu, tile) => {
        const value = a[at(ipu, tile)] as number,
          after = same ? (b[at(ipu, tile)] ?? 0) : 0;
        return [
          `tile ${whole(tile)} of IPU ${ipu}`,
          same
            ? [
                ['before', bytes(value)],
                ['after', bytes(after)],
                ['difference', delta(value, after, bytes)],
              ]
            : [
                ['needs', `${bytes(value)} (${whole(value)} B)`],
                ['of its memory', percent(value, room)],
              ],
        ];
      },
      onselect: (ipu, first, last, event) => {
        const picked = Array.from({ length: last - first + 1 }, (_, n) => first + n);
        const add = event.shiftKey || event.ctrlKey || event.metaKey;
        if (ipu !== this.ipu) {
          this.ipu = ipu;
          this.context.state.set({ ipu });
          void this.select(picked, true);
        } else this.select(add ? [...new Set([...this.chosen, ...picked])].sort((x, y) => x - y) : picked);
      },
    });
    this.markMap();
    const key = el('div', {
      class: 'scale',
      role: 'img',
      'aria-label': same ? 'blue: less, red: more' : 'dark: empty, yellow: full, red: no room',
    });
    const low = relative ? least : 0,
      most = relative ? largest : Math.max(room, largest);
    const stops = Array.from({ length: 41 }, (_, n) =>
      css(same ? difference(n / 20 - 1) : shade(low + (n / 40) * (most - low))),
    );
    key.style.background = `linear-gradient(to right, ${stops.join(',')})`;
    const over = this.summary.ipus.reduce((sum, ipu) => sum + Number(ipu.over), 0);
    const map = this.map;
    this.maps.replaceChildren(
      card(
        `${same ? 'Difference of the bytes on each tile' : 'Tile map'}: ${this.ipu < 0 ? plural(this.before.ipus, 'IPU') : `IPU ${this.ipu}`}, at the fullest moment`,
        map.element,
        el(
          'div',
          { class: 'controls key' },
          el('span', { class: 'label', text: same ? `−${bytes(widest)}` : low ? bytes(low) : '0' }),
          key,
          el('span', {
            class: 'label',
            text: same
              ? `+${bytes(widest)}`
              : relative
                ? `${bytes(most)} (${percent(most, room)} of a tile)`
                : most > room
                  ? `${bytes(most)} (full at ${bytes(room)}, then red)`
                  : `${bytes(room)} (full)`,
          }),
          same
            ? null
            : toggles('colours', ['empty to full', 'least to most'], relative ? 1 : 0, (index) => {
                this.context.state.set({ colours: index ? 'relative' : null });
                this.drawMap();
              }),
          el('span', { class: 'spring' }),
          saveButton(
            () => map.canvas,
            () => 'Memory of tiles',
          ),
        ),
        b && !same
          ? note(
              'The report that this one is compared with has other IPUs or tiles: its bytes are not subtracted here.',
            )
          : null,
        note(
          (over
            ? `${same ? 'Before: ' : ''}${plural(over, 'tile', 'tiles')} of all IPUs ${over === 1 ? 'needs' : 'need'} more memory than a tile has. `
            : 'Every tile has room. ') +
            'Click a tile, drag over several, hold Shift to add. Drawn by columns of the chip in groups of four tiles; the exact place of each number is not published.',
        ),
      ),
    );
    requestAnimationFrame(() => map.draw());
  }

  private markMap(): void {
    if (!this.map) return;
    this.map.selected = new Set(this.chosen);
    this.map.selectedIpu = this.ipu;
  }

  private async tiles(report: string): Promise<Tiles> {
    const ipu = Math.max(0, this.ipu);
    return this.context.source.json(
      report,
      'tiles',
      this.by === 'layer' ? { ipu, by: 'layer' } : { ipu },
    ) as Promise<Tiles>;
  }

  private async both(): Promise<[Tiles, Tiles | null]> {
    return [
      await this.tiles(this.context.report.id),
      this.context.other ? await this.tiles(this.context.other.id).catch(() => null) : null,
    ];
  }

  private async drawCharts(): Promise<void> {
    const mine = ++this.turn;
    this.drawn = [];
    if (this.ipu < 0) {
      this.charts.replaceChildren(note('Choose one IPU to see its tiles one by one.'));
      return;
    }
    const [a, b] = await this.both();
    if (mine !== this.turn) return;
    const made = [a, ...(b ? [b] : [])].map((answer): [Tiles, Series[]] => [answer, bands(answer, this.by)]);
    let most = a.room;
    for (const [, series] of made) {
      for (let i = 0; i < a.tiles; i++)
        most = Math.max(
          most,
          series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0),
        );
    }
    this.charts.replaceChildren(
      ...made.map(([answer, series], index) => {
        const which = made.length > 1 ? (index ? 'After: ' : 'Before: ') : '';
        const chart = new StackedChart({
          label: `Bytes on each tile of IPU ${this.ipu} by ${this.by}`,
          height: made.length > 1 ? 240 : 320,
          end: answer.tiles,
          axis: 'tile',
          dragging: 'select',
          limit: { value: answer.room, name: `memory of a tile: ${bytes(answer.room)}` },
          most: most * 1.06,
          format: bytes,
          title: (at) => `tile ${whole(Math.floor(at))}`,
          onclick: (at, event) =>
            this.select(event.shiftKey ? [...new Set([...this.chosen, at])].sort((x, y) => x - y) : [at]),
          onselect: (first, last) => this.select(Array.from({ length: last - first + 1 }, (_, n) => first + n)),
          onwindow: (low, high) => {
            if (!index)
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
        if (!index)
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
          index
            ? null
            : note(
                `Fullest at ${full?.peakOp ?? '?'} (${full?.peakPhase ?? '?'}): ${whole(Number(full?.max ?? 0))} of ${whole(answer.room)} bytes. Click or drag to choose tiles; + and − zoom.`,
              ),
        );
      }),
    );
    this.markCharts();
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
    const ranges: [number, number][] = tileText(this.chosen)
      .split(',')
      .filter(Boolean)
      .map((part) => {
        const [first, last] = part.split('-').map(Number);
        return [first as number, (last ?? (first as number)) + 1];
      });
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
        ...(this.ipu < 0 ? [] : [note('Please choose a tile: click on the map or the chart, or type its number.')]),
      );
      return;
    }
    const [a, b] = await this.both();
    const series = bands(a, this.by),
      after = b ? bands(b, this.by) : null;
    const two = tiles.length === 2 && !after;
    const name =
      tiles.length === 1
        ? `tile ${tiles[0]}`
        : tiles.length === 2
          ? `tiles ${tiles.join(' and ')}`
          : plural(tiles.length, 'tile');
    const rows = series
      .map((each) => {
        const title = el('span', {}, legend([[each.name, each.colour]]));
        if (two) {
          const [one, other] = tiles.map((tile) => each.values[tile] ?? 0) as [number, number];
          return { size: one + other, cells: [title, bytes(one), bytes(other), deltaCell(one, other, bytes)] };
        }
        const size = sumOf(each.values, tiles);
        const later = after
          ? sumOf(after.find((found) => found.name === each.name)?.values ?? new Float64Array(0), tiles)
          : 0;
        return {
          size: size + later,
          cells: after
            ? [title, bytes(size), bytes(later), deltaCell(size, later, bytes, true)]
            : [title, bytes(size), percent(size, a.room * tiles.length)],
        };
      })
      .filter((row) => row.size > 0);
    const all = series.reduce((sum, each) => sum + sumOf(each.values, tiles), 0);
    const heads: [string, boolean?][] = two
      ? [[this.by], [`tile ${tiles[0]}`, true], [`tile ${tiles[1]}`, true], ['difference', true]]
      : after
        ? [[this.by], ['before', true], ['after', true], ['difference', true]]
        : [[this.by], ['bytes', true], ['of its memory', true]];
    const usage = card(
      `What lies on ${name} of IPU ${this.ipu}`,
      note(
        `${bytes(all)} in total, ${percent(all, a.room * tiles.length)} of what ${tiles.length === 1 ? 'it has' : 'they have'}.`,
      ),
      plainTable(
        `memory of ${name}`,
        heads,
        rows.map((row) => row.cells),
      ),
    );
    const variables = await this.variables(tiles, name);
    if (mine !== this.turn || tiles !== this.chosen) return;
    this.details.replaceChildren(usage, variables);
  }

  private async variables(tiles: number[], name: string): Promise<HTMLElement> {
    const { source, report, other } = this.context;
    const first = tiles[0] as number,
      second = tiles[1];
    const list = await onTile(source, report.id, this.ipu, first);
    if (!list.known)
      return card(
        `Variables of ${name}`,
        note('This report holds no variables of single tiles: it was written by an earlier version.'),
      );
    if (other) {
      const after = await onTile(source, other.id, this.ipu, first).catch(() => null);
      if (after)
        return card(
          `Variables of tile ${first}: before and after`,
          variableDifference(list.variables, after.variables, ['before', 'after']).element,
        );
    }
    if (tiles.length === 2 && second !== undefined) {
      const others = await onTile(source, report.id, this.ipu, second);
      return card(
        `Variables: tile ${second} against tile ${first}`,
        variableDifference(list.variables, others.variables, [`tile ${first}`, `tile ${second}`]).element,
      );
    }
    return card(
      `Variables of tile ${first}${tiles.length > 1 ? ', the first of those chosen' : ''}`,
      variableTable(list.variables, 0, -1).element,
      leftOut(list) ? note(leftOut(list)) : null,
    );
  }
}

export const memoryView: View = {
  id: 'memory',
  title: 'Memory',
  lead: 'What lies on each tile when its IPU is fullest. The fullest tile decides whether a program fits.',
  key: 'm',
  async render(host, context) {
    const [map, other] = (await context.both('tile_map')) as [Map_, Map_ | null];
    if (!map.ipus) {
      host.append(note('This report has no memory part.'));
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
