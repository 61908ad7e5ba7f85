// Program Tree: what the device runs, with search and details; only the visible rows are in the document.
import { copyButton, csv } from './csv';
import { button, el } from './elements';
import { compact, delta, whole } from './format';
import { looselyPaired } from './pairs';
import { programCard } from './program_details';
import type { Node_, ProgramTree } from './program_tree';
import { programTree } from './program_tree';
import type { Context, View } from './view';

const ROW = 28,
  AROUND = 10,
  HEIGHT = 620;

interface Line {
  before: Node_ | null;
  after: Node_ | null;
  depth: number;
  parent: Line | null;
  open: boolean;
  kids: Line[] | null;
  hidden: number;
  share: number;
}

const node = (line: Line) => (line.before ?? line.after) as Node_;
const COLOURS: Record<string, string> = {
  OnTileExecute: '#d1495b',
  DoExchange: '#4ea8de',
  GlobalExchange: '#2a6f97',
  Sync: '#e9c46a',
  StreamCopyBegin: '#7a5cc7',
  StreamCopyMid: '#7a5cc7',
  StreamCopyEnd: '#7a5cc7',
  Repeat: '#2a9d8f',
  Call: '#2a9d8f',
};

// a name without that of the program around it
function within(name: string, around: string): string {
  return around && name.startsWith(`${around}/`) ? `…${name.slice(around.length)}` : name;
}

class Tree {
  readonly element: HTMLElement;
  private lines: Line[] = [];
  private chosen: Line | null = null;
  private readonly scroll = el('div', { class: 'treebox', tabindex: '0', role: 'tree', 'aria-label': 'Program tree' });
  private readonly space = el('div', { class: 'space', role: 'presentation' });
  private readonly rows = el('div', { class: 'rows', role: 'presentation' });
  private readonly status = el('span', { class: 'label', role: 'status' });
  private readonly details = el('div', { class: 'details' });

  constructor(
    private readonly context: Context,
    private readonly tree: ProgramTree,
    private readonly other: ProgramTree | null,
  ) {
    this.space.append(this.rows);
    this.scroll.append(this.space);
    this.scroll.style.height = `${HEIGHT}px`;
    this.scroll.addEventListener('scroll', () => this.draw());
    this.scroll.addEventListener('keydown', (event) => void this.key(event));
    const input = el('input', {
      type: 'search',
      placeholder: 'Search the program (f)',
      'aria-label': 'Search the program',
      value: context.state.get('find'),
    });
    const go = (back: boolean) => void this.search(input.value.trim(), back);
    input.addEventListener('input', () => {
      context.state.set({ find: input.value.trim() });
      if (!input.value.trim()) this.status.textContent = '';
    });
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        go(event.shiftKey);
      }
    });
    this.element = el(
      'div',
      {},
      el(
        'div',
        { class: 'controls' },
        input,
        button('Next', () => go(false), { class: 'small', id: 'next' }),
        button('Previous', () => go(true), { class: 'small', id: 'previous' }),
        this.status,
        el('span', { class: 'spring' }),
        button('Close all', () => void this.start(), { class: 'small' }),
        copyButton(() => this.csv()),
      ),
      el('div', { class: other ? 'split one' : 'split' }, el('div', {}, this.head(), this.scroll), this.details),
    );
  }

  private head(): HTMLElement {
    return el(
      'div',
      { class: 'treehead', 'aria-hidden': 'true' },
      el('span', { text: 'program' }),
      el('span', { class: 'number', text: 'times' }),
      ...(this.other ? ['before', 'after', 'difference'] : ['cycles']).map((text) =>
        el('span', { class: text === 'difference' ? 'number wide' : 'number', text }),
      ),
    );
  }

  async start(): Promise<void> {
    this.lines = await this.below(null);
    // the first levels are open, as far as they are short
    for (let depth = 0; depth < 4; depth++) {
      for (const line of this.lines.filter((each) => each.depth === depth && !each.open && node(each)[7] <= 12))
        await this.expand(line);
    }
    const wanted = this.context.state.number('node', -1);
    if (wanted >= 0) await this.reveal((await this.tree.details(wanted)).path);
    else if (this.lines[0]) this.choose(this.lines[0], false);
    this.draw();
  }

  private async below(parent: Line | null): Promise<Line[]> {
    const before =
      !parent || parent.before ? await this.tree.children(parent?.before?.[0] ?? -1) : { total: 0, children: [] };
    const after =
      this.other && (!parent || parent.after)
        ? await this.other.children(parent?.after?.[0] ?? -1)
        : { total: 0, children: [] };
    const depth = parent ? parent.depth + 1 : 0;
    if (parent) parent.hidden = before.total - before.children.length;
    const all = Math.max(
      before.children.reduce((sum, each) => sum + each[5], 0),
      after.children.reduce((sum, each) => sum + each[5], 0),
    );
    const made = (one: Node_ | null, two: Node_ | null): Line => ({
      before: one,
      after: two,
      depth,
      parent,
      open: false,
      kids: null,
      hidden: 0,
      share: all ? Math.max(one?.[5] ?? 0, two?.[5] ?? 0) / all : 0,
    });
    if (!this.other) return before.children.map((each) => made(each, null));
    const pairs = looselyPaired(before.children, after.children, (each) => `${each[2]}\u0000${each[3]}`);
    return pairs.map((pair) => made(pair.before, pair.after));
  }

  private async expand(line: Line): Promise<void> {
    if (line.open || !this.count(line)) return;
    line.kids ??= await this.below(line);
    line.open = true;
    const at = this.lines.indexOf(line);
    const inside = (kids: Line[]): Line[] =>
      kids.flatMap((kid) => [kid, ...(kid.open && kid.kids ? inside(kid.kids) : [])]);
    this.lines.splice(at + 1, 0, ...inside(line.kids));
    this.draw();
  }

  private collapse(line: Line): void {
    if (!line.open) return;
    line.open = false;
    const at = this.lines.indexOf(line);
    let end = at + 1;
    while (end < this.lines.length && (this.lines[end] as Line).depth > line.depth) end++;
    this.lines.splice(at + 1, end - at - 1);
    this.draw();
  }

  private count(line: Line): number {
    return Math.max(line.before?.[7] ?? 0, line.after?.[7] ?? 0);
  }

  async reveal(path: number[]): Promise<void> {
    let line: Line | undefined;
    for (const id of path) {
      if (line) await this.expand(line);
      line = (line ? (line.kids ?? []) : this.lines.filter((each) => !each.depth)).find(
        (each) => each.before?.[0] === id,
      );
      if (!line) return;
    }
    if (line) this.choose(line);
  }

  private async search(text: string, back: boolean): Promise<void> {
    if (!text) return;
    const after = this.chosen?.before?.[0] ?? -1;
    const found = await this.tree.search(text, after, back);
    this.status.textContent = found.total ? `${whole(found.place)} of ${whole(found.total)}` : 'not found';
    if (found.node >= 0) await this.reveal(found.path);
  }

  private choose(line: Line, remember = true): void {
    this.chosen = line;
    const at = this.lines.indexOf(line),
      top = at * ROW;
    if (top < this.scroll.scrollTop || top + ROW > this.scroll.scrollTop + this.scroll.clientHeight)
      this.scroll.scrollTop = Math.max(0, top - this.scroll.clientHeight / 3);
    if (remember && line.before) this.context.state.set({ node: line.before[0] });
    this.draw();
    void this.show(line);
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - AROUND);
    const last = Math.min(this.lines.length, Math.ceil((this.scroll.scrollTop + HEIGHT) / ROW) + AROUND);
    this.space.style.height = `${this.lines.length * ROW}px`;
    this.rows.style.transform = `translateY(${first * ROW}px)`;
    this.rows.replaceChildren(...this.lines.slice(first, last).map((line) => this.row(line)));
  }

  private row(line: Line): HTMLElement {
    const [, type, kind, name, repeats] = node(line);
    const kids = this.count(line);
    const toggle = el('button', {
      type: 'button',
      class: 'twist',
      tabindex: '-1',
      'aria-hidden': 'true',
      text: kids ? (line.open ? '▾' : '▸') : '',
    });
    toggle.addEventListener('click', (event) => {
      event.stopPropagation();
      if (line.open) this.collapse(line);
      else void this.expand(line);
    });
    const dot = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    dot.style.background = COLOURS[type] ?? '#aeb6c2';
    const before = line.before?.[5] ?? 0,
      after = line.after?.[5] ?? 0;
    const bar = el('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.setProperty('--share', `${(100 * Math.min(1, line.share)).toFixed(2)}%`);
    const title = el(
      'span',
      { class: 'what' },
      toggle,
      dot,
      el('span', { class: 'type', text: type === 'Unknown' ? kind : type }),
      el('span', { class: 'name', text: within(name, line.parent ? node(line.parent)[3] : ''), title: name }),
      kids && !line.open ? el('span', { class: 'label', text: `(${whole(kids)})` }) : null,
    );
    title.style.paddingLeft = `${Math.min(20, line.depth) * 0.9}rem`;
    const made = el(
      'div',
      {
        class: `treerow${line === this.chosen ? ' chosen' : ''}`,
        role: 'treeitem',
        'aria-level': line.depth + 1,
        'aria-expanded': kids ? String(line.open) : null,
        'aria-selected': String(line === this.chosen),
      },
      title,
      el('span', { class: 'number', text: repeats > 1 ? `× ${whole(repeats)}` : '' }),
      ...(this.other
        ? [
            el('span', { class: 'number', text: line.before ? compact(before) : '–' }),
            el('span', { class: 'number', text: line.after ? compact(after) : '–' }),
            el('span', {
              class: `number wide ${after > before ? 'bad' : after < before ? 'good' : ''}`,
              text: delta(before, after, compact),
            }),
          ]
        : [el('span', { class: 'number' }, bar, compact(before))]),
    );
    made.addEventListener('click', () => this.choose(line));
    made.addEventListener('dblclick', () => {
      if (line.open) this.collapse(line);
      else void this.expand(line);
    });
    return made;
  }

  private async show(line: Line): Promise<void> {
    const parts: HTMLElement[] = [];
    const of = async (tree: ProgramTree, at: Node_ | null, label: string) => {
      if (at) parts.push(programCard(this.context, await tree.details(at[0]), label, line.hidden));
    };
    await of(this.tree, line.before, this.other ? 'Before: ' : '');
    if (this.other) await of(this.other, line.after, 'After: ');
    if (line === this.chosen) this.details.replaceChildren(...parts);
  }

  private csv(): string {
    return csv(
      ['depth', 'type', 'name', 'repeats', ...(this.other ? ['cycles before', 'cycles after'] : ['cycles'])],
      this.lines.map((line) => {
        const [, type, , name, repeats, cycles] = node(line);
        return [
          line.depth,
          type,
          name,
          repeats,
          ...(this.other ? [line.before?.[5] ?? 0, line.after?.[5] ?? 0] : [cycles]),
        ];
      }),
    );
  }

  private async key(event: KeyboardEvent): Promise<void> {
    const at = this.chosen ? this.lines.indexOf(this.chosen) : -1,
      line = this.chosen;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined && !['ArrowRight', 'ArrowLeft', 'Enter', ' '].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (by !== undefined) {
      const next = this.lines[Math.max(0, Math.min(this.lines.length - 1, at + by))];
      if (next) this.choose(next);
    } else if (!line) return;
    else if (event.key === 'ArrowRight') {
      if (line.open && line.kids?.[0]) this.choose(line.kids[0]);
      else await this.expand(line);
    } else if (event.key === 'ArrowLeft') {
      if (line.open) this.collapse(line);
      else if (line.parent) this.choose(line.parent);
    } else if (line.open) this.collapse(line);
    else await this.expand(line);
  }
}

export const programView: View = {
  id: 'program',
  title: 'Program Tree',
  lead: 'What the device runs, in order. Cycles count one run of the parent, summed over IPUs. The bar below a number is its share of the parent.',
  key: 'p',
  async render(host, context) {
    const tree = await programTree(context.source, context.report.id);
    const made = new Tree(context, tree, context.other ? await programTree(context.source, context.other.id) : null);
    host.append(el('section', { class: 'card' }, made.element));
    await made.start();
  },
};
