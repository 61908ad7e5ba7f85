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
      'What the fullest tile is filled with',
      compared(
        'use',
        'uses',
        a.uses,
        b.uses,
        (row) => row[0],
        (row) => row[2],
      ),
    );
  const heads: Heads = [
    ['use'],
    ['on the fullest tile', true],
    ['of its memory', true],
    ['on all IPUs', true],
    ['what to do about it'],
  ];
  return card(
    'What the fullest tile is filled with',
    plainTable(
      'uses',
      heads,
      a.uses.map(([name, total, tile, remedy], index) => [
        use(name, index),
        bytes(tile),
        percent(tile, a.room),
        bytes(total),
        tile > 0.05 * a.room ? remedy : '',
      ]),
    ),
    note('Advice is general where the use is above 5 % of a tile; the Summary has changes whose effect was modelled.'),
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
      [['tile'], ['bytes', true], ['of its memory', true], ['mostly']],
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
      'A program fits when its fullest tile does. If few tiles are much fuller than the others, spread what lies there; if all are full, use more IPUs or keep less.',
    ),
  );
}

function vertices(a: Insights, b: Insights | null): HTMLElement | null {
  if (!a.vertices.length) return null;
  if (b)
    return card(
      'Vertices with most code and state',
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
    'Vertices with most code and state',
    plainTable(
      'vertices',
      [['type'], ['code', true], ['state', true], ['vertices', true]],
      a.vertices.slice(0, SHOWN).map(([name, code, state, count]) => [name, bytes(code), bytes(state), whole(count)]),
    ),
    note(
      'Code is there once for each type and tile that uses it: fewer different shapes and types share more. State grows with the number of vertices: larger pieces of work per vertex need less.',
    ),
  );
}

function exchanges(a: Insights, b: Insights | null, context: Context): HTMLElement | null {
  if (!a.exchanges.length) return null;
  if (b)
    return card(
      'Exchanges with most code',
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
    'Exchanges with most code',
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
      'Exchange code tells each tile when to send and receive. Blocks that repeat as one function share it; rearranged data and many small pieces need more.',
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
      'Weights and their state lie there for the whole run; activations only between the op that makes them and the last one that reads them (see Liveness).',
    ),
  );
}

export const insightsView: View = {
  id: 'insights',
  title: 'Insights',
  lead: 'What takes most memory, and what to do about it.',
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
