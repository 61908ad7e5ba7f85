// Operations: every op with its cycles, work, code, plan and reasons; by module or kind; against the roof of the chip.
import { hue } from './colours';
import { button, card, choice, el, legend, note } from './elements';
import { bytes, compact, delta, percent, plural, whole } from './format';
import { Flame } from './flame';
import type { ModuleRow } from './flame';
import { opDetails } from './op_details';
import type { Op } from './ops';
import { loadOps, shortName } from './ops';
import type { Pair } from './pairs';
import { paired } from './pairs';
import { saveButton } from './picture';
import { Roofline } from './roofline';
import type { Summary } from './summary_view';
import type { TableColumn } from './table';
import { DataTable } from './table';
import type { Context, View } from './view';

// floating-point operations per tile and cycle of the matrix engine in half precision, as published
const HALF_PEAK: Record<string, number> = { mk1: 64, mk2: 128, bow: 128, c600: 128 };
const MOST_DOTS = 3000;

interface Group {
  name: string;
  ops: number;
  before: number;
  after: number;
  flops: number;
  code: number;
  exchange: number;
}

const GROUPS = [
  'single ops',
  'layer (1 name of the module)',
  'layer (2 names)',
  'layer (3 names)',
  'module',
  'kind of op',
  'pass',
  'source line',
];

function moduleParts(module: string): string[] {
  return module ? module.split(module.includes('/') ? '/' : '.') : [];
}

function groupOf(op: Op, by: number): string {
  const parts = moduleParts(op.module),
    mark = op.module.includes('/') ? '/' : '.';
  if (by >= 1 && by <= 3) return parts.slice(0, by).join(mark) || '(outside modules)';
  if (by === 4) return op.module || '(outside modules)';
  if (by === 5) return op.target;
  if (by === 6) return op.phase;
  return op.source || '(unknown)';
}

const text = (op: Op) =>
  `${op.name}\u0000${op.target}\u0000${op.module}\u0000${op.source}\u0000${op.phase}`.toLowerCase();

class Operations {
  private readonly table = el('div', {});
  private readonly details = el('div', { class: 'opdetails' });
  private readonly all: number;
  private roof: Roofline | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly context: Context,
    private readonly ops: Op[],
    private readonly others: Op[] | null,
    private readonly total: number,
    private readonly summary: Summary,
    private readonly modules: ModuleRow[],
    private readonly cut: boolean,
  ) {
    this.all = ops.reduce((sum, op) => sum + op.cycles, 0);
  }

  show(): void {
    const { state } = this.context;
    const by = state.number('by', 0, 0, GROUPS.length - 1);
    this.host.append(
      el(
        'div',
        { class: 'controls sticky' },
        choice('Show', GROUPS, by, (index) => {
          state.set({ by: index || null });
          this.fill();
        }),
      ),
    );
    if (!this.others) {
      this.flame();
      this.roofline();
    }
    this.host.append(el('section', { class: 'card' }, this.table), this.details);
    this.fill();
    const wanted = state.number('op', -1);
    const op = this.ops.find((each) => each.id === wanted);
    if (op) this.pick(op);
  }

  private flame(): void {
    if (this.modules.length < 2) return;
    const flame = new Flame(this.modules);
    this.host.append(
      el(
        'details',
        { class: 'card', open: true },
        el('summary', {}, el('b', { text: 'Cycles of work by module, and of the host' })),
        flame.element,
      ),
    );
    this.context.redraw(() => flame.draw());
  }

  private roofline(): void {
    const target = this.summary.target,
      chip = String(target.chip);
    const each = Object.hasOwn(HALF_PEAK, chip) ? (HALF_PEAK[chip] as number) : 0,
      peak = each * Number(target.tiles_per_ipu);
    const kinds = new Map<string, number>();
    for (const op of this.ops) if (op.flops > 0) kinds.set(op.target, (kinds.get(op.target) ?? 0) + op.cycles);
    const ranked = [...kinds]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 7)
      .map((kind) => kind[0]);
    const colour = (op: Op) => (ranked.includes(op.target) ? hue(ranked.indexOf(op.target)) : '#c3cad6');
    const dots = [...this.ops]
      .sort((a, b) => b.cycles - a.cycles)
      .slice(0, MOST_DOTS)
      .map((op) => ({
        name: op.name,
        flops: op.flops,
        cycles: op.cycles,
        exchange: op.exchange,
        colour: colour(op),
        row: op.id,
      }));
    const roof = new Roofline(dots, {
      peak,
      peakName: `peak of the matrix engine, half precision: ${compact(peak)} FLOP per cycle`,
      share: (cycles) => percent(cycles, this.all),
      onpick: (row) => {
        const op = this.ops.find((found) => found.id === row);
        if (op) this.pick(op);
      },
    });
    this.roof = roof;
    if (!roof.count) return;
    const colours: [string, string][] = [
      ...ranked.map((kind, index): [string, string] => [kind, hue(index)]),
      ...(kinds.size > ranked.length ? [['others', '#c3cad6'] as [string, string]] : []),
    ];
    this.host.append(
      el(
        'details',
        { class: 'card', open: true },
        el('summary', {}, el('b', { text: 'Roofline: how near ops come to the peak of the chip' })),
        roof.element,
        el(
          'div',
          { class: 'controls key' },
          legend(colours),
          el('span', { class: 'spring' }),
          saveButton(
            () => roof.canvas,
            () => 'Roofline',
            () => colours,
          ),
        ),
        note(
          `One dot for each op with floating-point work; its size is its share of the cycles. An op cannot lie above the dashed line: on the slope all its time is exchange between tiles, ${
            peak ? 'on the flat part the matrix engine is always busy' : 'and the peak of this chip is not known here'
          }. Ops low on the right are bound by neither: see their plan. Dots at an edge lie beyond it; those at the right have no exchange.`,
        ),
      ),
    );
    this.context.redraw(() => roof.draw());
  }

  private fill(): void {
    const by = this.context.state.number('by', 0, 0, GROUPS.length - 1);
    this.table.replaceChildren(by ? this.groups(by) : this.others ? this.pairs(this.others) : this.single());
  }

  private remembered(
    columns: number,
    sort: number,
  ): {
    sort: number;
    up?: boolean;
    wanted: string;
    onfilter: (text: string) => void;
    onsort: (column: number, up: boolean) => void;
  } {
    const { state } = this.context;
    const kept = state.number('sort', sort, 0, columns - 1);
    return {
      sort: kept,
      ...(state.get('up') ? { up: state.get('up') === '1' } : {}),
      wanted: state.get('find'),
      onfilter: (found) => state.set({ find: found }),
      onsort: (column, up) => state.set({ sort: column, up: up ? 1 : 0 }),
    };
  }

  private single(): HTMLElement {
    const columns: TableColumn<Op>[] = [
      { title: 'op', value: (op) => shortName(op.name), width: 'minmax(9rem, 2fr)' },
      { title: 'computes', value: (op) => op.target, width: 'minmax(7rem, 1fr)' },
      { title: 'module', value: (op) => op.module, width: 'minmax(8rem, 1.5fr)' },
      { title: 'pass', value: (op) => op.phase, width: 'minmax(5rem, 6.5rem)' },
      { title: 'IPU', number: true, value: (op) => op.ipu, width: '3.2rem' },
      {
        title: 'cycles per step',
        number: true,
        value: (op) => op.cycles,
        text: (op) => whole(op.cycles),
        width: '8.5rem',
      },
      {
        title: 'share',
        number: true,
        value: (op) => op.cycles,
        text: (op) => percent(op.cycles, this.all),
        width: '4.5rem',
      },
      {
        title: 'exchange',
        number: true,
        value: (op) => (op.cycles ? op.exchange / op.cycles : 0),
        text: (op) => percent(op.exchange, op.cycles),
        width: '5.2rem',
        hint: 'share of its cycles',
      },
      {
        title: 'FLOP',
        number: true,
        value: (op) => op.flops,
        text: (op) => (op.flops ? compact(op.flops) : '–'),
        width: '5rem',
      },
      {
        title: 'code',
        number: true,
        value: (op) => op.code,
        text: (op) => bytes(op.code),
        width: '5.5rem',
        hint: 'of its plan, on the fullest tile',
      },
      { title: 'source', value: (op) => op.source.replace(/^.*[\\/]/, ''), width: 'minmax(7rem, 1fr)' },
    ];
    const left = this.total > this.ops.length ? `the largest of ${whole(this.total)}` : '';
    const table = new DataTable(columns, {
      name: 'ops',
      filter: text,
      placeholder: 'Filter: name, kind, module, file, pass (f)',
      pick: (op) => this.pick(op),
      ...this.remembered(columns.length, 5),
      ...(left ? { note: left } : {}),
    });
    return table.setRows(this.ops).element;
  }

  private pairs(others: Op[]): HTMLElement {
    type Row = Pair<Op>;
    // an op that is missing where only the largest are here may be small: its difference is not known
    const known = (pair: Row) => !this.cut || (pair.before !== null && pair.after !== null);
    const cycles = (op: Op | null) => op?.cycles ?? 0,
      one = (pair: Row) => (pair.before ?? pair.after) as Op;
    const columns: TableColumn<Row>[] = [
      { title: 'op', value: (pair) => shortName(one(pair).name), width: 'minmax(9rem, 2fr)' },
      { title: 'computes', value: (pair) => one(pair).target },
      { title: 'module', value: (pair) => one(pair).module, width: 'minmax(8rem, 1.5fr)' },
      { title: 'pass', value: (pair) => one(pair).phase, width: 'minmax(5rem, 6.5rem)' },
      {
        title: 'cycles before',
        number: true,
        value: (pair) => cycles(pair.before),
        text: (pair) => (pair.before ? whole(cycles(pair.before)) : '–'),
        width: '8.5rem',
      },
      {
        title: 'cycles after',
        number: true,
        value: (pair) => cycles(pair.after),
        text: (pair) => (pair.after ? whole(cycles(pair.after)) : '–'),
        width: '8.5rem',
      },
      {
        title: 'difference',
        number: true,
        value: (pair) => (known(pair) ? Math.abs(cycles(pair.after) - cycles(pair.before)) : 0),
        width: '11rem',
        cell: (pair) =>
          el('span', {
            class:
              cycles(pair.after) > cycles(pair.before) ? 'bad' : cycles(pair.after) < cycles(pair.before) ? 'good' : '',
            text: known(pair)
              ? delta(cycles(pair.before), cycles(pair.after), compact)
              : 'only the largest ops are here',
          }),
      },
    ];
    const rows = paired(this.ops, others, (op) => `${op.name}\u0000${op.phase}`);
    return new DataTable(columns, {
      name: 'ops matched by name',
      filter: (pair) => text(one(pair)),
      pick: (pair) => this.pick(one(pair), pair.before === null),
      ...this.remembered(columns.length, 6),
    }).setRows(rows).element;
  }

  private groups(by: number): HTMLElement {
    const found = new Map<string, Group>();
    const add = (op: Op, later: boolean) => {
      const name = groupOf(op, by);
      const group = found.get(name) ?? { name, ops: 0, before: 0, after: 0, flops: 0, code: 0, exchange: 0 };
      found.set(name, group);
      if (later) {
        group.after += op.cycles;
        return;
      }
      group.ops += op.merged;
      group.before += op.cycles;
      group.flops += op.flops;
      group.exchange += op.exchange;
      group.code = Math.max(group.code, op.code);
    };
    this.ops.forEach((op) => add(op, false));
    this.others?.forEach((op) => add(op, true));
    const columns: TableColumn<Group>[] = [
      { title: GROUPS[by] as string, value: (group) => group.name, width: 'minmax(12rem, 3fr)' },
      { title: 'ops', number: true, value: (group) => group.ops, text: (group) => whole(group.ops), width: '5rem' },
      {
        title: this.others ? 'cycles before' : 'cycles per step',
        number: true,
        value: (group) => group.before,
        text: (group) => whole(group.before),
        width: '9.5rem',
      },
    ];
    if (this.others) {
      columns.push(
        {
          title: 'cycles after',
          number: true,
          value: (group) => group.after,
          text: (group) => whole(group.after),
          width: '9.5rem',
        },
        {
          title: 'difference',
          number: true,
          value: (group) => Math.abs(group.after - group.before),
          text: (group) => delta(group.before, group.after, compact),
          width: '11rem',
        },
      );
    } else {
      columns.push(
        {
          title: 'share',
          number: true,
          value: (group) => group.before,
          text: (group) => percent(group.before, this.all),
          width: '5rem',
        },
        {
          title: 'exchange',
          number: true,
          value: (group) => (group.before ? group.exchange / group.before : 0),
          text: (group) => percent(group.exchange, group.before),
          width: '6rem',
        },
        {
          title: 'FLOP',
          number: true,
          value: (group) => group.flops,
          text: (group) => (group.flops ? compact(group.flops) : '–'),
          width: '6rem',
        },
        {
          title: 'largest code',
          number: true,
          value: (group) => group.code,
          text: (group) => bytes(group.code),
          width: '7rem',
        },
      );
    }
    const table = new DataTable(columns, {
      name: 'groups',
      filter: (group) => group.name.toLowerCase(),
      sort: this.others ? 4 : 2,
      pick: (group) => {
        this.context.state.set({
          by: null,
          find: group.name.startsWith('(') ? null : group.name,
          sort: null,
          up: null,
        });
        this.context.go('operations', group.name.startsWith('(') ? {} : { find: group.name });
      },
    });
    return el('div', {}, table.setRows([...found.values()]).element, note('Click a row for its ops.'));
  }

  private pick(op: Op, later = false): void {
    this.context.state.set({ op: op.id });
    if (this.roof) {
      this.roof.chosen = op.id;
      this.roof.draw();
    }
    const report = later && this.context.other ? this.context.other.id : this.context.report.id;
    void opDetails(this.context, report, op).then((made) => {
      const close = button(
        'Close',
        () => {
          this.details.replaceChildren();
          this.context.state.set({ op: null });
        },
        { class: 'small' },
      );
      this.details.replaceChildren(card(`${op.name}`, close, made));
      this.details.scrollIntoView({ block: 'nearest' });
    });
  }
}

export const operationsView: View = {
  id: 'operations',
  title: 'Operations',
  lead: 'Every op with its cycles, its plan, the reasons and your line of code.',
  key: 'o',
  async render(host, context) {
    const [[ops, total], others, summary, tree] = await Promise.all([
      loadOps(context.source, context.report.id),
      context.other ? loadOps(context.source, context.other.id) : null,
      context.json('summary') as Promise<Summary>,
      context.json('modules') as Promise<{ modules: ModuleRow[] }>,
    ]);
    if (!ops.length) {
      host.append(note('This report has no ops.'));
      return;
    }
    new Operations(
      host,
      context,
      ops,
      others ? others[0] : null,
      total,
      summary,
      tree.modules,
      total > ops.length || (others !== null && others[1] > others[0].length),
    ).show();
    if (total > ops.length)
      host.append(
        note(
          `This page holds the ${plural(ops.length, 'op')} with most cycles; \`tremula view --serve\` shows all ${whole(total)}.`,
        ),
      );
  },
};
