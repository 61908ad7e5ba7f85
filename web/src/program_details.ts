// One node of the program: type, cycles, compute set, vertices, code, op, source line.
import { button, card, el, note } from './elements';
import { bytes, plural, whole } from './format';
import type { Details } from './program_tree';
import { plainTable } from './table';
import type { Context } from './view';

export function programCard(context: Context, found: Details, label: string, hidden: number): HTMLElement {
  const [, type, kind, name, repeats, cycles, , children] = found.node;
  const rows: (string | Node)[][] = [
    ['type', type],
    ['kind', kind],
    ['cycles, all repeats', whole(cycles)],
    ['repeats', whole(repeats)],
    ['inside', plural(children, 'program')],
  ];
  if (found.code_bytes) rows.push(['code on all tiles', bytes(found.code_bytes)]);
  if (found.compute_set)
    rows.push(
      ['compute set', found.compute_set[0]],
      ['vertices', whole(found.compute_set[1])],
      ['slowest tile', `${whole(found.compute_set[2])} cycles`],
    );
  const op = found.op;
  if (op) {
    rows.push(
      ['op', button(op[1], () => context.go('operations', { op: op[0] }), { class: 'link' })],
      ['computes', op[2]],
    );
    if (op[3]) rows.push(['module', op[3]]);
    if (op[4]) rows.push(['source', el('code', { text: op[4] })]);
  }
  for (const [title, layer, file, fn, at] of found.context)
    rows.push([layer || 'context', title + (file ? ` (${file}:${at}${fn ? ` in ${fn}` : ''})` : '')]);
  return card(
    label + name,
    plainTable('details', [['what'], ['value']], rows),
    found.vertices.length
      ? plainTable(
          'vertices',
          [['vertex type'], ['count', true], ['tiles', true]],
          found.vertices.map(([vertex, count, tiles]) => [vertex, whole(count), whole(tiles)]),
        )
      : null,
    hidden > 0
      ? note(`${plural(hidden, 'smaller program')} inside ${hidden === 1 ? 'is' : 'are'} not on this page.`)
      : null,
  );
}
