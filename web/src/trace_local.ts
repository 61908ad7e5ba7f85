// What a page without a server can say about steps: from those that it holds, and from sums of 16 for the rest.
import { KeptSteps, type Steps } from './timeline/lane';
import type { Trace } from './trace_data';
import type { Selected, SelectedLane, StepDetail } from './trace_panels';

const TYPES = ['OnTileExecute', 'DoExchange', 'Sync', 'StreamCopy', 'GlobalExchange'];
const FIELDS = ['compute', 'exchange', 'sync', 'stream', 'between_ipus'] as const;

function pieces(trace: Trace): Steps[] {
  return trace.store instanceof KeptSteps ? trace.store.pieces : [];
}

export function keptSearch(trace: Trace, needle: string, most: number): { total: number; steps: [number, number, number, number, string][] } {
  const steps: [number, number, number, number, string][] = [];
  let total = 0;
  for (const piece of pieces(trace)) {
    for (let at = 0; at < piece.start.length; at++) {
      const name = trace.name(piece, at);
      if (!name.toLowerCase().includes(needle)) continue;
      const row = piece.first + at;
      const lane = trace.info.lanes.find((each) => row >= each.first_step && row < each.first_step + each.steps);
      if (!lane) continue;
      total++;
      if (steps.length < most) steps.push([lane.lane, row, piece.start[at]!, piece.cycles[at]!, name]);
    }
  }
  return { total, steps };
}

export function keptSelection(trace: Trace, start: number, end: number, wanted: number[]): Selected {
  let rough = 0;
  const names = new Map<string, [number, number, number, number]>();
  const lanes = trace.info.lanes.flatMap((info, number): SelectedLane[] => {
    if (!wanted.includes(info.lane)) return [];
    const found: SelectedLane = { lane: info.lane, ipu: info.ipu, steps: 0, cycles: 0, compute: 0, exchange: 0, sync: 0, stream: 0, between_ipus: 0, mean_tile_cycles: 0, bytes_in: 0, bytes_out: 0 };
    const data = trace.lanes[number]!;
    const base = data.levels[0];
    for (let at = 0; base && at < base.start.length; at++) {
      const [low, high] = [base.start[at]!, base.end[at]!];
      if (high <= start || low >= end) continue;
      const firstRow = data.first + at * data.covers, lastRow = Math.min(firstRow + data.covers, data.first + data.steps);
      if (!trace.store.get(firstRow) || !trace.store.get(lastRow - 1)) {
        // sums, in proportion to the part that lies inside
        const share = (Math.min(high, end) - Math.max(low, start)) / (high - low || 1);
        base.sums.forEach((sum, kind) => {
          found[FIELDS[kind]!] += sum[at]! * share;
          found.cycles += sum[at]! * share;
        });
        found.steps += lastRow - firstRow;
        // sums do not have them
        found.mean_tile_cycles = found.bytes_in = found.bytes_out = NaN;
        rough++;
        continue;
      }
      for (let row = firstRow; row < lastRow; row++) {
        const steps = trace.store.get(row);
        if (!steps) continue;
        const place = row - steps.first, from = steps.start[place]!, to = from + steps.cycles[place]!;
        const inside = Math.min(to, end) - Math.max(from, start);
        if (inside <= 0) continue;
        const kind = steps.kind[place]!;
        const share = inside / (to - from), mean = (steps.more?.mean[place] ?? NaN) * share;
        found[FIELDS[kind]!] += inside;
        found.cycles += inside;
        found.steps++;
        if (kind === 0) found.mean_tile_cycles += mean;
        found.bytes_in += (steps.more?.bytesIn[place] ?? NaN) * share;
        found.bytes_out += (steps.more?.bytesOut[place] ?? NaN) * share;
        if (kind === 2) continue;
        const name = trace.name(steps, place) || '(no name)';
        const total = names.get(name) ?? [0, 0, 0, 0];
        names.set(name, [total[0] + inside, total[1] + (kind === 0 ? inside : 0), total[2] + (kind === 0 ? mean : 0), total[3] + 1]);
      }
    }
    return [found];
  });
  const ranked = [...names].sort((one, other) => other[1][0] - one[1][0]);
  return {
    start, end, lanes, ops_total: ranked.length, by: 'compute set',
    ops: ranked.slice(0, 200).map(([name, [cycles, compute, mean, steps]]) => [-1, name, '', cycles, compute, mean, steps]),
    ...(rough ? { note: 'For part of this area the page holds only sums of 16 steps, without names, tile balance and bytes. “tremula view --serve” shows every step.' } : {}),
  };
}

export async function keptStep(trace: Trace, step: number): Promise<StepDetail | null> {
  const steps = trace.store.get(step);
  if (!steps) return null;
  const at = step - steps.first;
  const found = await trace.source.frame(trace.report, 'steps', ['id', 'mean_tile_cycles', 'active_tiles', 'bytes_in', 'bytes_out', 'micro_batch', 'stage', 'op_id']).catch(() => null);
  const place = found ? (found.columns.id as Float64Array).indexOf(step) : -1;
  const value = (name: string, missing: number) => (found && place >= 0 ? ((found.columns[name] as Float64Array)[place] ?? missing) : missing);
  const lane = trace.info.lanes.find((each) => step >= each.first_step && step < each.first_step + each.steps);
  const detail: StepDetail = {
    step, type_name: TYPES[steps.kind[at]!] ?? 'Unknown', ipu: lane?.ipu ?? -1, start: steps.start[at]!, cycles: steps.cycles[at]!, mean_tile_cycles: value('mean_tile_cycles', 0),
    active_tiles: value('active_tiles', 0), bytes_in: value('bytes_in', 0), bytes_out: value('bytes_out', 0), micro_batch: value('micro_batch', -1), stage: value('stage', -1),
    op_id: value('op_id', -1), program: steps.program[at]!, path: [[steps.program[at]!, trace.programs.get(steps.program[at]!)]],
    compute_set_name: trace.sets.get(steps.computeSet[at]!), vertices: 0, plan: -1,
  };
  const ops = detail.op_id < 0 ? null : await trace.source.frame(trace.report, 'ops', ['id', 'name', 'target', 'phase', 'module', 'source', 'source_function']).catch(() => null);
  const row = ops ? (ops.columns.id as Float64Array).indexOf(detail.op_id) : -1;
  if (ops && row >= 0) {
    const text = (name: string) => (ops.columns[name] as string[])[row] ?? '';
    detail.op = { name: text('name'), target: text('target'), phase: text('phase'), module: text('module'), source: text('source'), function: text('source_function') };
  }
  return detail;
}
