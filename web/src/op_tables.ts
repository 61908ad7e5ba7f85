// Tables of ops: single ones, those of two reports matched by name, sums by layer, kind, pass or line.
import { el } from './elements';
import { bytes, compact, delta, percent, whole } from './format';
import type { Op } from './ops';
import { shortName } from './ops';
import type { Pair } from './pairs';
import { paired } from './pairs';
import type { State } from './state';
import type { TableColumn, TableOptions } from './table';
import { DataTable, numberColumn } from './table';

export const GROUPS = [
  'single ops',
  'layer (1 name of the module)',
  'layer (2 names)',
  'layer (3 names)',
  'module',
  'kind of op',
  'pass',
  'source line',
];

export function groupOf(op: Op, by: number): string {
  const mark = op.module.includes('/') ? '/' : '.';
  if (by >= 1 && by <= 3) return op.module.split(mark).slice(0, by).join(mark) || '(outside modules)';
  if (by === 4) return op.module || '(outside modules)';
  if (by === 5) return op.target;
  if (by === 6) return op.phase;
  return op.source || '(unknown)';
}

const text = (op: Op) =>
  `${op.name}\u0000${op.target}\u0000${op.module}\u0000${op.source}\u0000${op.phase}`.toLowerCase();

const work = (flops: number) => (flops ? compact(flops) : '–');

type Remembered = Pick<TableOptions<never>, 'sort' | 'up' | 'wanted' | 'onfilter' | 'onsort'>;

// sorting and filter, in the address
function remembered(state: State, columns: number, sort: number): Remembered {
  return {
    sort: state.number('sort', sort, 0, columns - 1),
    ...(state.get('up') ? { up: state.get('up') === '1' } : {}),
    wanted: state.get('find'),
    onfilter: (found) => state.set({ find: found }),
    onsort: (column, up) => state.set({ sort: column, up: up ? 1 : 0 }),
  };
}

// `all` are the cycles that shares refer to; `left` says what is not here
export function opTable(ops: Op[], all: number, left: string, state: State, pick: (op: Op) => void): HTMLElement {
  const columns: TableColumn<Op>[] = [
    { title: 'op', value: (op) => shortName(op.name), width: 'minmax(9rem, 2fr)' },
    { title: 'computes', value: (op) => op.target, width: 'minmax(7rem, 1fr)' },
    { title: 'module', value: (op) => op.module, width: 'minmax(8rem, 1.5fr)' },
    { title: 'pass', value: (op) => op.phase, width: 'minmax(5rem, 6.5rem)' },
    numberColumn('IPU', (op) => op.ipu, String, '3.2rem'),
    numberColumn('cycles per step', (op) => op.cycles, whole, '8.5rem'),
    numberColumn(
      'share',
      (op) => op.cycles,
      (cycles) => percent(cycles, all),
      '4.5rem',
    ),
    numberColumn(
      'exchange',
      (op) => (op.cycles ? op.exchange / op.cycles : 0),
      (share) => percent(share, 1),
      '5.2rem',
      'share of its cycles',
    ),
    numberColumn('FLOP', (op) => op.flops, work, '5rem'),
    numberColumn('code', (op) => op.code, bytes, '5.5rem', 'of its plan, on the fullest tile'),
    { title: 'source', value: (op) => op.source.replace(/^.*[\\/]/, ''), width: 'minmax(7rem, 1fr)' },
  ];
  return new DataTable(columns, {
    name: 'ops',
    filter: text,
    placeholder: 'Filter: name, kind, module, file, pass (f)',
    pick,
    ...remembered(state, columns.length, 5),
    ...(left ? { note: left } : {}),
  }).setRows(ops).element;
}

// `cut`: only the largest ops are here, so one that is missing may be small and its difference is not known
export function opPairTable(
  before: Op[],
  after: Op[],
  cut: boolean,
  state: State,
  pick: (op: Op, later: boolean) => void,
): HTMLElement {
  type Row = Pair<Op>;
  const known = (pair: Row) => !cut || (pair.before !== null && pair.after !== null);
  const cycles = (op: Op | null) => op?.cycles ?? 0;
  const one = (pair: Row) => (pair.before ?? pair.after) as Op;
  const by = (pair: Row) => cycles(pair.after) - cycles(pair.before);
  const columns: TableColumn<Row>[] = [
    { title: 'op', value: (pair) => shortName(one(pair).name), width: 'minmax(9rem, 2fr)' },
    { title: 'computes', value: (pair) => one(pair).target },
    { title: 'module', value: (pair) => one(pair).module, width: 'minmax(8rem, 1.5fr)' },
    { title: 'pass', value: (pair) => one(pair).phase, width: 'minmax(5rem, 6.5rem)' },
    numberColumn(
      'cycles before',
      (pair) => cycles(pair.before),
      (value, pair) => (pair.before ? whole(value) : '–'),
      '8.5rem',
    ),
    numberColumn(
      'cycles after',
      (pair) => cycles(pair.after),
      (value, pair) => (pair.after ? whole(value) : '–'),
      '8.5rem',
    ),
    {
      title: 'difference',
      number: true,
      value: (pair) => (known(pair) ? Math.abs(by(pair)) : 0),
      width: '11rem',
      cell: (pair) =>
        el('span', {
          class: by(pair) > 0 ? 'bad' : by(pair) < 0 ? 'good' : '',
          text: known(pair) ? delta(cycles(pair.before), cycles(pair.after), compact) : 'only the largest ops are here',
        }),
    },
  ];
  return new DataTable(columns, {
    name: 'ops matched by name',
    filter: (pair) => text(one(pair)),
    pick: (pair) => pick(one(pair), pair.before === null),
    ...remembered(state, columns.length, 6),
  }).setRows(paired(before, after, (op) => `${op.name}\u0000${op.phase}`)).element;
}

interface Group {
  name: string;
  ops: number;
  before: number;
  after: number;
  flops: number;
  code: number;
  exchange: number;
}

function groups(ops: Op[], others: Op[] | null, by: number): Group[] {
  const found = new Map<string, Group>();
  const group = (op: Op): Group => {
    const name = groupOf(op, by);
    const made = found.get(name) ?? { name, ops: 0, before: 0, after: 0, flops: 0, code: 0, exchange: 0 };
    found.set(name, made);
    return made;
  };
  for (const op of ops) {
    const mine = group(op);
    mine.ops += op.merged;
    mine.before += op.cycles;
    mine.flops += op.flops;
    mine.exchange += op.exchange;
    mine.code = Math.max(mine.code, op.code);
  }
  for (const op of others ?? []) group(op).after += op.cycles;
  return [...found.values()];
}

export function groupTable(
  ops: Op[],
  others: Op[] | null,
  by: number,
  all: number,
  pick: (name: string) => void,
): HTMLElement {
  const columns: TableColumn<Group>[] = [
    { title: GROUPS[by] as string, value: (group) => group.name, width: 'minmax(12rem, 3fr)' },
    numberColumn('ops', (group) => group.ops, whole, '5rem'),
    numberColumn(others ? 'cycles before' : 'cycles per step', (group) => group.before, whole, '9.5rem'),
    ...(others
      ? [
          numberColumn<Group>('cycles after', (group) => group.after, whole, '9.5rem'),
          numberColumn<Group>(
            'difference',
            (group) => Math.abs(group.after - group.before),
            (_, group) => delta(group.before, group.after, compact),
            '11rem',
          ),
        ]
      : [
          numberColumn<Group>(
            'share',
            (group) => group.before,
            (cycles) => percent(cycles, all),
            '5rem',
          ),
          numberColumn<Group>(
            'exchange',
            (group) => (group.before ? group.exchange / group.before : 0),
            (share) => percent(share, 1),
            '6rem',
          ),
          numberColumn<Group>('FLOP', (group) => group.flops, work, '6rem'),
          numberColumn<Group>('largest code', (group) => group.code, bytes, '7rem'),
        ]),
  ];
  return new DataTable(columns, {
    name: 'groups',
    filter: (group) => group.name.toLowerCase(),
    sort: others ? 4 : 2,
    pick: (group) => pick(group.name),
  }).setRows(groups(ops, others, by)).element;
}
