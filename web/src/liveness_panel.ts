// The memory of one IPU over program steps, of one report.
import { REGIONS, USES } from './colours';
import { button, card, el, legend, note } from './elements';
import { bytes, whole } from './format';
import { saveButton } from './picture';
import type { Params, Source } from './source';
import { numbers } from './source';
import { StackedChart } from './stacked';
import type { Mark } from './stacked_paint';
import { opNames } from './variables';
import type { Context } from './view';

export interface Liveness {
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
export interface Curve {
  data: Liveness;
  at: Float64Array;
  live: Float64Array;
  temporary: Float64Array;
  op: Float64Array;
  again: Float64Array;
}

const POINTS = 1500;

// a page without a server holds one answer for each IPU
export function asked(source: Source, ipu: number): Params {
  return source.served ? { ipu, points: POINTS, names: 1 } : { ipu };
}

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

export class LivenessPanel {
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
    this.curve = curve((await source.json(this.report, 'liveness', asked(source, ipu))) as Liveness);
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
    const title = `${this.label}Memory of IPU ${ipu} over the program steps`;
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
          `The sum of all tiles, without gaps. A tile may be full long before the IPU reaches the line.${data.group > 1 ? ` Each column is the fullest of ${data.group} program steps.` : ''} ` +
            'Click to freeze the cursor, Shift and click to set a second one. Drag to zoom.',
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
