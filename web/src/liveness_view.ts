// Liveness: what is in memory at which program step; two cursors give the difference.
import { REGIONS, themed, USES } from './colours';
import { button, card, choice, el, legend, note } from './elements';
import { bytes, delta, plural, whole } from './format';
import { saveButton } from './picture';
import type { Mark } from './stacked';
import { StackedChart } from './stacked';
import { numbers } from './source';
import { plainTable } from './table';
import { leftOut, variableDifference, variableTable } from './variable_table';
import { alive, always, opNames } from './variables';
import type { Context, View } from './view';

interface Liveness {
  ipu: number;
  steps: number;
  first: number;
  last: number;
  group: number;
  always: number;
  room: number;
  peak: number;
  at: { i4?: string };
  live: { i4?: string };
  temporary: { i4?: string };
  op: { i4?: string };
  again: { i4?: string };
  names: Record<string, string>;
}
interface Curve {
  data: Liveness;
  at: Float64Array;
  live: Float64Array;
  temporary: Float64Array;
  op: Float64Array;
  again: Float64Array;
}

const POINTS = 1500;

function curve(data: Liveness): Curve {
  return {
    data,
    at: numbers(data.at),
    live: numbers(data.live),
    temporary: numbers(data.temporary),
    op: numbers(data.op),
    again: numbers(data.again),
  };
}

function point(from: Curve, step: number): number {
  return Math.max(0, Math.min(from.at.length - 1, Math.floor((step - from.data.first) / from.data.group)));
}

class LivenessPanel {
  readonly element = el('div', {});
  private chart: StackedChart | null = null;
  private curve: Curve | null = null;
  private names = new Map<number, string>();
  private waiting = 0;

  constructor(
    private readonly context: Context,
    private readonly report: string,
    private readonly label: string,
    private readonly onclick: (step: number, second: boolean) => void,
    private readonly onwindow: (low: number, high: number) => void,
  ) {}

  async load(ipu: number): Promise<Curve> {
    const { source } = this.context;
    const asked = source.served ? { ipu, points: POINTS, names: 1 } : { ipu };
    this.curve = curve((await source.json(this.report, 'liveness', asked)) as Liveness);
    if (!source.served) this.names = await opNames(source, this.report);
    return this.curve;
  }

  opAt(step: number): string {
    const from = this.curve;
    if (!from) return '';
    const i = point(from, step),
      op = from.op[i] ?? -1;
    const name =
      this.names.get(op) ?? (Object.hasOwn(from.data.names, String(op)) ? (from.data.names[String(op)] as string) : '');
    return name ? `${name}${from.again[i] ? ' (again)' : ''}` : '';
  }

  draw(ipu: number, most: number, height: number): void {
    const from = this.curve;
    if (!from) return;
    const { data } = from;
    const title = `${this.label}Memory of IPU ${ipu} over the program steps of a step`;
    const chart = new StackedChart({
      label: `${title}: bytes`,
      height,
      end: Math.max(1, data.steps),
      axis: 'program step',
      dragging: 'zoom',
      most,
      limit: { value: data.room, name: `memory of the IPU: ${bytes(data.room)}` },
      format: bytes,
      title: (at) => {
        const i = point(this.curve as Curve, at);
        return `program step ${whole((this.curve as Curve).at[i] ?? at)}`;
      },
      lines: (at) => [['op', this.opAt(at) || '–']],
      onclick: (at, event) =>
        this.onclick((this.curve as Curve).at[point(this.curve as Curve, at)] ?? at, event.shiftKey),
      onwindow: (low, high) => this.zoomed(low, high),
    });
    this.chart = chart;
    this.fill();
    const colours: [string, string][] = [
      ['always live', REGIONS.always],
      ['tensors that come and go', USES.activations as string],
      ['temporaries of the op', USES.temporaries as string],
    ];
    this.element.replaceChildren(
      card(
        title,
        chart.element,
        el(
          'div',
          { class: 'controls key' },
          legend(colours),
          el('span', { class: 'spring' }),
          button('+', () => chart.zoom(0.5), { class: 'small', 'aria-label': 'Zoom in' }),
          button('−', () => chart.zoom(2), { class: 'small', 'aria-label': 'Zoom out' }),
          button('All', () => chart.window(0, data.steps), { class: 'small' }),
          saveButton(
            () => chart.canvas,
            () => title,
            () => colours,
          ),
        ),
        note(
          `All tiles together; gaps are not counted. A tile may be full long before the IPU reaches the line.${data.group > 1 ? ` Each column is the fullest of ${data.group} program steps.` : ''} ` +
            'Click freezes a cursor, Shift and click sets the second one; drag to zoom.',
        ),
      ),
    );
  }

  private fill(): void {
    const from = this.curve;
    if (!from || !this.chart) return;
    const always = new Float64Array(from.live.length).fill(from.data.always);
    this.chart.setData({
      first: from.data.first,
      group: from.data.group,
      series: [
        { name: 'always live', colour: REGIONS.always, values: always },
        { name: 'tensors', colour: USES.activations as string, values: from.live },
        { name: 'temporaries', colour: USES.temporaries as string, values: from.temporary },
      ],
    });
  }

  window(low: number, high: number): void {
    this.chart?.window(low, high);
  }

  marks(marks: Mark[]): void {
    if (!this.chart) return;
    this.chart.marks = marks;
    this.chart.draw();
  }

  redraw(): void {
    this.chart?.draw();
  }

  // a server has more points for a part than for the whole
  private zoomed(low: number, high: number): void {
    this.onwindow(low, high);
    const { source } = this.context,
      from = this.curve;
    if (!source.served || !from) return;
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => {
      const wide = high - low,
        first = Math.max(0, Math.floor(low - wide)),
        last = Math.min(from.data.steps - 1, Math.ceil(high + wide));
      if (
        Math.ceil((last - first + 1) / (3 * POINTS)) >= from.data.group &&
        first >= from.data.first &&
        last <= from.data.last
      )
        return;
      void source
        .json(this.report, 'liveness', { ipu: from.data.ipu, first, last, points: 3 * POINTS, names: 1 })
        .then((answer) => {
          this.curve = curve(answer as Liveness);
          this.fill();
        });
    }, 150);
  }

  total(step: number): number {
    const from = this.curve;
    if (!from) return 0;
    const i = point(from, step);
    return from.data.always + (from.live[i] ?? 0) + (from.temporary[i] ?? 0);
  }
}

async function render(host: HTMLElement, context: Context): Promise<void> {
  const { state, source } = context;
  const map = (await context.json('summary')) as { ipus: { max: number; peakOp: string; peakStep: number }[] };
  if (!map.ipus.length) {
    host.append(note('This report has no liveness.'));
    return;
  }
  const fullest = map.ipus.reduce((best, ipu, index) => (ipu.max > (map.ipus[best]?.max ?? 0) ? index : best), 0);
  let ipu = state.number('ipu', fullest, 0, map.ipus.length - 1);
  const others = context.other ? ((await source.json(context.other.id, 'summary')) as typeof map).ipus.length : 0;
  const details = el('div', { class: 'stack' });
  let turn = 0;
  const cursors = () => {
    const first = state.number('at', -1),
      second = state.number('and', -1);
    return { first, second };
  };
  const click = (step: number, second: boolean) => {
    if (second) state.set({ and: step });
    else state.set({ at: step, and: null });
    void show();
  };
  const panels = [
    new LivenessPanel(context, context.report.id, context.other ? 'Before: ' : '', click, (low, high) =>
      state.set({ from: low > 0 ? Math.floor(low) : null, to: Math.ceil(high) }),
    ),
  ];
  if (context.other) panels.push(new LivenessPanel(context, context.other.id, 'After: ', click, () => undefined));

  const show = async (): Promise<void> => {
    const mine = ++turn;
    const panel = panels[0] as LivenessPanel;
    const { first, second } = cursors();
    const peak = map.ipus[ipu]?.peakStep ?? 0;
    const at = first < 0 ? peak : first;
    panels.forEach((each, index) =>
      each.marks([
        ...(index ? [] : [{ at: peak, name: `fullest: ${map.ipus[ipu]?.peakOp ?? ''}`, dashed: true }]),
        ...(first < 0 ? [] : [{ at: first, name: `1: step ${whole(first)}`, colour: themed('--accent') }]),
        ...(second < 0 ? [] : [{ at: second, name: `2: step ${whole(second)}`, colour: themed('--bad') }]),
      ]),
    );
    const list = await alive(source, context.report.id, ipu, at);
    const steps = (
      (await source.json(
        context.report.id,
        'liveness',
        source.served ? { ipu, points: POINTS, names: 1 } : { ipu },
      )) as Liveness
    ).steps;
    const buttons = el(
      'div',
      { class: 'controls' },
      button(
        'Fullest moment',
        () => {
          state.set({ at: peak, and: null });
          void show();
        },
        { class: 'small' },
      ),
      second < 0
        ? null
        : button(
            'Take the second cursor away',
            () => {
              state.set({ and: null });
              void show();
            },
            { class: 'small' },
          ),
    );
    let shown: HTMLElement;
    if (context.other && ipu < others) {
      const after = await alive(source, context.other.id, ipu, at).catch(() => ({
        known: false,
        variables: [],
        left_out: [0, 0] as [number, number],
      }));
      shown = card(
        `Alive in program step ${whole(at)}: before and after`,
        buttons,
        variableDifference(list.variables, after.variables, ['before', 'after']).element,
      );
    } else if (second >= 0) {
      const other = await alive(source, context.report.id, ipu, second);
      const [a, b] = [panel.total(at), panel.total(second)];
      shown = card(
        `Difference between program steps ${whole(at)} and ${whole(second)}`,
        buttons,
        plainTable(
          'the two moments',
          [['moment'], ['program step', true], ['op'], ['in memory', true]],
          [
            ['1', whole(at), panel.opAt(at), bytes(a)],
            ['2', whole(second), panel.opAt(second), bytes(b)],
            ['difference', whole(second - at), '', delta(a, b, bytes)],
          ],
        ),
        variableDifference(list.variables, other.variables, [`step ${whole(at)}`, `step ${whole(second)}`]).element,
      );
    } else {
      const op = panel.opAt(at);
      shown = card(
        `Alive in program step ${whole(at)}${first < 0 || at === peak ? ' (the fullest moment)' : ''}${op ? `, ${op}` : ''}`,
        buttons,
        note(
          `${plural(list.variables.length + list.left_out[0], 'tensor')} with ${bytes(list.variables.reduce((sum, each) => sum + each[4], list.left_out[1]))}, and ${bytes(panel.total(at))} in all with what is always live and temporaries.` +
            (list.known ? '' : ' This report keeps the largest tensors only.'),
        ),
        variableTable(list.variables, steps, at).element,
        leftOut(list) ? note(leftOut(list)) : null,
      );
    }
    if (mine === turn) details.replaceChildren(shown, alwaysLive());
  };

  // what is there for the whole run, listed when it is asked for
  const alwaysLive = (): HTMLElement => {
    const box = el(
      'details',
      { class: 'card' },
      el('summary', {}, el('b', { text: 'Always live: there for the whole run' })),
    );
    box.addEventListener('toggle', () => {
      if (!box.open || box.childElementCount > 1) return;
      void Promise.all([
        always(source, context.report.id, ipu),
        context.other && ipu < others ? always(source, context.other.id, ipu) : null,
      ]).then(([list, other]) => {
        box.append(
          other
            ? variableDifference(list.variables, other.variables, ['before', 'after']).element
            : variableTable(list.variables, 0, -1).element,
        );
        if (leftOut(list)) box.append(note(leftOut(list)));
      });
    });
    return box;
  };

  const open = async () => {
    const absent = panels[1] && ipu >= others;
    if (panels[1])
      panels[1].element.replaceChildren(
        ...(absent ? [note(`The report that this one is compared with has no IPU ${ipu}.`)] : []),
      );
    const curves = await Promise.all(panels.slice(0, absent ? 1 : 2).map((panel) => panel.load(ipu)));
    let most = 0;
    for (const each of curves) {
      most = Math.max(most, each.data.room);
      for (let i = 0; i < each.live.length; i++)
        most = Math.max(most, each.data.always + (each.live[i] as number) + (each.temporary[i] as number));
    }
    panels.slice(0, curves.length).forEach((panel) => panel.draw(ipu, most * 1.06, curves.length > 1 ? 230 : 320));
    const steps = (curves[0] as Curve).data.steps;
    const from = state.number('from', 0, 0, steps),
      to = state.number('to', steps, 0, steps);
    if (from > 0 || to < steps) panels.forEach((panel) => panel.window(from, to));
    await show();
  };
  host.append(
    el(
      'div',
      { class: 'controls sticky' },
      choice(
        'Show',
        map.ipus.map((_, n) => `IPU ${n}`),
        ipu,
        (index) => {
          ipu = index;
          state.set({ ipu, at: null, and: null, from: null, to: null });
          void open();
        },
      ),
    ),
    ...panels.map((panel) => panel.element),
    details,
  );
  context.redraw(() => panels.forEach((panel) => panel.redraw()));
  await open();
}

export const livenessView: View = {
  id: 'liveness',
  title: 'Liveness',
  lead: 'What is in memory at which point of a step. Program steps are ops in the order in which the device runs them.',
  key: 'l',
  render,
};
