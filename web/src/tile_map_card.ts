// The tile map of one IPU or of all: fill, or the difference of two reports, with its scale.
import { css, difference, scale } from './colours';
import type { TipLine } from './elements';
import { card, el, note, toggles } from './elements';
import { bytes, delta, percent, plural, whole } from './format';
import { saveButton } from './picture';
import { numbers } from './source';
import type { State } from './state';
import type { TileMapOptions } from './tilemap';
import { TileMap } from './tilemap';

export interface AllTiles {
  ipus: number;
  tiles: number;
  room: number;
  bytes: { i4?: string; f8?: string };
}

interface MapSettings {
  before: AllTiles;
  after: AllTiles | null;
  ipu: number; // -1: all
  over: number; // tiles that need more than they have
  state: State;
  onselect: TileMapOptions['onselect'];
  again(): void; // draw it anew
}

const HOW =
  'Click a tile to select it, drag over several, hold Shift to add more. The map follows the columns of the chip; the exact ' +
  'place of each number is not published.';

// colours of bytes, and what the ends of the scale mean
class Shades {
  readonly low: number;
  readonly most: number;
  private readonly least: number;
  private readonly largest: number;

  constructor(
    values: number[],
    private readonly room: number,
    readonly relative: boolean,
  ) {
    this.least = values.reduce((low, value) => Math.min(low, value), Infinity);
    this.largest = values.reduce((high, value) => Math.max(high, value), 0);
    this.low = relative ? this.least : 0;
    this.most = relative ? this.largest : Math.max(room, this.largest);
  }

  of(value: number): [number, number, number] {
    return scale(this.relative ? (value - this.least) / Math.max(1, this.largest - this.least) : value / this.room);
  }

  get end(): string {
    if (this.relative) return `${bytes(this.most)} (${percent(this.most, this.room)} of a tile)`;
    return this.most > this.room
      ? `${bytes(this.most)} (full at ${bytes(this.room)}, then red)`
      : `${bytes(this.room)} (full)`;
  }
}

export function tileMapCard(settings: MapSettings): { map: TileMap; element: HTMLElement } {
  const { before, after, ipu: shown, state } = settings;
  const a = numbers(before.bytes);
  const b = after ? numbers(after.bytes) : null;
  const { room, tiles } = before;
  const ipus = shown < 0 ? Array.from({ length: before.ipus }, (_, n) => n) : [shown];
  const same = b !== null && after?.tiles === tiles && ipus.every((ipu) => ipu < after.ipus);
  const first = (ipu: number, tile: number) => a[ipu * tiles + tile] ?? 0;
  const second = (ipu: number, tile: number) => b?.[ipu * tiles + tile] ?? 0;
  const visible = ipus.flatMap((ipu) => [...a.subarray(ipu * tiles, (ipu + 1) * tiles)]);
  const shades = new Shades(visible, room, state.get('colours') === 'relative' && !same);
  const widest = ipus.reduce((most, ipu) => {
    for (let tile = 0; tile < tiles; tile++) most = Math.max(most, Math.abs(second(ipu, tile) - first(ipu, tile)));
    return most;
  }, 1);
  const map = new TileMap({
    label:
      'Tiles coloured by the memory that they need; the table of the fullest tiles in Insights has the same figures',
    ipus,
    tiles,
    colour: (ipu, tile) =>
      same ? difference((second(ipu, tile) - first(ipu, tile)) / widest) : shades.of(first(ipu, tile)),
    tip: (ipu, tile) => {
      const value = first(ipu, tile);
      const lines: TipLine[] = same
        ? [
            ['before', bytes(value)],
            ['after', bytes(second(ipu, tile))],
            ['difference', delta(value, second(ipu, tile), bytes)],
          ]
        : [
            ['needs', `${bytes(value)} (${whole(value)} B)`],
            ['of its memory', percent(value, room)],
          ];
      return [`tile ${whole(tile)} of IPU ${ipu}`, lines];
    },
    onselect: settings.onselect,
  });
  const key = el('div', {
    class: 'scale',
    role: 'img',
    'aria-label': same ? 'blue: less, red: more' : 'dark: empty, yellow: full, red: no room',
  });
  const stops = Array.from({ length: 41 }, (_, n) =>
    css(same ? difference(n / 20 - 1) : shades.of(shades.low + (n / 40) * (shades.most - shades.low))),
  );
  key.style.background = `linear-gradient(to right, ${stops.join(',')})`;
  const choose = toggles('colours', ['empty to full', 'least to most'], shades.relative ? 1 : 0, (index) => {
    state.set({ colours: index ? 'relative' : null });
    settings.again();
  });
  const { over } = settings;
  const room_ = over
    ? `${same ? 'Before: ' : ''}${plural(over, 'tile')} of all IPUs ${over === 1 ? 'needs' : 'need'} more memory than a tile has. `
    : 'Every tile has room. ';
  const what = same ? 'Difference of the bytes on each tile' : 'Tile map';
  const whose = shown < 0 ? plural(before.ipus, 'IPU') : `IPU ${shown}`;
  const element = card(
    `${what}: ${whose}, at the fullest moment`,
    map.element,
    el(
      'div',
      { class: 'controls key' },
      el('span', { class: 'label', text: same ? `−${bytes(widest)}` : bytes(shades.low) }),
      key,
      el('span', { class: 'label', text: same ? `+${bytes(widest)}` : shades.end }),
      same ? null : choose,
      el('span', { class: 'spring' }),
      saveButton(
        () => map.canvas,
        () => 'Memory of tiles',
      ),
    ),
    b && !same ? note('The two reports differ in IPUs or tiles, so the map shows no difference.') : null,
    note(room_ + HOW),
  );
  return { map, element };
}
