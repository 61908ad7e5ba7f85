// The tables of the summary: target, counts, figures, options, what frameworks say, passes.
import { card, el } from './elements';
import { bytes, percent, plural, quantity, whole, words } from './format';
import { deltaCell } from './pairs';
import type { Summary, Work } from './summary_data';
import { figure } from './summary_data';
import { plainTable } from './table';

export function target(a: Summary, b: Summary | null): HTMLElement {
  const lines = (s: Summary): [string, string][] => {
    const t = s.target,
      replicas = Number(t.replicas),
      each = Number(t.ipus_per_replica);
    return [
      ['chip', String(t.title)],
      ['system', `${t.system}, ${plural(Number(t.system_ipus), 'IPU')}`],
      ['IPUs used', `${whole(replicas * each)} (${plural(replicas, 'replica')} of ${plural(each, 'IPU')})`],
      ['tiles per IPU', whole(Number(t.tiles_per_ipu))],
      ['memory per tile', bytes(Number(t.tile_memory_bytes))],
      ['memory per IPU', bytes(Number(t.tile_memory_bytes) * Number(t.tiles_per_ipu))],
      ['clock', `${(Number(t.clock_hz) / 1e6).toFixed(0)} MHz`],
    ];
  };
  const after = b ? lines(b) : null;
  return card(
    'Target',
    plainTable(
      'target',
      after ? [['what'], ['before', true], ['after', true]] : [['what'], ['value', true]],
      lines(a).map(([name, value], index) => (after ? [name, value, after[index]?.[1] ?? ''] : [name, value])),
    ),
  );
}

export function counts(a: Summary, b: Summary | null): HTMLElement {
  const after = new Map(b?.graph);
  return card(
    'Graph of one replica',
    b
      ? plainTable(
          'counts',
          [['what'], ['before', true], ['after', true], ['difference', true]],
          a.graph.map(([name, count]) => [
            name,
            whole(count),
            after.has(name) ? whole(after.get(name) as number) : '–',
            after.has(name) ? deltaCell(count, after.get(name) as number, whole) : '',
          ]),
        )
      : plainTable(
          'counts',
          [['what'], ['count', true]],
          a.graph.map(([name, count]) => [name, whole(count)]),
        ),
  );
}

export function figures(a: Summary, b: Summary | null): HTMLElement {
  const rows = Object.entries(a.figures).map(([name, [value, unit, low, high, band]]) => {
    const after = b ? figure(b, name) : null;
    if (!b) return [words(name), quantity(value, unit), band ? `${quantity(low, '')} – ${quantity(high, '')}` : ''];
    return [
      words(name),
      quantity(value, unit),
      after ? quantity(after[0], unit) : '–',
      after ? deltaCell(value, after[0], (x) => quantity(x, '')) : '',
    ];
  });
  return card(
    'All figures',
    plainTable(
      'figures',
      b
        ? [['figure'], ['before', true], ['after', true], ['difference', true]]
        : [['figure'], ['modelled', true], ['likely range', true]],
      rows,
    ),
  );
}

export function options(a: Summary, b: Summary | null): HTMLElement {
  const after = new Map(b?.options.map(([section, name, value]) => [`${section}\u0000${name}`, value]));
  const sections = [...new Set(a.options.map((option) => option[0]))];
  return card(
    b ? 'Options: those that differ are marked' : 'Options',
    ...sections.map((section) =>
      el(
        'details',
        { open: section === 'run' },
        el('summary', { text: `${words(section)} (${a.options.filter((option) => option[0] === section).length})` }),
        plainTable(
          `options of ${section}`,
          b ? [['option'], ['before'], ['after']] : [['option'], ['value']],
          a.options
            .filter((option) => option[0] === section)
            .map(([, name, value]) => {
              if (!b) return [name, value];
              const other = after.get(`${section}\u0000${name}`) ?? '–';
              return [name, value, other === value ? other : el('b', { class: 'changed', text: other })];
            }),
        ),
      ),
    ),
  );
}

export function jsonTree(value: unknown, name: string, depth: number): HTMLElement {
  if (value !== null && typeof value === 'object' && depth < 12) {
    const entries = Object.entries(value);
    return el(
      'details',
      { open: depth < 2 },
      el('summary', { text: `${name} (${plural(entries.length, 'entry', 'entries')})` }),
      el('div', { class: 'indent' }, ...entries.slice(0, 500).map(([key, each]) => jsonTree(each, key, depth + 1))),
    );
  }
  return el(
    'p',
    { class: 'leaf' },
    el('span', { class: 'label', text: `${name}: ` }),
    typeof value === 'string' ? value : (JSON.stringify(value) ?? ''),
  );
}

export function phases(work: Work): HTMLElement | null {
  if (!work.phases.length) return null;
  return card(
    'Work by pass, all IPUs',
    plainTable(
      'passes',
      [['pass'], ['ops', true], ['cycles per step', true], ['compute', true], ['exchange', true], ['sync', true]],
      work.phases.map(([name, compute, exchange, sync, ops]) => {
        const all = compute + exchange + sync;
        return [name, whole(ops), whole(all), percent(compute, all), percent(exchange, all), percent(sync, all)];
      }),
    ),
  );
}
