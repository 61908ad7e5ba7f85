// Beside the Execution Trace: the summary of a run, a table of what was selected, one step in detail. All of it is modelled.
import { card, el, legend, note } from './elements';
import { bytes, delta, percent, plural, time, whole } from './format';
import { shareBar } from './sharebar';
import { plainTable } from './table';
import { KIND_COLOURS } from './timeline/theme';
import type { Execution, LaneInfo } from './trace_data';

export type KindSums = Pick<LaneInfo, 'compute' | 'exchange' | 'between_ipus' | 'stream' | 'sync'>;

// name of the field, words, colour
export const KIND_WORDS: [keyof KindSums, string, string][] = [
  ['compute', 'compute', KIND_COLOURS[0]!], ['exchange', 'exchange between tiles', KIND_COLOURS[1]!],
  ['between_ipus', 'exchange between IPUs', KIND_COLOURS[4]!], ['stream', 'stream copies', KIND_COLOURS[3]!],
  ['sync', 'sync and waiting', KIND_COLOURS[2]!],
];

export function laneLegend(): HTMLElement {
  return legend(KIND_WORDS.map(([, words, colour]): [string, string] => [words, colour]));
}

const sum = <T>(rows: T[], of: (row: T) => number) => rows.reduce((total, row) => total + of(row), 0);

function figures(info: Execution) {
  const cycles = sum(info.lanes, (lane) => lane.cycles), compute = sum(info.lanes, (lane) => lane.compute);
  return {
    run: Math.max(0, ...info.lanes.map((lane) => lane.cycles)), cycles, compute,
    balance: compute ? sum(info.lanes, (lane) => lane.mean_tile_cycles) / compute : 0,
    efficiency: cycles && info.tiles ? sum(info.lanes, (lane) => lane.tile_cycles) / (cycles * info.tiles) : 0,
    steps: sum(info.lanes, (lane) => lane.steps),
    streamed: sum(info.lanes, (lane) => lane.stream_in + lane.stream_out),
    crossed: Math.max(sum(info.lanes, (lane) => lane.ipus_in), sum(info.lanes, (lane) => lane.ipus_out)),
  };
}

function figure(value: string, label: string, hint: string, more = ''): HTMLElement {
  return el('div', { class: 'card', title: hint }, el('div', { class: 'figure', text: value }), el('div', { class: 'label', text: label }),
    more ? el('div', { class: 'note', text: more }) : null);
}

export function summaryCards(info: Execution, other: Execution | null): HTMLElement {
  const a = figures(info), b = other ? figures(other) : null;
  const compared = (before: number, after: number | undefined, format: (value: number) => string) => (after === undefined ? '' : `second: ${format(after)}` + (format(before) === format(after) ? ', the same' : `, ${delta(before, after, format)}`));
  const part = (value: number) => `${(100 * value).toFixed(1)}%`;
  return el('div', { class: 'cards trace-cards' },
    figure(time(a.run / info.clock_hz), `for the run: ${whole(a.run)} cycles, modelled`, 'From the first to the last cycle of the run', compared(a.run, b?.run, whole)),
    figure(part(a.efficiency), 'parallel efficiency, modelled', 'The share of all tile cycles in which a tile computes', compared(a.efficiency, b?.efficiency, part)),
    figure(part(a.balance), 'tile balance, modelled', 'The mean active tile divided by the slowest one, while they compute', compared(a.balance, b?.balance, part)),
    figure(bytes(a.streamed), 'copied to and from the host, modelled', 'Bytes of the stream copies of all IPUs', compared(a.streamed, b?.streamed, bytes)),
    figure(bytes(a.crossed), 'exchanged between IPUs, modelled', 'Bytes that IPUs send to other IPUs', compared(a.crossed, b?.crossed, bytes)));
}

export function proportions(info: Execution): HTMLElement {
  return shareBar(KIND_WORDS.map(([kind, words, colour]) => [words, sum(info.lanes, (lane) => lane[kind]), colour]), (value) => `${whole(value)} cycles`);
}

export function laneTable(info: Execution): HTMLElement {
  const rows = info.lanes.slice(0, 256).map((lane) => [
    `IPU ${lane.ipu}`, percent(lane.compute, lane.cycles), percent(lane.exchange + lane.between_ipus, lane.cycles), percent(lane.stream, lane.cycles),
    percent(lane.sync, lane.cycles), percent(lane.mean_tile_cycles, lane.compute), bytes(lane.stream_in), bytes(lane.stream_out), bytes(lane.ipus_in), bytes(lane.ipus_out), whole(lane.steps)]);
  return plainTable('IPUs', [['IPU'], ['compute', true], ['exchange', true], ['stream copies', true], ['waiting', true], ['tile balance', true],
    ['from host', true], ['to host', true], ['from IPUs', true], ['to IPUs', true], ['steps', true]], rows);
}

export interface SelectedLane extends KindSums { lane: number; ipu: number; steps: number; cycles: number; mean_tile_cycles: number; bytes_in: number; bytes_out: number }

export interface Selected {
  start: number; end: number; lanes: SelectedLane[];
  ops: [number, string, string, number, number, number, number][]; // op, name, module, cycles, of them compute, mean tile, steps
  ops_total: number;
  by?: string; // what the rows of `ops` are, if not ops
  note?: string;
}

// what is not known here is not 0
const known = (value: number, text: (value: number) => string) => (Number.isNaN(value) ? '–' : text(value));
const share = (part: number, all: number) => known(part, (value) => percent(value, all));

export function selectionCard(found: Selected, clock: number, title: string, other: Selected | null, go: (op: number) => void): HTMLElement {
  const length = found.end - found.start;
  const all = sum(found.lanes, (lane) => lane.cycles);
  const of = (selected: Selected, kind: keyof KindSums) => sum(selected.lanes, (lane) => lane[kind]);
  const kinds = KIND_WORDS.map(([kind, words]) => [words, whole(of(found, kind)), percent(of(found, kind), all),
    ...(other ? [whole(of(other, kind)), delta(of(found, kind), of(other, kind), whole)] : [])]);
  const compute = of(found, 'compute');
  const lanes = found.lanes.map((lane) => [`IPU ${lane.ipu}`, whole(lane.steps), percent(lane.compute, lane.cycles), percent(lane.exchange + lane.between_ipus, lane.cycles),
    percent(lane.sync, lane.cycles), share(lane.mean_tile_cycles, lane.compute), known(lane.bytes_in, bytes), known(lane.bytes_out, bytes)]);
  const ops = found.ops.map(([op, name, module, cycles, computed, mean, steps]) => {
    const link = el('button', { type: 'button', class: 'link', text: name, title: module, onclick: () => go(op) });
    return [op >= 0 ? link : name, whole(cycles), percent(cycles, all), computed ? share(mean, computed) : '', whole(steps)];
  });
  return card(title,
    el('p', { class: 'lead', text: `${whole(length)} cycles (${time(length / clock)}) on ${plural(found.lanes.length, 'IPU')}, modelled: ` +
      `${percent(compute, all)} compute, tile balance ${share(sum(found.lanes, (lane) => lane.mean_tile_cycles), compute)}, ` +
      `${known(sum(found.lanes, (lane) => lane.bytes_in), bytes)} in, ${known(sum(found.lanes, (lane) => lane.bytes_out), bytes)} out.` }),
    found.note ? note(found.note) : null,
    el('div', { class: 'columns' },
      el('div', {}, el('h3', { text: 'By kind' }), plainTable('by kind', [['kind'], ['cycles', true], ['share', true], ...(other ? [['second', true], ['difference', true]] as [string, boolean][] : [])], kinds),
        el('h3', { text: 'By IPU' }), plainTable('by IPU', [['IPU'], ['steps', true], ['compute', true], ['exchange', true], ['waiting', true], ['balance', true], ['in', true], ['out', true]], lanes)),
      el('div', {}, el('h3', { text: `By ${found.by ?? 'op'}, without waiting` }), plainTable(`by ${found.by ?? 'op'}`, [[found.by ?? 'op'], ['cycles', true], ['share', true], ['balance', true], ['steps', true]], ops),
        found.ops_total > found.ops.length ? note(`the largest ${whole(found.ops.length)} of ${whole(found.ops_total)}`) : null)));
}

export interface StepDetail {
  step: number; type_name: string; ipu: number; start: number; cycles: number; mean_tile_cycles: number; active_tiles: number; bytes_in: number; bytes_out: number;
  micro_batch: number; stage: number; op_id: number; program: number; path: [number, string][]; compute_set_name: string; vertices: number; plan: number;
  op?: { name: string; target: string; phase: string; module: string; source: string; function: string };
  why?: { plan: string; formula: string };
}

export function stepCard(step: StepDetail, clock: number, tiles: number, go: (view: string, values: Record<string, string | number>) => void): HTMLElement {
  const link = (text: string, view: string, values: Record<string, string | number>) => el('button', { type: 'button', class: 'link', text, onclick: () => go(view, values) });
  const lines: [string, string | Node | null][] = [
    ['cycles', `${whole(step.cycles)} (${time(step.cycles / clock)}), from ${whole(step.start)} on, modelled`],
    ['on', `IPU ${step.ipu}` + (step.stage >= 0 ? `, stage ${step.stage}` : '') + (step.micro_batch >= 0 ? `, micro-batch ${step.micro_batch}` : '')],
    ['op', step.op ? link(`${step.op.name} (${step.op.target}, ${step.op.phase})`, 'operations', { op: step.op_id }) : null],
    ['module', step.op?.module || null],
    ['source', step.op?.source ? step.op.source + (step.op.function ? ` in ${step.op.function}` : '') : null],
    ['compute set', step.compute_set_name ? `${step.compute_set_name}${step.vertices ? ` (${plural(step.vertices, 'vertex', 'vertices')})` : ''}` : null],
    ['tiles', step.active_tiles ? `${whole(step.active_tiles)} of ${whole(tiles)} take part` : null],
    ['tile balance', step.mean_tile_cycles ? `${percent(step.mean_tile_cycles, step.cycles)}: the mean tile takes ${whole(step.mean_tile_cycles)} cycles` : null],
    ['bytes', step.bytes_in || step.bytes_out ? `${bytes(step.bytes_in)} in, ${bytes(step.bytes_out)} out` : null],
    ['plan', step.why?.plan || null],
    ['formula', step.why?.formula || null],
    ['program', step.path.length ? link(step.path.map(([, name]) => name || '(no name)').join(' › '), 'program', { node: step.program }) : null],
  ];
  const title = step.compute_set_name || step.path.at(-1)?.[1] || step.type_name;
  return card(`${step.type_name}: ${title}`, el('dl', { class: 'facts' },
    ...lines.flatMap(([name, value]) => (value ? [el('dt', { text: name }), el('dd', {}, value)] : []))));
}
