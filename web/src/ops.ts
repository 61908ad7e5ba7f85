// Ops as objects, from columns.
import type { Source } from './source';

export interface Op {
  id: number;
  name: string;
  target: string;
  phase: string;
  module: string;
  source: string;
  fn: string;
  ipu: number;
  stage: number;
  runs: number;
  merged: number;
  compute: number;
  exchange: number;
  sync: number;
  cycles: number;
  flops: number;
  temporary: number;
  code: number;
  plan: number;
  unknown: number;
}

const COLUMNS = [
  'id',
  'name',
  'target',
  'phase',
  'module',
  'source',
  'source_function',
  'ipu',
  'stage',
  'runs',
  'merged',
  'compute_cycles',
  'exchange_cycles',
  'sync_cycles',
  'cycles',
  'flops',
  'temporary_bytes',
  'code_bytes',
  'plan_id',
  'unknown',
];

// the ops that are here, and how many there are
export async function loadOps(source: Source, report: string): Promise<[Op[], number]> {
  const { columns, rows, total } = await source.frame(report, 'ops', COLUMNS);
  const text = (name: string, row: number) => (columns[name] as string[])[row] ?? '';
  const number = (name: string, row: number) => (columns[name] as Float64Array)[row] ?? 0;
  const made: Op[] = [];
  for (let row = 0; row < rows; row++) {
    made.push({
      id: number('id', row),
      name: text('name', row),
      target: text('target', row),
      phase: text('phase', row),
      module: text('module', row),
      source: text('source', row),
      fn: text('source_function', row),
      ipu: number('ipu', row),
      stage: number('stage', row),
      runs: number('runs', row),
      merged: number('merged', row),
      compute: number('compute_cycles', row),
      exchange: number('exchange_cycles', row),
      sync: number('sync_cycles', row),
      cycles: number('cycles', row),
      flops: number('flops', row),
      temporary: number('temporary_bytes', row),
      code: number('code_bytes', row),
      plan: number('plan_id', row),
      unknown: number('unknown', row),
    });
  }
  return [made, total];
}

export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1) || name;
}
