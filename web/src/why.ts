// Why something costs what it does: the plan, the formula and its figures, the source, what was not taken.
import { el } from './elements';
import { compact, whole } from './format';

export interface Reason {
  plan: string;
  formula: string;
  source: string;
  figures: [string, number][];
  rejected: [string, number, string][];
  parts: Reason[];
}

export function whyBlock(why: Reason): HTMLElement {
  const line = (key: string, value: string) =>
    value ? el('p', {}, el('span', { class: 'key', text: key }), value) : null;
  return el(
    'div',
    { class: 'why' },
    line('', why.plan),
    line('= ', why.formula),
    line('with ', why.figures.map(([name, value]) => `${name} ${compact(value)}`).join(', ')),
    line('source: ', why.source),
    ...why.rejected.map(([plan, cycles, reason]) => line('not taken: ', `${plan}: ${whole(cycles)} cycles, ${reason}`)),
    ...why.parts.map(whyBlock),
  );
}
