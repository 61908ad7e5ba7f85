// One op: what it does, its plan, why it costs what it does, its supersteps.
import { WORK } from './colours';
import { el, note } from './elements';
import { bytes, compact, percent, whole } from './format';
import type { Op } from './ops';
import { shareBar } from './sharebar';
import { Missing } from './source';
import { plainTable } from './table';
import type { Context } from './view';
import type { Reason } from './why';
import { whyBlock } from './why';

interface Plan {
  why: Reason;
  steps: [string, ...number[]][];
  cycles: number;
  temporary: number;
  code: [string, number][];
}

export async function opDetails(context: Context, report: string, op: Op): Promise<HTMLElement> {
  let plan: Plan | null = null;
  if (op.plan >= 0) {
    try {
      plan = (await context.source.json(report, 'reason', { plan: op.plan })) as Plan;
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
    }
  }
  const facts: [string, string][] = [
    ['computes', op.target],
    ['pass', op.phase],
    ['module', op.module || '–'],
    ['source', op.source ? `${op.source}${op.fn ? ` in ${op.fn}` : ''}` : '–'],
    ['where', `IPU ${op.ipu}, stage ${op.stage}`],
    ['runs per step', whole(op.runs)],
    ['cycles per step', whole(op.cycles)],
    [
      'FLOP per step',
      op.flops ? `${compact(op.flops)}, ${compact(op.cycles ? op.flops / op.cycles : 0)} per cycle` : '–',
    ],
    ['temporaries on the fullest tile', bytes(op.temporary)],
    ...(op.merged > 1 ? [['stands for', `${whole(op.merged)} equal ops`] as [string, string]] : []),
    ...(plan
      ? plan.code
          .filter((part) => part[1])
          .map(([name, size]): [string, string] => [`${name} on the fullest tile`, bytes(size)])
      : []),
  ];
  return el(
    'div',
    {},
    shareBar(
      [
        ['compute', op.compute, WORK.compute],
        ['exchange', op.exchange, WORK.exchange],
        ['sync', op.sync, WORK.sync],
      ],
      (cycles) => `${whole(cycles)} cycles`,
    ),
    el(
      'div',
      { class: 'columns' },
      plainTable('facts', [['what'], ['value']], facts),
      el(
        'div',
        {},
        el('h4', { text: 'Why it costs this much' }),
        op.unknown ? el('p', { class: 'bad', text: 'No planner knows this op. A fallback estimated its cost.' }) : null,
        plan
          ? whyBlock(plan.why)
          : note(
              op.plan < 0
                ? 'This op has no plan of its own.'
                : 'Its plan is in the file, not on this page: tremula view FILE --op NAME',
            ),
      ),
    ),
    plan?.steps.length
      ? plainTable(
          'supersteps',
          [
            ['superstep'],
            ['times', true],
            ['slowest tile', true],
            ['mean tile', true],
            ['balance', true],
            ['exchange', true],
            ['sync', true],
            ['tiles that compute', true],
            ['that wait', true],
          ],
          plan.steps.map(([name, times, slowest, mean, exchange, sync, active, idle]) => [
            name,
            whole(times ?? 0),
            whole(slowest ?? 0),
            whole(mean ?? 0),
            percent(mean ?? 0, slowest ?? 0),
            whole(exchange ?? 0),
            whole(sync ?? 0),
            whole(active ?? 0),
            whole(idle ?? 0),
          ]),
        )
      : null,
  );
}
