// Variables: those on a tile, and those alive in a program step. A server answers; a page without one looks itself.
import type { Source } from './source';
import { Missing, numbers } from './source';
import type { Summary } from './summary_data';

// id, name, module, use, bytes, always live, first and last program step, op of birth, op of death
export type VariableRow = [number, string, string, string, number, number, number, number, string, string];

export interface VariableList {
  known: boolean;
  variables: VariableRow[];
  left_out: [number, number];
}

const MOST = 500;
const COLUMNS = [
  'id',
  'name',
  'module',
  'category',
  'ipu',
  'bytes',
  'always_live',
  'first_step',
  'last_step',
  'op_id',
  'first_tile',
  'tiles',
  'tile_bytes',
];

interface Held {
  count: number;
  text: (name: string, row: number) => string;
  number: (name: string, row: number) => number;
  use: (row: number) => string;
  born: (step: number) => string;
  categories: string[];
}

const held = new WeakMap<Source, Map<string, Promise<Held>>>();

async function load(source: Source, report: string): Promise<Held> {
  const [frame, ops, summary] = await Promise.all([
    source.frame(report, 'variables', COLUMNS),
    opNames(source, report),
    source.json(report, 'summary') as Promise<Summary>,
  ]);
  const steps = await source.frame(report, 'program_steps', ['op_id']).then(
    (found) => found.columns.op_id as Float64Array,
    () => new Float64Array(0),
  );
  const categories = summary.categories.map((each) => each[0]);
  return {
    count: frame.rows,
    categories,
    text: (name, row) => (frame.columns[name] as string[])[row] as string,
    number: (name, row) => (frame.columns[name] as Float64Array)[row] as number,
    use: (row) => categories[(frame.columns.category as Float64Array)[row] as number] ?? '',
    born: (step) => ops.get(steps[step] ?? -1) ?? '',
  };
}

function here(source: Source, report: string): Promise<Held> {
  const reports = held.get(source) ?? new Map<string, Promise<Held>>();
  held.set(source, reports);
  const found = reports.get(report) ?? load(source, report);
  reports.set(report, found);
  return found;
}

// names of ops by id
export async function opNames(source: Source, report: string): Promise<Map<number, string>> {
  const ops = await source.frame(report, 'ops', ['id', 'name']);
  const ids = ops.columns.id as Float64Array,
    names = ops.columns.name as string[];
  return new Map(names.map((name, row) => [ids[row] as number, name]));
}

function row(from: Held, at: number, size: number): VariableRow {
  const always = from.number('always_live', at),
    first = from.number('first_step', at),
    last = from.number('last_step', at);
  return [
    from.number('id', at),
    from.text('name', at),
    from.text('module', at),
    from.use(at),
    size,
    always,
    first,
    last,
    always ? '' : from.born(first),
    always ? '' : from.born(last),
  ];
}

function listed(rows: VariableRow[], known: boolean): VariableList {
  rows.sort((a, b) => b[4] - a[4]);
  const rest = rows.slice(MOST);
  return {
    known,
    variables: rows.slice(0, MOST),
    left_out: [rest.length, rest.reduce((sum, each) => sum + each[4], 0)],
  };
}

// at the fullest moment of the IPU
export async function onTile(source: Source, report: string, ipu: number, tile: number): Promise<VariableList> {
  if (source.served) return source.json(report, 'tile_variables', { ipu, tile }) as Promise<VariableList>;
  const from = await here(source, report);
  if (!from.count) return { known: false, variables: [], left_out: [0, 0] };
  const tiles = (await source.json(report, 'tiles', { ipu })) as { bands: [string, number, { i4?: string }][] };
  const summary = (await source.json(report, 'summary')) as Summary;
  const peak = Number(summary.ipus[ipu]?.peakStep ?? -1);
  const rows: VariableRow[] = [];
  const rest = new Map(tiles.bands.map(([name, , values]): [string, number] => [name, numbers(values)[tile] ?? 0]));
  for (let at = 0; at < from.count; at++) {
    if (from.number('ipu', at) !== ipu || from.number('tile_bytes', at) < 0) continue;
    if (
      !from.number('always_live', at) &&
      !(from.number('first_step', at) <= peak && peak <= from.number('last_step', at))
    )
      continue;
    const offset = tile - from.number('first_tile', at),
      count = from.number('tiles', at),
      each = from.number('tile_bytes', at);
    if (offset < 0 || offset >= count) continue;
    const size = offset === count - 1 ? from.number('bytes', at) - each * (count - 1) : each;
    if (size <= 0) continue;
    rows.push(row(from, at, size));
    rest.set(from.use(at), (rest.get(from.use(at)) ?? 0) - size);
  }
  // what the named ones leave of each use
  for (const [use, size] of rest) if (size > 0) rows.push([-1, '(others)', '', use, size, 1, -1, -1, '', '']);
  return listed(rows, true);
}

export async function alive(source: Source, report: string, ipu: number, step: number): Promise<VariableList> {
  if (source.served) return source.json(report, 'alive', { ipu, step }) as Promise<VariableList>;
  const from = await here(source, report);
  if (!from.count) {
    try {
      return (await source.json(report, 'alive', { ipu, step })) as VariableList;
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      return { known: false, variables: [], left_out: [0, 0] };
    }
  }
  const rows: VariableRow[] = [];
  for (let at = 0; at < from.count; at++) {
    if (from.number('ipu', at) !== ipu || from.number('always_live', at)) continue;
    if (from.number('first_step', at) <= step && step <= from.number('last_step', at))
      rows.push(row(from, at, from.number('bytes', at)));
  }
  return listed(rows, true);
}

// what is there for the whole run; the largest
export async function always(source: Source, report: string, ipu: number): Promise<VariableList> {
  if (source.served) return source.json(report, 'alive', { ipu, step: 0, always: 1 }) as Promise<VariableList>;
  const from = await here(source, report);
  const rows: VariableRow[] = [];
  for (let at = 0; at < from.count; at++) {
    if (from.number('ipu', at) === ipu && from.number('always_live', at))
      rows.push(row(from, at, from.number('bytes', at)));
  }
  return listed(rows, from.count > 0);
}
