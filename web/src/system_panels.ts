// Below the timeline of a host trace: one event with its metadata and call tree, and the labels that take longest.
import { button, card, el, note } from './elements';
import { percent, plural, whole } from './format';
import type { EventDetail, Overview, Selection, TreeNode } from './system_data';
import { DataTable } from './table';
import { microseconds } from './timeline/clock';

const DEEP = 12;

// JSON as nested lists of text; long lists are cut
export function metadataNode(value: unknown, depth = 0): Node {
  if (value === null || typeof value !== 'object') return el('code', { text: typeof value === 'string' ? value : JSON.stringify(value) ?? '' });
  const entries = Object.entries(value).slice(0, 200);
  if (depth >= DEEP) return el('code', { text: '…' });
  return el('dl', { class: 'facts' }, ...entries.flatMap(([name, each]) => [el('dt', { text: name }), el('dd', {}, metadataNode(each, depth + 1))]));
}

function callTree(nodes: TreeNode[]): HTMLElement {
  const all = nodes[0]?.total || 1;
  const depths: number[] = [];
  const body = nodes.map((node, at) => {
    const depth = node.parent >= 0 && node.parent < at ? (depths[node.parent] ?? 0) + 1 : 0;
    depths.push(depth);
    const name = el('td', { class: 'name', text: node.label });
    name.style.paddingLeft = `${0.4 + 1.1 * Math.min(depth, 30)}rem`;
    const bar = el('div', { class: 'tree-bar' });
    bar.style.width = `${Math.max(0, Math.min(100, (100 * node.total) / all))}%`;
    return el('tr', {}, name, el('td', { class: 'number', text: whole(node.count) }), el('td', { class: 'number', text: microseconds(node.total) }),
      el('td', { class: 'number', text: percent(node.total, all) }), el('td', { class: 'number', text: microseconds(node.self) }), el('td', { class: 'bar-cell' }, bar));
  });
  const head = ['label', 'count', 'total', 'share', 'self', ''].map((text, at) => el('th', { class: at && text ? 'number' : '', scope: 'col', text }));
  return el('div', { class: 'scroll' }, el('table', { 'aria-label': 'call tree' }, el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...body)));
}

export function eventCard(event: EventDetail, tree: TreeNode[], overview: Overview, moment: (time: number) => string, open: (id: number) => void): HTMLElement {
  const row = overview.rows.find((each) => each.id === event.row), channel = overview.channels.find((each) => each.id === event.channel);
  const link = (text: string, id: number) => button(text, () => open(id), { class: 'link' });
  const stack = el('span', {});
  event.stack.forEach((each) => stack.append(link(each.label, each.id), ' › '));
  stack.append(event.label);
  const same = event.same_label;
  const around = el('span', { class: 'controls around' }, button('‹ before', () => open(event.previous), { class: 'small', disabled: event.previous < 0 }),
    button('next ›', () => open(event.next), { class: 'small', disabled: event.next < 0 }));
  const lines: [string, string | Node | null][] = [
    ['events', event.together ? `${plural(event.together, 'event')} as one block; the label is that of the longest` : null],
    [event.together ? 'from first to last' : 'duration', event.kind === 'instant' ? 'instant event' : `${microseconds(event.duration)}${event.unfinished ? ', not finished when the file was written' : ''}${event.modelled ? ', modelled' : ''}`],
    ['own time', event.kind === 'instant' || event.together ? null : `${microseconds(event.self)}, ${percent(event.self, event.duration)}`],
    ['at', moment(event.start)],
    ['thread', row ? (row.kind === 'device' ? 'IPU, modelled' : row.name || `thread ${row.tid}`) : null],
    ['channel', channel?.name ?? null],
    ['inside', event.stack.length ? stack : null],
    ['same label', same.count > 1 ? el('span', {}, `${plural(same.count, 'event')}, ${microseconds(same.total)} in total; ${Number.isNaN(same.least) ? 'up to' : `${microseconds(same.least)} to`} ${microseconds(same.most)}, ${microseconds(same.mean)} on average  `, around) : null],
    ['metadata', event.metadata === null || event.metadata === undefined ? null : metadataNode(event.metadata)],
  ];
  return card(event.label || '(no label)',
    el('dl', { class: 'facts' }, ...lines.flatMap(([name, value]) => (value ? [el('dt', { text: name }), el('dd', {}, value)] : []))),
    tree.length > 1 ? el('h3', { text: 'Call tree', class: 'gap' }) : null, tree.length > 1 ? callTree(tree) : null,
    event.children_total > event.children.length ? note(`The first ${whole(event.children.length)} of ${whole(event.children_total)} inner events are listed.`) : null);
}

export function labelTable(found: Selection, overview: Overview, find: (label: string) => void): HTMLElement {
  const channel = (id: number) => overview.channels.find((each) => each.id === id)?.name ?? '';
  const all = Math.max(1e-9, found.end - found.start);
  const table = new DataTable<Selection['labels'][number]>([
    { title: 'label', value: (row) => row.label, width: 'minmax(9rem, 3fr)' },
    { title: 'channel', value: (row) => channel(row.channel), width: 'minmax(5rem, 1fr)' },
    { title: 'count', number: true, value: (row) => row.count, text: (row) => whole(row.count) },
    { title: 'total', number: true, value: (row) => row.total, text: (row) => microseconds(row.total), hint: 'the sum of the durations of all events with this label' },
    { title: 'of the time', number: true, value: (row) => row.total / all, text: (row) => percent(row.total, all), hint: 'more than 100% if several threads work at once' },
    { title: 'self', number: true, value: (row) => row.self, text: (row) => microseconds(row.self), hint: 'without the events inside' },
    { title: 'mean', number: true, value: (row) => row.total / Math.max(1, row.count), text: (row) => microseconds(row.total / Math.max(1, row.count)) },
    { title: 'longest', number: true, value: (row) => row.most, text: (row) => microseconds(row.most) },
  ], { name: 'labels', sort: 3, height: 420, filter: (row) => row.label.toLowerCase(), pick: (row) => find(row.label),
    ...(found.total > found.labels.length ? { note: `the longest of ${whole(found.total)}` } : {}) });
  table.setRows(found.labels);
  if (!found.rough) return table.element;
  return el('div', {}, note('Approximate: this page holds part of the area as blocks of several events, which count as events of their longest label. “tremula view --serve” gives exact figures.'), table.element);
}
