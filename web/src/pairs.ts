// Two reports: rows matched by name, with their differences.
import { el } from './elements';
import { delta } from './format';

// the difference as text; coloured where less is better
export function deltaCell(before: number, after: number, format: (value: number) => string, less = false): HTMLElement {
  const tone = !less || before === after ? '' : after < before ? 'good' : 'bad';
  return el('span', { class: tone, text: delta(before, after, format) });
}

export interface Pair<T> {
  name: string;
  before: T | null;
  after: T | null;
}

// rows that no name brings together, by a looser one: `x 512` and `x 1024` are the same loop
export function looselyPaired<T>(before: T[], after: T[], name: (row: T) => string): Pair<T>[] {
  const exact = paired(before, after, name);
  const alone = (rows: (T | null)[]) => rows.filter((row): row is T => row !== null);
  const loose = paired(
    alone(exact.map((pair) => (pair.after ? null : pair.before))),
    alone(exact.map((pair) => (pair.before ? null : pair.after))),
    (row) => name(row).replace(/\d+/g, '#'),
  );
  const partners = new Map(
    loose.filter((pair) => pair.before && pair.after).map((pair) => [pair.before as T, pair.after as T]),
  );
  const taken = new Set(partners.values());
  return exact
    .filter((pair) => pair.before || !taken.has(pair.after as T))
    .map((pair) => (pair.before && !pair.after ? { ...pair, after: partners.get(pair.before) ?? null } : pair));
}

// rows of the same name are paired in their order
export function paired<T>(before: T[], after: T[], name: (row: T) => string): Pair<T>[] {
  const waiting = new Map<string, T[]>();
  for (const row of after) {
    const list = waiting.get(name(row));
    if (list) list.push(row);
    else waiting.set(name(row), [row]);
  }
  for (const list of waiting.values()) list.reverse();
  const found: Pair<T>[] = before.map((row) => ({
    name: name(row),
    before: row,
    after: waiting.get(name(row))?.pop() ?? null,
  }));
  for (const list of waiting.values())
    for (const row of list.reverse()) found.push({ name: name(row), before: null, after: row });
  return found;
}
