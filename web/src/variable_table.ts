// Tables of variables, of one report or of two.
import { el, svg } from './elements';
import { bytes, delta, whole } from './format';
import { paired } from './pairs';
import type { Pair } from './pairs';
import { DataTable } from './table';
import type { TableColumn, TableOptions } from './table';
import type { VariableRow } from './variables';

// from birth to death, on an axis from program step `low` to `high`; a line at the cursor
function lifeBar(row: VariableRow, low: number, high: number, at: number): HTMLElement {
  const [, , , , , always, first, last] = row;
  const root = svg('svg', { viewBox: '0 0 300 12', height: 12, preserveAspectRatio: 'none' });
  const from = always ? low : first,
    to = always ? high : last,
    all = Math.max(1, high - low + 1);
  root.append(
    svg('rect', { x: 0, y: 5.5, width: 300, height: 1, fill: 'currentColor', opacity: 0.15 }),
    svg('rect', {
      x: (300 * (from - low)) / all,
      y: 1,
      width: Math.max(3, (300 * (to - from + 1)) / all),
      height: 10,
      fill: always ? '#3d6fd9' : '#d1495b',
    }),
  );
  if (at >= 0)
    root.append(svg('rect', { x: (300 * (at - low)) / all, y: 0, width: 2, height: 12, fill: 'currentColor' }));
  return el(
    'span',
    {
      class: 'life',
      role: 'img',
      'aria-label': always ? 'alive for the whole step' : `alive from program step ${first} to ${last}`,
    },
    root,
  );
}

const text = (row: VariableRow) =>
  `${row[1]}\u0000${row[2]}\u0000${row[3]}\u0000${row[8]}\u0000${row[9]}`.toLowerCase();

export function variableTable(
  rows: VariableRow[],
  steps: number,
  at: number,
  options: Partial<TableOptions<VariableRow>> = {},
): DataTable<VariableRow> {
  const columns: TableColumn<VariableRow>[] = [
    { title: 'variable', value: (row) => row[1], width: 'minmax(10rem, 2fr)' },
    { title: 'module', value: (row) => row[2] },
    { title: 'use', value: (row) => row[3], width: 'minmax(6rem, 9rem)' },
    { title: 'bytes', number: true, value: (row) => row[4], text: (row) => bytes(row[4]) },
    {
      title: 'made by',
      value: (row) => row[8] || (row[5] ? '(before the step)' : ''),
      hint: 'the op of the first program step in which it is alive',
    },
    {
      title: 'last used by',
      value: (row) => row[9] || (row[5] ? '(after the step)' : ''),
      hint: 'the op of the last program step in which it is alive',
    },
  ];
  if (steps > 0) {
    const born = rows.filter((row) => !row[5]);
    const low = born.reduce((least, row) => Math.min(least, row[6]), at < 0 ? steps : at),
      high = born.reduce((most, row) => Math.max(most, row[7]), at);
    columns.push({
      title: `alive (${whole(low)} – ${whole(high)})`,
      hint: 'program steps; the line is the cursor',
      value: (row) => row[6],
      cell: (row) => lifeBar(row, low, high, at),
      width: 'minmax(9rem, 1.5fr)',
    });
  }
  return new DataTable(columns, {
    name: 'variables',
    sort: 3,
    filter: text,
    placeholder: 'Filter by name, module, use, op (f)',
    ...options,
  }).setRows(rows);
}

// one use of both reports, or of two tiles, or of two program steps
export function variableDifference(
  before: VariableRow[],
  after: VariableRow[],
  names: [string, string],
): DataTable<Pair<VariableRow>> {
  const size = (row: VariableRow | null) => row?.[4] ?? 0;
  const rows = paired(before, after, (row) => `${row[1]}\u0000${row[3]}`).filter(
    (pair) => size(pair.before) !== size(pair.after) || pair.before?.[4] !== undefined,
  );
  const columns: TableColumn<Pair<VariableRow>>[] = [
    {
      title: 'variable',
      value: (pair) => (pair.before ?? (pair.after as VariableRow))[1],
      width: 'minmax(10rem, 2fr)',
    },
    { title: 'module', value: (pair) => (pair.before ?? (pair.after as VariableRow))[2] },
    { title: 'use', value: (pair) => (pair.before ?? (pair.after as VariableRow))[3], width: 'minmax(6rem, 9rem)' },
    {
      title: names[0],
      number: true,
      value: (pair) => size(pair.before),
      text: (pair) => (pair.before ? bytes(size(pair.before)) : '–'),
    },
    {
      title: names[1],
      number: true,
      value: (pair) => size(pair.after),
      text: (pair) => (pair.after ? bytes(size(pair.after)) : '–'),
    },
    {
      title: 'difference',
      number: true,
      value: (pair) => Math.abs(size(pair.after) - size(pair.before)),
      text: (pair) => delta(size(pair.before), size(pair.after), bytes),
      width: 'minmax(9rem, 11rem)',
    },
  ];
  return new DataTable(columns, {
    name: 'variables',
    sort: 5,
    filter: (pair) => text(pair.before ?? (pair.after as VariableRow)),
  }).setRows(rows);
}

export function leftOut(list: { left_out: [number, number] }): string {
  return list.left_out[0]
    ? `${whole(list.left_out[0])} smaller ones with ${bytes(list.left_out[1])} are not listed.`
    : '';
}
