// Liveness: what is in memory at which program step; two cursors give the difference.
import { button, card, choice, el, note } from './elements';
import { bytes, delta, plural, whole } from './format';
import type { Curve, Liveness } from './liveness_panel';
import { asked, LivenessPanel } from './liveness_panel';
import { axisTop } from './stacked';
import { plainTable } from './table';
import { leftOut, variableDifference, variableTable } from './variable_table';
import { alive, always } from './variables';
import type { Context, View } from './view';

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
        ...(first < 0 ? [] : [{ at: first, name: `1: step ${whole(first)}`, colour: '--accent' }]),
        ...(second < 0 ? [] : [{ at: second, name: `2: step ${whole(second)}`, colour: '--bad' }]),
      ]),
    );
    const list = await alive(source, context.report.id, ipu, at);
    const steps = ((await source.json(context.report.id, 'liveness', asked(source, ipu))) as Liveness).steps;
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
            'Remove the second cursor',
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
      el('summary', {}, el('b', { text: 'Always live: in memory for the whole run' })),
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
    if (panels[1]) panels[1].element.replaceChildren(...(absent ? [note(`The other report has no IPU ${ipu}.`)] : []));
    const curves = await Promise.all(panels.slice(0, absent ? 1 : 2).map((panel) => panel.load(ipu)));
    let most = 0,
      room = 0;
    for (const each of curves) {
      room = Math.max(room, each.data.room);
      for (let i = 0; i < each.live.length; i++)
        most = Math.max(most, each.data.always + (each.live[i] as number) + (each.temporary[i] as number));
    }
    panels
      .slice(0, curves.length)
      .forEach((panel) => panel.draw(ipu, axisTop(most, room), curves.length > 1 ? 230 : 320));
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
  lead: 'What is in memory at each point of a step. Program steps are ops in the order in which the device runs them.',
  key: 'l',
  render,
};
