// The roofline of a report with its legend and what it means.
import { hue } from './colours';
import { el, legend, note } from './elements';
import { compact, percent } from './format';
import type { Op } from './ops';
import { saveButton } from './picture';
import { Roofline } from './roofline';
import type { Summary } from './summary_data';

// floating-point operations per tile and cycle of the matrix engine in half precision, as published
const HALF_PEAK: Record<string, number> = { mk1: 64, mk2: 128, bow: 128, c600: 128 };
const MOST_DOTS = 3000;
const MOST_KINDS = 7;
const OTHERS = '#c3cad6';

// null if no op has floating-point work
export function rooflineCard(
  ops: Op[],
  target: Summary['target'],
  onpick: (op: Op) => void,
): { roof: Roofline; element: HTMLElement } | null {
  const chip = String(target.chip);
  const each = Object.hasOwn(HALF_PEAK, chip) ? (HALF_PEAK[chip] as number) : 0;
  const peak = each * Number(target.tiles_per_ipu);
  const all = ops.reduce((sum, op) => sum + op.cycles, 0);
  const kinds = new Map<string, number>();
  for (const op of ops) if (op.flops > 0) kinds.set(op.target, (kinds.get(op.target) ?? 0) + op.cycles);
  const ranked = [...kinds]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MOST_KINDS)
    .map((kind) => kind[0]);
  const colour = (op: Op) => (ranked.includes(op.target) ? hue(ranked.indexOf(op.target)) : OTHERS);
  const dots = [...ops]
    .sort((a, b) => b.cycles - a.cycles)
    .slice(0, MOST_DOTS)
    .map(({ name, flops, cycles, exchange, id }, index, sorted) => ({
      name,
      flops,
      cycles,
      exchange,
      colour: colour(sorted[index] as Op),
      row: id,
    }));
  const roof = new Roofline(dots, {
    peak,
    peakName: `peak of the matrix engine, half precision: ${compact(peak)} FLOP per cycle`,
    share: (cycles) => percent(cycles, all),
    onpick: (row) => {
      const op = ops.find((found) => found.id === row);
      if (op) onpick(op);
    },
  });
  if (!roof.count) return null;
  const colours = ranked.map((kind, index): [string, string] => [kind, hue(index)]);
  if (kinds.size > ranked.length) colours.push(['others', OTHERS]);
  const flat = peak
    ? 'on the flat part the matrix engine is always busy'
    : 'and the peak of this chip is not known here';
  const element = el(
    'details',
    { class: 'card', open: true },
    el('summary', {}, el('b', { text: 'Roofline: how close ops come to the peak of the chip' })),
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
      'One dot for each op with floating-point work; its size is its share of the cycles. An op cannot lie above the ' +
        `dashed line: on the slope all its time is exchange between tiles, ${flat}. Ops low on the right are bound by ` +
        'neither: see their plan. Dots at an edge lie beyond it; those at the right have no exchange.',
    ),
  );
  return { roof, element };
}
