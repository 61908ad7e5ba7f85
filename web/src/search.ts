// The search box of the header: ops, variables and programs by name, each result a link into a view.
import { button, el } from './elements';
import { bytes, compact, shortened } from './format';
import type { Source } from './source';
import { Missing } from './source';

interface Hit {
  kind: string;
  name: string;
  note: string;
  view: string;
  values: Record<string, string | number>;
}

type Go = (view: string, values: Record<string, string | number>) => void;

const MOST = 8;

// what a page without a server finds in the frames that it holds
async function here(source: Source, report: string, text: string): Promise<Hit[]> {
  const wanted = text.toLowerCase();
  const hits: Hit[] = [];
  const look = async (frame: string, number: string, make: (row: number, name: string, value: number) => Hit) => {
    try {
      const found = await source.frame(report, frame, ['name', 'id', number]);
      const names = found.columns.name as string[],
        ids = found.columns.id as Float64Array,
        values = found.columns[number] as Float64Array;
      const rows: number[] = [];
      for (let i = 0; i < names.length; i++) if ((names[i] as string).toLowerCase().includes(wanted)) rows.push(i);
      rows.sort((a, b) => (values[b] as number) - (values[a] as number));
      hits.push(...rows.slice(0, MOST).map((i) => make(ids[i] as number, names[i] as string, values[i] as number)));
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
    }
  };
  await look('ops', 'cycles', (id, name, value) => ({
    kind: 'op',
    name,
    note: `${compact(value)} cycles`,
    view: 'operations',
    values: { op: id },
  }));
  await look('variables', 'bytes', (id, name, value) => ({
    kind: 'variable',
    name,
    note: bytes(value),
    view: 'memory',
    values: { variable: id },
  }));
  await look('programs', 'cycles', (id, name, value) => ({
    kind: 'program',
    name,
    note: `${compact(value)} cycles`,
    view: 'program',
    values: { node: id },
  }));
  return hits;
}

async function hits(source: Source, report: string, text: string): Promise<Hit[]> {
  if (!source.served) return here(source, report, text);
  return ((await source.json(report, 'search', { text })) as { hits: Hit[] }).hits;
}

export function globalSearch(source: Source, report: () => string, go: Go): HTMLElement {
  const input = el('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Search (/)',
    'aria-label': 'Search ops, variables and programs',
    autocomplete: 'off',
    role: 'combobox',
    'aria-expanded': 'false',
    'aria-controls': 'hits',
  });
  const list = el('div', { id: 'hits', class: 'hits', hidden: true });
  let turn = 0,
    waiting = 0;
  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
  };
  const show = async () => {
    const text = input.value.trim(),
      mine = ++turn;
    if (text.length < 2) {
      close();
      return;
    }
    let found: Hit[] = [];
    try {
      found = await hits(source, report(), text.slice(0, 200));
    } catch {
      /* said below */
    }
    if (mine !== turn) return;
    list.replaceChildren(
      ...found.map((hit) => {
        const each = button(
          '',
          () => {
            close();
            input.value = '';
            input.blur();
            go(hit.view, hit.values);
          },
          { class: 'hit' },
        );
        each.append(
          el('span', { class: 'kind', text: hit.kind }),
          el('span', { text: shortened(hit.name, 90) }),
          el('span', { class: 'label', text: hit.note }),
        );
        return each;
      }),
      ...(found.length ? [] : [el('p', { class: 'note', text: 'No name contains this text.' })]),
    );
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
  };
  input.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(show, 120);
  });
  const box = el('div', { class: 'search', role: 'search' }, input, list);
  box.addEventListener('keydown', (event) => {
    const all = [...list.querySelectorAll('button')];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === 'Escape') {
      close();
      input.focus();
      input.blur();
    } else if (event.key === 'ArrowDown') all[Math.min(all.length - 1, at + 1)]?.focus();
    else if (event.key === 'ArrowUp') (at <= 0 ? input : all[at - 1])?.focus();
    else if (event.key === 'Enter' && at < 0) all[0]?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener('pointerdown', (event) => {
    if (!box.contains(event.target as Node)) close();
  });
  return box;
}
