// Summary: whether it fits, how fast it is, what limits it, what to change; then what it was modelled with.
import { pick } from './colours';
import type { Child } from './elements';
import { card, el, note } from './elements';
import { bytes, compact, delta, percent, time } from './format';
import { deltaCell } from './pairs';
import { shareBar } from './sharebar';
import type { Figure, Summary, Work } from './summary_data';
import { figure } from './summary_data';
import { counts, figures, jsonTree, options, phases, target } from './summary_tables';
import { plainTable } from './table';
import type { Context, View } from './view';

function big(label: string, value: string, below: string, tone = '', extra: Child = null): HTMLElement {
  return el(
    'div',
    { class: 'card' },
    el('div', { class: 'label', text: label }),
    el('div', { class: `figure ${tone}`, text: value }),
    extra,
    note(below || ' '),
  );
}

function likely(entry: Figure, format: (value: number) => string): string {
  return entry[4] ? `likely ${format(entry[2])} to ${format(entry[3])}` : 'error band not known';
}

const FITS: Record<string, string> = {
  yes: 'Fits',
  likely: 'Likely fits',
  unlikely: 'Probably does not fit',
  no: 'Does not fit',
};

interface Big {
  label: string;
  name: string;
  format(value: number): string;
  less: boolean;
}
const BIG: Big[] = [
  { label: 'Modelled throughput', name: 'throughput', format: (value) => `${compact(value)} samples/s`, less: false },
  { label: 'Modelled time of a step', name: 'seconds_per_step', format: time, less: true },
  { label: 'Fullest tile', name: 'max_tile_bytes', format: bytes, less: true },
  { label: 'Tile balance', name: 'tile_balance', format: (value) => percent(value, 1), less: false },
];

function tiles(a: Summary, b: Summary | null): HTMLElement {
  const found = el('div', { class: 'cards' });
  const [fits, verdict, probability] = a.fits,
    tile = figure(a, 'max_tile_bytes');
  const room = Number(a.target.tile_memory_bytes);
  if (tile) {
    const sure = probability === null ? '' : ` Probability that it fits: ${percent(probability, 1)}.`;
    const chance = (value: number | null) => (value === null ? 'not known' : percent(value, 1));
    const other = b ? `probability that it fits: ${chance(probability)} → ${chance(b.fits[2])}` : '';
    const share = el(
      'div',
      { class: 'meter', role: 'img', 'aria-label': `fullest tile ${percent(tile[0], room)} of its memory` },
      el('div', { class: fits ? 'good' : 'bad' }),
    );
    (share.firstChild as HTMLElement).style.width = `${Math.min(100, (100 * tile[0]) / room)}%`;
    const answer = FITS[verdict] ?? 'Not known',
      later = b ? (FITS[b.fits[1]] ?? 'Not known') : answer;
    found.append(
      big(
        'Does it fit?',
        later === answer ? answer : `${answer} → ${later.toLowerCase()}`,
        other ||
          `The fullest tile needs ${bytes(tile[0])}, ${percent(tile[0], room)} of its memory (${likely(tile, bytes)}).${sure}`,
        fits ? 'good' : 'bad',
        share,
      ),
    );
  }
  for (const each of BIG) {
    const entry = figure(a, each.name),
      after = b ? figure(b, each.name) : null;
    if (!entry || (each.name === 'max_tile_bytes' && !b)) continue;
    const below =
      each.name === 'tile_balance' ? 'mean tile divided by slowest tile, in compute' : likely(entry, each.format);
    if (!after) found.append(big(each.label, each.format(entry[0]), below));
    else {
      const better = after[0] === entry[0] ? '' : after[0] < entry[0] === each.less ? 'good' : 'bad';
      found.append(
        big(
          each.label,
          delta(entry[0], after[0], each.format),
          `${each.format(entry[0])} → ${each.format(after[0])}`,
          better,
        ),
      );
    }
  }
  const most = binding(a),
    later = b ? binding(b) : null;
  if (most)
    found.append(
      big(
        'Bottleneck',
        most[0],
        later ? `${most[1]} of a step → ${later[0]}, ${later[1]}` : `takes ${most[1]} of a step`,
      ),
    );
  return found;
}

// the part of a step that takes most, and its share
function binding(summary: Summary): [string, string] | null {
  const all = summary.breakdown.reduce((sum, part) => sum + part[2], 0);
  const most = [...summary.breakdown].sort((x, y) => y[2] - x[2])[0];
  return most && all ? [most[1], percent(most[2], all)] : null;
}

function advice(summary: Summary, title: string): HTMLElement {
  const list = summary.advice
    .slice(0, 3)
    .map(([name, effect, cause, cost, code]) =>
      el(
        'li',
        {},
        el('b', { text: name }),
        el('p', { text: effect }),
        cause ? note(`From ${cause}.`) : null,
        cost ? note(`Cost: ${cost}`) : null,
        code.length ? el('pre', { text: code.join('\n') }) : null,
      ),
    );
  return card(
    title,
    ...summary.verdict.map((text) => el('p', { text })),
    el('p', { class: 'work' }),
    list.length
      ? el('ol', { class: 'advice' }, ...list)
      : note('This profile holds no advice. Run “tremula estimate run PROGRAM” to get some.'),
  );
}

function breakdown(a: Summary, b: Summary | null): HTMLElement | null {
  if (!a.breakdown.length) return null;
  const clock = Number(a.target.clock_hz);
  const bar = (summary: Summary) =>
    shareBar(
      summary.breakdown.map(([name, title, cycles, colour], index) => [title, cycles, colour || pick({}, name, index)]),
      (cycles) => time(cycles / Number(summary.target.clock_hz)),
    );
  if (!b) return card('Where the time of a step goes', bar(a));
  const names = [...new Set([...a.breakdown, ...b.breakdown].map((part) => part[0]))];
  const of = (summary: Summary, name: string) => summary.breakdown.find((part) => part[0] === name);
  const rows = names
    .map((name): [string, number, number] => [
      of(a, name)?.[1] ?? of(b, name)?.[1] ?? name,
      (of(a, name)?.[2] ?? 0) / clock,
      (of(b, name)?.[2] ?? 0) / Number(b.target.clock_hz),
    ])
    .sort((x, y) => Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]));
  return card(
    'Where the time of a step goes',
    el('p', { class: 'label', text: 'before' }),
    bar(a),
    el('p', { class: 'label', text: 'after' }),
    bar(b),
    plainTable(
      'parts of a step',
      [['part'], ['before', true], ['after', true], ['difference', true]],
      rows.map(([name, before, after]) => [name, time(before), time(after), deltaCell(before, after, time, true)]),
    ),
  );
}

export const summaryView: View = {
  id: 'summary',
  title: 'Summary',
  lead: 'Does the program fit, how fast is it, what limits it, and what can you change?',
  key: 's',
  async render(host, context: Context) {
    const [a, b] = (await context.both('summary')) as [Summary, Summary | null];
    const about = [
      `File ${a.folder}/${a.file}, schema version ${a.version}, written by ${a.meta.written_by ?? 'unknown'} at ${a.meta.written_at ?? 'unknown'}.`,
      ...(context.source.served ? [] : ['This page is one file. It makes no network requests.']),
      ...a.notes.map((each) => `Left out: ${each}.`),
    ];
    const apps = (s: Summary) => Object.entries(s.application ?? {}).map(([name, value]) => jsonTree(value, name, 0));
    host.append(
      tiles(a, b),
      b
        ? el(
            'div',
            { class: 'columns' },
            advice(a, 'Before: why, and what to do'),
            advice(b, 'After: why, and what to do'),
          )
        : advice(a, 'Why, and what to do'),
    );
    const parts = breakdown(a, b),
      passes = el('div', { class: 'stack' });
    if (parts) host.append(parts);
    host.append(passes);
    host.append(
      el('div', { class: 'columns' }, target(a, b), counts(a, b)),
      ...(b ? [figures(a, b), options(a, b)] : [el('div', { class: 'columns' }, figures(a, b), options(a, b))]),
    );
    if (apps(a).length) host.append(card('Framework and application', ...apps(a)));
    if (a.files?.length)
      host.append(
        card(
          'Files of the report',
          plainTable(
            'files',
            [['file'], ['size', true]],
            a.files.map(([name, size]) => [name, bytes(size)]),
          ),
        ),
      );
    host.append(card('About this report', ...about.map((text) => el('p', { text }))));
    // of a large report this takes a while, and what stands above is wanted first
    const works = (await context.both('work')) as [Work, Work | null];
    host.querySelectorAll('.work').forEach((line, index) => {
      line.textContent = works[index]?.verdict.join(' ') ?? '';
    });
    const table = b ? null : phases(works[0]);
    if (table) passes.append(table);
  },
};
