// Recorded runs of a report: lanes with their pyramids, steps where they are looked at, names, stages of a pipeline.
import type { Column, Source } from './source';
import { Missing, numbers } from './source';
import { KeptSteps, LoadedSteps, type LaneData, type LaneLevel, type Steps, type StepStore } from './timeline/lane';
import type { Spans } from './timeline/span_set';
import { HUES } from './timeline/theme';

export interface RunInfo { id: number; name: string; kind: string; cycles: number; steps: number; note: string }

export interface LaneInfo {
  lane: number; ipu: number; first_step: number; steps: number; cycles: number;
  compute: number; exchange: number; between_ipus: number; stream: number; sync: number;
  mean_tile_cycles: number; tile_cycles: number;
  stream_in: number; stream_out: number; ipus_in: number; ipus_out: number;
}

export interface Execution {
  clock_hz: number; tiles: number; runs: RunInfo[]; run: number; lanes: LaneInfo[]; lanes_total: number; steps_total: number; pipelined: boolean;
}

// kinds as lanes draw them, by the number of a ProgramType; all others wait
const KIND_OF_TYPE: Record<number, number> = { 7: 0, 8: 1, 9: 4, 10: 3, 11: 3, 12: 3 };
const COLUMNS = ['start', 'cycles', 'type', 'program', 'compute_set'];

function asSteps(first: number, columns: Record<string, Column>, from = 0, to?: number): Steps {
  const part = (name: string) => (columns[name] as Float64Array).subarray(from, to);
  const more = columns.mean_tile_cycles ? { more: { mean: part('mean_tile_cycles'), bytesIn: part('bytes_in'), bytesOut: part('bytes_out') } } : {};
  return {
    ...more, first, start: part('start'), cycles: part('cycles'), kind: Uint8Array.from(part('type'), (type) => KIND_OF_TYPE[type] ?? 2),
    program: Int32Array.from(part('program')), computeSet: Int32Array.from(part('compute_set')),
  };
}

// names of rows of a frame: those around one that is asked for are loaded with it
export class Names {
  private readonly known = new Map<number, string>();
  private readonly asked = new Set<number>();
  private static readonly PART = 512;

  constructor(private readonly source: Source, private readonly report: string, private readonly frame: string, private readonly changed: () => void) {
    if (!source.served) {
      source.frame(report, `execution_${frame}`, ['name', 'id']).then(({ columns }) => {
        const ids = columns.id as Float64Array;
        ids.forEach((id, at) => this.known.set(id, (columns.name as string[])[at] ?? ''));
        changed();
      }).catch(() => undefined);
    }
  }

  get(row: number): string {
    const found = this.known.get(row);
    if (found !== undefined || row < 0) return found ?? '';
    const part = Math.floor(row / Names.PART);
    if (this.source.served && !this.asked.has(part)) {
      this.asked.add(part);
      this.source.frame(this.report, this.frame, ['name'], part * Names.PART, Names.PART).then(({ first, columns }) => {
        (columns.name as string[]).forEach((name, at) => this.known.set(first + at, name));
        this.changed();
      }).catch(() => undefined);
    }
    return '';
  }
}

export class Trace {
  readonly lanes: LaneData[];
  readonly sets: Names;
  readonly programs: Names;
  store: StepStore;
  // a page without a server may hold only some of the steps
  stepsHere = Infinity;

  constructor(readonly source: Source, readonly report: string, readonly info: Execution, private readonly changed: () => void) {
    this.lanes = info.lanes.map((lane) => ({ first: lane.first_step, steps: lane.steps, cycles: lane.cycles, levels: [], covers: 16 }));
    this.sets = new Names(source, report, 'compute_sets', changed);
    this.programs = new Names(source, report, 'programs', changed);
    this.store = source.served
      ? new LoadedSteps(async (first, rows) => asSteps(first, (await source.frame(report, 'steps', COLUMNS, first, rows)).columns), changed)
      : new KeptSteps([]);
  }

  name(steps: Steps, at: number): string {
    return this.sets.get(steps.computeSet[at] ?? -1) || this.programs.get(steps.program[at] ?? -1);
  }

  async load(): Promise<void> {
    await Promise.all([this.loadPyramid(), this.source.served ? null : this.loadKept()]);
    this.changed();
  }

  private async loadPyramid(): Promise<void> {
    const names = ['lane', 'level', 'start', 'end', 'compute', 'exchange', 'sync', 'stream'];
    const lanes = new Map(this.info.lanes.map((lane, at) => [lane.lane, at]));
    for (let first = 0; ;) {
      let part;
      try { part = await this.source.frame(this.report, 'pyramid', names, first, 100_000); } catch (error) {
        if (error instanceof Missing) break;
        throw error;
      }
      const column = (name: string) => part.columns[name] as Float64Array;
      const lane = column('lane'), level = column('level');
      for (let at = 0; at < part.rows;) {
        let end = at + 1;
        while (end < part.rows && lane[end] === lane[at] && level[end] === level[at]) end++;
        const into = this.lanes[lanes.get(lane[at]!) ?? -1];
        if (into && level[at]! >= 1 && level[at]! <= 12) {
          const piece: LaneLevel = {
            start: column('start').slice(at, end), end: column('end').slice(at, end),
            sums: [column('compute').slice(at, end), column('exchange').slice(at, end), column('sync').slice(at, end), column('stream').slice(at, end)],
          };
          const before = into.levels[level[at]! - 1];
          into.levels[level[at]! - 1] = before ? joined(before, piece) : piece;
        }
        at = end;
      }
      first += part.rows;
      if (!part.rows || first >= part.total || !this.source.served) break;
      this.changed();
    }
    this.lanes.forEach((lane, at) => {
      const info = this.info.lanes[at]!;
      // a page without a server may have left out the finest levels
      const finest = lane.levels.findIndex(Boolean);
      if (finest > 0) [lane.levels, lane.covers] = [lane.levels.slice(finest), 16 ** (finest + 1)];
      // a lane of one step has no pyramid
      if (lane.levels.length && lane.levels.every(Boolean)) return;
      lane.covers = Math.max(16, lane.steps);
      const one = (value: number) => Float64Array.of(value);
      lane.levels = lane.steps ? [{ start: one(0), end: one(info.cycles), sums: [one(info.compute), one(info.exchange + info.between_ipus), one(info.sync), one(info.stream)] }] : [];
    });
  }

  // rows that follow each other are one piece
  private async loadKept(): Promise<void> {
    try {
      const { columns } = await this.source.frame(this.report, 'steps', [...COLUMNS, 'id', 'mean_tile_cycles', 'bytes_in', 'bytes_out']);
      const ids = columns.id as Float64Array, pieces: Steps[] = [];
      for (let at = 0; at < ids.length;) {
        let end = at + 1;
        while (end < ids.length && ids[end] === ids[end - 1]! + 1) end++;
        pieces.push(asSteps(ids[at]!, columns, at, end));
        at = end;
      }
      this.store = new KeptSteps(pieces);
      this.stepsHere = ids.length;
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      this.stepsHere = 0;
    }
  }

  // spans of pipeline stages by lane; empty without a pipeline
  async stages(): Promise<Map<number, StageSpans>> {
    const found = new Map<number, StageSpans>();
    if (!this.info.pipelined) return found;
    const answer = await this.source.json(this.report, 'execution_stages', { run: this.info.run });
    const column = (name: string) => numbers(answer.columns[name]);
    const [lane, stage, batch, start, end, busy] = ['lane', 'stage', 'micro_batch', 'start', 'end', 'busy'].map(column) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
    for (let at = 0; at < lane.length;) {
      let last = at + 1;
      while (last < lane.length && lane[last] === lane[at]) last++;
      const part = (values: Float64Array) => values.subarray(at, last);
      const labels = new Map<string, number>();
      const label = Array.from(part(batch), (number, place) => {
        const of = stage[at + place]!;
        const text = number < 0 && of < 0 ? SUMMED : (number >= 0 ? `micro-batch ${number}` : 'once') + (of >= 0 ? `, stage ${of}` : '');
        return labels.get(text) ?? (labels.set(text, labels.size), labels.size - 1);
      });
      const spans: Spans = {
        start: part(start).slice(), end: part(end).slice(), label, labels: [...labels.keys()], colours: HUES,
        colour: Int32Array.from(part(batch), (number) => (number < 0 ? HUES.length - 2 : number % HUES.length)),
      };
      found.set(lane[at]!, { spans, stage: part(stage), batch: part(batch), busy: part(busy), stages: new Set(part(stage).filter((each) => each >= 0)).size });
      at = last;
    }
    return found;
  }
}

// what the profile keeps only in sum
export const SUMMED = 'more micro-batches, summed up';

export interface StageSpans { spans: Spans; stage: Float64Array; batch: Float64Array; busy: Float64Array; stages: number }

function joined(one: LaneLevel, other: LaneLevel): LaneLevel {
  const both = (a: Float64Array, b: Float64Array) => {
    const made = new Float64Array(a.length + b.length);
    made.set(a);
    made.set(b, a.length);
    return made;
  };
  return {
    start: both(one.start, other.start), end: both(one.end, other.end),
    sums: [0, 1, 2, 3].map((kind) => both(one.sums[kind]!, other.sums[kind]!)) as LaneLevel['sums'],
  };
}

export async function openTrace(source: Source, report: string, run: number | null, changed: () => void): Promise<Trace> {
  const info = (await source.json(report, 'execution', run === null ? {} : { run })) as Execution;
  return new Trace(source, report, info, changed);
}
