// Insights: the tiles, vertices, exchanges and variables that take most memory, and what to do about each.
import { pick, USES } from './colours';
import { button, card, el, note, swatch } from './elements';
import { bytes, compact, percent, whole } from './format';
import type { Pair } from './pairs';
import { deltaCell, paired } from './pairs';
import { plainTable } from './table';
import type { Context, View } from './view';

interface Insights {
  room: number;
  uses: [string, number, number, string][];
  tiles: [number, number, number, [string, number][]][];
  vertices: [string, number, number, number][];
  exchanges: [string, number, number, number][];
  variables: [string, string, string, number, number][];
}

const use = (name: string, index: number) => el('span', { class: 'use' }, swatch(pick(USES, name, index)), ` ${name}`);

type Heads = [string, boolean?][];

// a use of memory above this share of a tile gets advice
const ADVISED = 0.05;

const SHOWN = 15,
  SHOWN_PAIRS = 25;

// rows of both reports by name, largest difference first; what is in one of the two lists only may be small in the other, so its difference is not known
function compared<T>(
  name: string,
  what: string,
  before: T[],
  after: T[],
  key: (row: T) => string,
  size: (row: T) => number,
): HTMLElement {
  const value = (row: T | null) => (row === null ? 0 : size(row));
  const by = (pair: Pair<T>) => (pair.before && pair.after ? Math.abs(value(pair.after) - value(pair.before)) : -1);
  const rows = paired(before, after, key).sort(
    (a, b) => by(b) - by(a) || value(b.before ?? b.after) - value(a.before ?? a.after),
  );
  const known = rows.filter((pair) => pair.before && pair.after).slice(0, SHOWN_PAIRS),
    rest = rows.filter((pair) => !pair.before || !pair.after).slice(0, SHOWN_PAIRS);
  return plainTable(
    what,
    [[name], ['before', true], ['after', true], ['difference', true]],
    [...known, ...rest].map((pair) => [
      pair.name.replaceAll('\u0000', ', '),
      pair.before ? bytes(size(pair.before)) : 'not among the largest',
      pair.after ? bytes(size(pair.after)) : 'not among the largest',
      pair.before && pair.after ? deltaCell(value(pair.before), value(pair.after), bytes, true) : '',
    ]),
  );
}

function uses(a: Insights, b: Insights | null): HTMLElement {
  if (b)
    return card(
      'What fills the fullest tile',
      compared(
        'use',
        'uses',
        a.uses,
        b.uses,
        (row) => row[0],
        (row) => row[2],
      ),
    );
  const advised = a.uses.some((row) => row[2] > ADVISED * a.room && row[3]);
  const heads: Heads = [
    ['use'],
    ['on the fullest tile', true],
    ['share of the tile', true],
    ['on all IPUs', true],
  ];
  return card(
    'What fills the fullest tile',
    plainTable(
      'uses',
      heads,
      a.uses.map(([name, total, tile, remedy], index) => [
        el('div', {}, use(name, index), tile > ADVISED * a.room && remedy ? note(remedy) : null),
        bytes(tile),
        percent(tile, a.room),
        bytes(total),
      ]),
    ),
    note(
      advised
        ? 'Uses above 5% of the tile have general advice. The Summary lists changes with their modelled effect.'
        : 'No use takes more than 5% of the tile, so there is little to save. The Summary lists changes with their modelled effect.',
    ),
  );
}

function tiles(a: Insights, b: Insights | null, context: Context): HTMLElement {
  if (b)
    return card(
      'Fullest tiles',
      compared(
        'IPU, tile',
        'tiles',
        a.tiles,
        b.tiles,
        (row) => `IPU ${row[0]}\u0000tile ${row[1]}`,
        (row) => row[2],
      ),
    );
  return card(
    'Fullest tiles',
    plainTable(
      'tiles',
      [['tile'], ['bytes', true], ['share of the tile', true], ['mostly']],
      a.tiles
        .slice(0, SHOWN)
        .map(([ipu, tile, size, most]) => [
          button(`tile ${whole(tile)} of IPU ${ipu}`, () => context.go('memory', { ipu, tiles: tile }), {
            class: 'link short',
          }),
          bytes(size),
          percent(size, a.room),
          most.map(([name, part]) => `${name} ${percent(part, size)}`).join(', '),
        ]),
    ),
    note(
      'A program fits if its fullest tile does. If a few tiles are much fuller than the rest, spread what they hold. If all tiles are full, use more IPUs or keep less in memory.',
    ),
  );
}

function vertices(a: Insights, b: Insights | null): HTMLElement | null {
  if (!a.vertices.length) return null;
  if (b)
    return card(
      'Vertices with the most code and state',
      compared(
        'type',
        'vertices',
        a.vertices,
        b.vertices,
        (row) => row[0],
        (row) => row[1] + row[2],
      ),
    );
  return card(
    'Vertices with the most code and state',
    plainTable(
      'vertices',
      [['type'], ['code', true], ['state', true], ['vertices', true]],
      a.vertices.slice(0, SHOWN).map(([name, code, state, count]) => [name, bytes(code), bytes(state), whole(count)]),
    ),
    note(
      'Each tile holds one copy of the code of every vertex type that it uses, so fewer different shapes and types need less code. State grows with the number of vertices: more work per vertex needs less state.',
    ),
  );
}

function exchanges(a: Insights, b: Insights | null, context: Context): HTMLElement | null {
  if (!a.exchanges.length) return null;
  if (b)
    return card(
      'Exchanges with the most code',
      compared(
        'exchange',
        'exchanges',
        a.exchanges,
        b.exchanges,
        (row) => row[0],
        (row) => row[1],
      ),
    );
  return card(
    'Exchanges with the most code',
    plainTable(
      'exchanges',
      [['exchange'], ['code on all tiles', true], ['cycles per run', true]],
      a.exchanges
        .slice(0, SHOWN)
        .map(([name, code, cycles, node]) => [
          button(name, () => context.go('program', { node }), { class: 'link' }),
          bytes(code),
          compact(cycles),
        ]),
    ),
    note(
      'Exchange code tells each tile when to send and when to receive. Blocks that repeat as one function share it. Rearranging data and moving it in many small pieces need more of it.',
    ),
  );
}

function variables(a: Insights, b: Insights | null): HTMLElement | null {
  if (!a.variables.length) return null;
  if (b)
    return card(
      'Largest variables at the fullest moment',
      compared(
        'variable',
        'variables',
        a.variables,
        b.variables,
        (row) => `${row[0]}\u0000IPU ${row[3]}`,
        (row) => row[4],
      ),
    );
  return card(
    'Largest variables at the fullest moment',
    plainTable(
      'variables',
      [['variable'], ['module'], ['use'], ['IPU', true], ['bytes', true]],
      a.variables
        .slice(0, SHOWN)
        .map(([name, module, kind, ipu, size], index) => [name, module, use(kind, index), whole(ipu), bytes(size)]),
    ),
    note(
      'Weights and optimizer state stay in memory for the whole run. Activations stay from the op that makes them to the last one that reads them: see Liveness.',
    ),
  );
}

export const insightsView: View = {
  id: 'insights',
  title: 'Insights',
  lead: 'What takes the most memory, and what you can do about it.',
  key: 'i',
  async render(host, context) {
    const [a, b] = (await context.both('insights')) as [Insights, Insights | null];
    for (const part of [
      uses(a, b),
      el('div', { class: 'columns' }, tiles(a, b, context), variables(a, b)),
      el('div', { class: 'columns' }, vertices(a, b), exchanges(a, b, context)),
    ])
      host.append(part);
  },
};
