// Operations: every op with its cycles, work, code, plan and reasons; by module or kind; against the roof of the chip.
import { button, card, choice, el, note } from './elements';
import type { ModuleRow } from './flame';
import { Flame } from './flame';
import { plural, whole } from './format';
import { opDetails } from './op_details';
import { groupOf, GROUPS, groupTable, opPairTable, opTable } from './op_tables';
import type { Op } from './ops';
import { loadOps } from './ops';
import type { Roofline } from './roofline';
import { rooflineCard } from './roofline_card';
import type { Summary } from './summary_data';
import type { Context, View } from './view';

class Operations {
  private readonly table = el('div', {});
  private readonly details = el('div', { class: 'opdetails' });
  private readonly all: number;
  private roof: Roofline | null = null;

  constructor(
    private readonly context: Context,
    private readonly ops: Op[],
    private readonly others: Op[] | null,
    private readonly total: number,
    private readonly cut: boolean, // only the largest ops are here
  ) {
    this.all = ops.reduce((sum, op) => sum + op.cycles, 0);
  }

  show(host: HTMLElement, summary: Summary, modules: ModuleRow[]): void {
    const { state } = this.context;
    const by = state.number('by', 0, 0, GROUPS.length - 1);
    const choose = choice('Show', GROUPS, by, (index) => {
      state.set({ by: index || null, of: null, sort: null, up: null });
      this.fill();
    });
    host.append(el('div', { class: 'controls sticky' }, choose));
    if (!this.others) {
      this.flame(host, modules);
      this.roofline(host, summary);
    }
    host.append(el('section', { class: 'card' }, this.table), this.details);
    this.fill();
    const wanted = state.number('op', -1);
    const op = this.ops.find((each) => each.id === wanted);
    if (op) this.pick(op);
  }

  private flame(host: HTMLElement, modules: ModuleRow[]): void {
    if (modules.length < 2) return;
    const flame = new Flame(modules);
    const title = el('b', { text: 'Cycles by module' });
    host.append(el('details', { class: 'card', open: true }, el('summary', {}, title), flame.element));
    this.context.redraw(() => flame.draw());
  }

  private roofline(host: HTMLElement, summary: Summary): void {
    const made = rooflineCard(this.ops, summary.target, (op) => this.pick(op));
    if (!made) return;
    this.roof = made.roof;
    host.append(made.element);
    this.context.redraw(() => made.roof.draw());
  }

  // all groups, the ops of one group, or all ops
  private fill(): void {
    const { state } = this.context;
    const by = state.number('by', 0, 0, GROUPS.length - 1);
    const of = by ? state.get('of') : '';
    if (by && !of) {
      const table = groupTable(this.ops, this.others, by, this.all, (name) => {
        state.set({ of: name, sort: null, up: null }, true);
        this.fill();
      });
      this.table.replaceChildren(table, note('Click a row to list its ops.'));
      return;
    }
    const chosen = (ops: Op[]) => (of ? ops.filter((op) => groupOf(op, by) === of) : ops);
    const back = button('Back to all groups', () => {
      state.set({ of: null, sort: null, up: null }, true);
      this.fill();
    });
    const left = this.total > this.ops.length ? `the largest of ${whole(this.total)}` : '';
    this.table.replaceChildren(
      ...(of ? [el('div', { class: 'controls' }, el('b', { text: of }), back)] : []),
      this.others
        ? opPairTable(chosen(this.ops), chosen(this.others), this.cut, state, (op, later) => this.pick(op, later))
        : opTable(chosen(this.ops), this.all, left, state, (op) => this.pick(op)),
    );
  }

  private pick(op: Op, later = false): void {
    this.context.state.set({ op: op.id });
    if (this.roof) {
      this.roof.chosen = op.id;
      this.roof.draw();
    }
    const close = () => {
      this.details.replaceChildren();
      this.context.state.set({ op: null });
    };
    const report = later && this.context.other ? this.context.other.id : this.context.report.id;
    void opDetails(this.context, report, op).then((made) => {
      this.details.replaceChildren(card(op.name, button('Close', close, { class: 'small' }), made));
      this.details.scrollIntoView({ block: 'nearest' });
    });
  }
}

export const operationsView: View = {
  id: 'operations',
  title: 'Operations',
  lead: 'Every op with its cycles, its plan, the reasons for its cost and your line of code.',
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
    const cut = total > ops.length || (others !== null && others[1] > others[0].length);
    new Operations(context, ops, others ? others[0] : null, total, cut).show(host, summary, tree.modules);
    if (total > ops.length)
      host.append(
        note(
          `This page holds the ${plural(ops.length, 'op')} with the most cycles. “tremula view --serve” shows all ${whole(total)}.`,
        ),
      );
  },
};
