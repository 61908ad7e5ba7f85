// Execution Trace: what each IPU does when, in a modelled run; two reports share one scale.
import { card, choice, el, hideTip, note, showTip, toggles } from './elements';
import { bytes, delta, percent, plural, time, whole } from './format';
import { plainTable } from './table';
import { Missing } from './source';
import { cycleClock } from './timeline/clock';
import { FlameRow } from './timeline/flame_row';
import { HeadingRow } from './timeline/heading_row';
import { LaneRow } from './timeline/lane_row';
import type { Area, Found, Item, Row } from './timeline/model';
import { KIND_COLOURS, KINDS } from './timeline/theme';
import { Timeline } from './timeline/timeline';
import { readState, writeState } from './timeline_state';
import { openTrace, SUMMED, type Execution, type StageSpans, type Trace } from './trace_data';
import { keptSearch, keptSelection, keptStep } from './trace_local';
import { KIND_WORDS, laneLegend, laneTable, proportions, selectionCard, stepCard, summaryCards, type Selected, type StepDetail } from './trace_panels';
import type { Context, View } from './view';

// a report on the timeline: rows are called a0, a1 ... of the first and b0, b1 ... of the one compared with
interface Side { letter: string; title: string; trace: Trace; factor: number; stages: Map<number, StageSpans> }

function laneRows(side: Side): LaneRow[] {
  const { trace, letter, factor } = side;
  const clock = trace.info.clock_hz, count = trace.info.lanes.length, tall = count <= 8 ? 40 : count <= 16 ? 30 : 22;
  const shares = (sums: number[], total: number): [string, string, string][] =>
    sums.flatMap((value, kind) => (value > 0 ? [[KINDS[kind] ?? '', `${whole(value)} cycles, ${percent(value, total)}`, KIND_COLOURS[kind] ?? ''] as [string, string, string]] : []));
  return trace.info.lanes.map((info, at) => new LaneRow(trace.lanes[at]!, trace.store, {
    id: `${letter}${info.lane}`, name: `IPU ${info.ipu}`, note: `${percent(info.compute, info.cycles)} compute`, parent: `${letter}-lanes`, offset: 0, factor, tall,
    label: (steps, step) => trace.name(steps, step) || ['compute', 'exchange', 'waiting', 'stream copy', 'between IPUs'][steps.kind[step]!] || '',
    stepTip: (steps, step, label) => ({ title: label, lines: [
      [KINDS[steps.kind[step]!] ?? '', `${whole(steps.cycles[step]!)} cycles, ${time(steps.cycles[step]! / clock)}`, KIND_COLOURS[steps.kind[step]!] ?? ''],
      ['from cycle', whole(steps.start[step]!)], ['on', `IPU ${info.ipu}, modelled`]] }),
    groupTip: (count, from, to, sums) => ({ title: `IPU ${info.ipu}: ${plural(count, 'step')}`, lines: [
      ...shares(sums, to - from), ['together', `${whole(to - from)} cycles, modelled`], ['', 'zoom in to see single steps']] }),
  }));
}

function stageRows(side: Side): FlameRow[] {
  return side.trace.info.lanes.flatMap((info) => {
    const found = side.stages.get(info.lane);
    if (!found) return [];
    const { stage, batch, busy } = found;
    const scaled = { ...found.spans, start: found.spans.start.map((value) => value * side.factor), end: found.spans.end.map((value) => value * side.factor) };
    return [new FlameRow(scaled, {
      id: `${side.letter}g${info.lane}`, name: `IPU ${info.ipu}`, note: found.stages > 1 ? plural(found.stages, 'stage') : `stage ${stage[0]}`, parent: `${side.letter}-stages`, sketched: false,
      words: (_, span) => (batch[span]! < 0 && stage[span]! < 0 ? SUMMED : batch[span]! < 0 ? `stage ${stage[span]}` : found.stages > 1 ? `${batch[span]} · s${stage[span]}` : String(batch[span])),
      tip: (set, span) => {
        const length = found.spans.end[span]! - found.spans.start[span]!;
        return { title: set.label(span), lines: [['cycles', `${whole(length)}, ${time(length / side.trace.info.clock_hz)}`], ['working', percent(busy[span]!, length)], ['on', `IPU ${info.ipu}, modelled`]] };
      },
    })];
  });
}

function rowsOf(side: Side, compared: boolean): Row[] {
  const stages = stageRows(side), name = compared ? (side.letter === 'a' ? 'First: ' : 'Second: ') : '', of = compared ? `${side.title}: ` : '';
  return [
    ...(stages.length ? [new HeadingRow(`${side.letter}-stages`, `${name}Pipeline`, `${of}the number is the micro-batch, s the stage; gaps are bubbles`), ...stages] : []),
    new HeadingRow(`${side.letter}-lanes`, `${name}IPUs`, `${of}from the bottom up: compute, exchange, stream copies, waiting`), ...laneRows(side),
  ];
}

function differences(a: Execution, b: Execution): HTMLElement {
  const total = (info: Execution, kind: (typeof KIND_WORDS)[number][0]) => info.lanes.reduce((sum, lane) => sum + lane[kind], 0);
  const run = (info: Execution) => Math.max(0, ...info.lanes.map((lane) => lane.cycles));
  const moved = (info: Execution, key: 'stream_in' | 'stream_out' | 'ipus_in') => info.lanes.reduce((sum, lane) => sum + lane[key], 0);
  return plainTable('difference of the two runs', [['modelled'], ['first', true], ['second', true], ['difference', true]], [
    ['time of the run', time(run(a) / a.clock_hz), time(run(b) / b.clock_hz), delta(run(a) / a.clock_hz, run(b) / b.clock_hz, time)],
    ...KIND_WORDS.map(([kind, words]) => [`cycles of ${words}, all IPUs`, whole(total(a, kind)), whole(total(b, kind)), delta(total(a, kind), total(b, kind), whole)]),
    ...([['stream_in', 'bytes from the host'], ['stream_out', 'bytes to the host'], ['ipus_in', 'bytes between IPUs']] as const).map(([key, words]) =>
      [words, bytes(moved(a, key)), bytes(moved(b, key)), delta(moved(a, key), moved(b, key), bytes)]),
  ]);
}

// parts of a note with semicolons between, as sentences
const sentences = (text: string) => text.split('; ').map((part) => part.charAt(0).toUpperCase() + part.slice(1) + '.').join(' ');

async function search(sides: Side[], needle: string, most: number): Promise<Found> {
  const all: Found = { matches: [], total: 0 };
  for (const { trace, letter, factor } of sides) {
    const answer = trace.source.served ? await trace.source.json(trace.report, 'execution_search', { run: trace.info.run, text: needle }) : keptSearch(trace, needle, most);
    all.total += answer.total;
    for (const [lane, step, start, cycles, text] of answer.steps as [number, number, number, number, string][])
      all.matches.push({ row: `${letter}${lane}`, key: `s${step}`, from: start * factor, to: (start + cycles) * factor, text });
  }
  all.matches.sort((one, two) => one.from - two.from);
  return all;
}

async function selected(side: Side, area: Area): Promise<Selected | null> {
  const lanes = [...new Set(area.rows.flatMap((id) => (id.startsWith(side.letter) ? [id.slice(1).replace('g', '')] : [])))].filter((id) => /^\d+$/.test(id));
  if (!lanes.length) return null;
  const [start, end] = [Math.max(0, Math.floor(area.from / side.factor)), Math.ceil(area.to / side.factor)];
  if (!side.trace.source.served) return keptSelection(side.trace, start, end, lanes.map(Number));
  return (await side.trace.source.json(side.trace.report, 'execution_selection', { run: side.trace.info.run, start, end, lanes: lanes.join(',') })) as Selected;
}

async function render(host: HTMLElement, context: Context): Promise<void> {
  const redraw = () => timeline?.redraw();
  let timeline: Timeline | null = null, restored = false;
  const wanted = context.state.get('run');
  const first = await openTrace(context.source, context.report.id, /^\d{1,6}$/.test(wanted) ? Number(wanted) : null, redraw);
  const second = context.other ? await openTrace(context.source, context.other.id, null, redraw).catch(() => null) : null;
  const { info } = first;
  if (!info.lanes.length) {
    host.append(note('This profile has no recorded run. It holds the program and its costs, but no execution steps.'));
    return;
  }
  const sides: Side[] = [{ letter: 'a', title: context.report.name, trace: first, factor: 1, stages: new Map() }];
  if (second?.info.lanes.length) sides.push({ letter: 'b', title: context.other?.name ?? '', trace: second, factor: info.clock_hz / second.info.clock_hz, stages: new Map() });
  const area = el('div', { class: 'trace-area' }), detail = el('div', { class: 'trace-step', 'aria-live': 'polite' });
  const said = el('div', {});
  timeline = new Timeline({
    clock: cycleClock(info.clock_hz), label: 'Modelled cycles of each IPU', least: 20, file: 'execution-trace.png',
    tip: (x, y, tip) => (tip ? showTip(x, y, tip.title, tip.lines) : hideTip()),
    search: (needle, most) => search(sides, needle, most),
    // not before what the address says was taken up
    onstate: (state) => { if (restored) writeState(context.state, state); },
    onpick: (item) => void pick(item),
    onarea: (chosen) => void select(chosen),
  });
  const shown = timeline;
  context.onclose(() => shown.destroy());
  context.onkey((event) => shown.key(event));
  let asked = 0, chosen = 0;
  const select = async (chosenArea: Area | null) => {
    const turn = ++asked;
    if (!chosenArea) { area.replaceChildren(); return; }
    const found = await Promise.all(sides.map((side) => selected(side, chosenArea)));
    if (turn !== asked) return;
    const [one, two] = [found[0] ?? null, found[1] ?? null];
    const go = (op: number) => context.go('operations', { op });
    const base = one ?? two;
    area.replaceChildren(base ? selectionCard(base, info.clock_hz, 'Selected area', one && two ? two : null, go) : '');
  };
  const pick = async (item: Item | null) => {
    const turn = ++chosen;
    if (!item?.key.startsWith('s') || item.row.includes('g')) { detail.replaceChildren(); return; }
    const { trace } = item.row.startsWith('b') && sides[1] ? sides[1] : sides[0]!;
    const step = Number(item.key.slice(1));
    const found = trace.source.served ? ((await trace.source.json(trace.report, 'execution_step', { step })) as StepDetail) : await keptStep(trace, step);
    if (turn === chosen) detail.replaceChildren(found ? stepCard(found, trace.info.clock_hz, trace.info.tiles, context.go) : '');
  };
  const fill = () => shown.setRows(sides.flatMap((side) => rowsOf(side, sides.length > 1)));
  const split = (on: boolean) => {
    for (const row of shown.layout.all) if (row instanceof LaneRow) row.split = on;
    shown.renew();
  };
  const isSplit = () => context.state.get('lanes') === 'split';
  shown.bar.extra.append(toggles('lanes', ['flat', 'split'], isSplit() ? 1 : 0, (index) => {
    context.state.set({ lanes: index ? 'split' : null });
    split(index === 1);
  }));
  if (info.runs.length > 1) {
    shown.bar.extra.append(choice('run', info.runs.map((run) => `${run.id}: ${run.name}`), Math.max(0, info.runs.findIndex((run) => run.id === info.run)), (index) => {
      context.state.set({ run: info.runs[index]?.id ?? null, t: null, area: null, pick: null });
      host.replaceChildren();
      shown.destroy();
      void render(host, context);
    }));
  }
  const run = info.runs.find((each) => each.id === info.run);
  host.append(summaryCards(info, sides[1]?.trace.info ?? null), said,
    el('section', { class: 'card trace-card' }, shown.node, laneLegend()), detail, area,
    ...(sides[1] ? [card('Difference between the two runs, modelled', differences(info, sides[1].trace.info))] : []),
    card('Where the cycles go, modelled', proportions(info), laneTable(info)));
  if (run?.note && run.note !== 'modelled, not measured') said.append(note(sentences(run.note)));
  fill();
  split(isSplit());
  await Promise.all(sides.map(async (side) => {
    const [, stages] = await Promise.all([side.trace.load(), side.trace.stages().catch((error: unknown) => {
      if (error instanceof Missing) return new Map<number, StageSpans>();
      throw error;
    })]);
    side.stages = stages;
  }));
  for (const { trace } of sides) {
    if (trace.info.lanes.length < trace.info.lanes_total) said.append(note(`The first ${whole(trace.info.lanes.length)} of ${whole(trace.info.lanes_total)} IPUs are shown.`));
    const steps = trace.info.lanes.reduce((sum, lane) => sum + lane.steps, 0);
    if (trace.stepsHere < trace.info.steps_total)
      said.append(note(`This page holds the first ${whole(trace.stepsHere)} of ${whole(Math.max(steps, trace.info.steps_total))} steps one by one, and sums of 16 steps for the rest. “tremula view --serve” shows every step.`));
  }
  fill();
  split(isSplit());
  const state = readState(context.state);
  // with many IPUs, their lanes would be far below
  if (!state.folded?.length && info.lanes.length > 16) state.folded = sides.map((side) => `${side.letter}-stages`);
  restored = true;
  shown.setState(state);
}

export const traceView: View = {
  id: 'trace',
  title: 'Execution Trace',
  lead: 'What each IPU does, and when. Use the wheel to zoom and drag to move. Hold Shift and drag to select an area. Click a step for its details.',
  key: 't',
  render,
};
