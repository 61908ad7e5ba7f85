// The program tree: nodes of a server, or of the frame that a page holds.
import type { Source } from './source';

// id, type, kind, name, repeats, cycles, op, children
export type Node_ = [number, string, string, string, number, number, number, number];

export interface Details {
  node: Node_;
  path: number[];
  code_bytes: number;
  compute_set: [string, number, number] | null;
  vertices: [string, number, number][];
  op: [number, string, string, string, string, number] | null;
  context: [string, string, string, string, number][];
}

export interface Found {
  total: number;
  place: number;
  node: number;
  path: number[];
}

export interface ProgramTree {
  children(node: number): Promise<{ total: number; children: Node_[] }>;
  details(node: number): Promise<Details>;
  search(text: string, after: number, back: boolean): Promise<Found>;
}

class ServedTree implements ProgramTree {
  constructor(
    private readonly source: Source,
    private readonly report: string,
  ) {}

  async children(node: number): Promise<{ total: number; children: Node_[] }> {
    const found = (await this.source.json(this.report, 'children', { node })) as { total: number; children: Node_[] };
    while (found.children.length < Math.min(found.total, 20_000)) {
      const more = (await this.source.json(this.report, 'children', { node, first: found.children.length })) as {
        children: Node_[];
      };
      if (!more.children.length) break;
      found.children = [...found.children, ...more.children];
    }
    return found;
  }

  details(node: number): Promise<Details> {
    return this.source.json(this.report, 'program_node', { node }) as Promise<Details>;
  }

  search(text: string, after: number, back: boolean): Promise<Found> {
    return this.source.json(this.report, 'program_search', {
      text,
      after,
      ...(back ? { back: 1 } : {}),
    }) as Promise<Found>;
  }
}

type Columns = Record<string, Float64Array | string[]>;

class HeldTree implements ProgramTree {
  private readonly rows = new Map<number, number>();
  private readonly below = new Map<number, number[]>();

  constructor(
    private readonly source: Source,
    private readonly report: string,
    private readonly columns: Columns,
  ) {
    const ids = columns.id as Float64Array,
      parents = columns.parent as Float64Array;
    ids.forEach((id, row) => {
      this.rows.set(id, row);
      const parent = parents[row] as number,
        list = this.below.get(parent);
      if (list) list.push(id);
      else this.below.set(parent, [id]);
    });
  }

  private text(name: string, row: number): string {
    return (this.columns[name] as string[])[row] ?? '';
  }
  private number(name: string, row: number): number {
    return (this.columns[name] as Float64Array)[row] ?? 0;
  }

  private node(id: number): Node_ {
    const row = this.rows.get(id) ?? 0;
    return [
      id,
      this.text('type_name', row),
      this.text('kind', row),
      this.text('name', row),
      this.number('repeats', row),
      this.number('cycles', row),
      this.number('op_id', row),
      this.number('children', row),
    ];
  }

  private path(node: number): number[] {
    const found: number[] = [];
    for (
      let at = node;
      at >= 0 && this.rows.has(at) && found.length < 100;
      at = this.number('parent', this.rows.get(at) as number)
    )
      found.unshift(at);
    return found;
  }

  children(node: number): Promise<{ total: number; children: Node_[] }> {
    const row = this.rows.get(node),
      list = this.below.get(node) ?? [];
    return Promise.resolve({
      total: row === undefined ? list.length : this.number('children', row),
      children: list.map((id) => this.node(id)),
    });
  }

  async details(node: number): Promise<Details> {
    const row = this.rows.get(node) ?? 0,
      op = this.number('op_id', row);
    const found: Details = {
      node: this.node(node),
      path: this.path(node),
      code_bytes: this.number('code_bytes', row),
      compute_set: null,
      vertices: [],
      op: null,
      context: [],
    };
    if (op >= 0) {
      const ops = await this.source.frame(this.report, 'ops', ['id', 'name', 'target', 'module', 'source', 'plan_id']);
      const at = (ops.columns.id as Float64Array).indexOf(op);
      const text = (name: string) => (ops.columns[name] as string[])[at] as string;
      if (at >= 0)
        found.op = [
          op,
          text('name'),
          text('target'),
          text('module'),
          text('source'),
          (ops.columns.plan_id as Float64Array)[at] as number,
        ];
    }
    const set = this.number('compute_set', row);
    if (set >= 0) await this.vertices(found, set);
    return found;
  }

  private async vertices(found: Details, set: number): Promise<void> {
    const sets = await this.source.frame(this.report, 'compute_sets', [
      'id',
      'name',
      'plan_id',
      'superstep',
      'vertices',
      'cycles',
    ]);
    const at = (sets.columns.id as Float64Array).indexOf(set);
    if (at < 0) return;
    const of = (name: string) => (sets.columns[name] as Float64Array)[at] as number;
    found.compute_set = [(sets.columns.name as string[])[at] as string, of('vertices'), of('cycles')];
    const all = await this.source.frame(this.report, 'vertices', [
      'plan_id',
      'superstep',
      'vertex_type',
      'count',
      'tiles',
    ]);
    const types = await this.source.frame(this.report, 'vertex_types', ['name']);
    const value = (name: string, row: number) => (all.columns[name] as Float64Array)[row] as number;
    for (let row = 0; row < all.rows; row++) {
      if (value('plan_id', row) === of('plan_id') && value('superstep', row) === of('superstep')) {
        found.vertices.push([
          (types.columns.name as string[])[value('vertex_type', row)] ?? '',
          value('count', row),
          value('tiles', row),
        ]);
      }
    }
  }

  search(text: string, after: number, back: boolean): Promise<Found> {
    const wanted = text.toLowerCase(),
      hits: number[] = [];
    (this.columns.id as Float64Array).forEach((id, row) => {
      if (
        this.text('name', row).toLowerCase().includes(wanted) ||
        this.text('type_name', row).toLowerCase().includes(wanted)
      )
        hits.push(id);
    });
    if (!hits.length) return Promise.resolve({ total: 0, place: 0, node: -1, path: [] });
    let place = back ? hits.findLastIndex((id) => id < after) : hits.findIndex((id) => id > after);
    if (place < 0) place = back ? hits.length - 1 : 0;
    const node = hits[place] as number;
    return Promise.resolve({ total: hits.length, place: place + 1, node, path: this.path(node) });
  }
}

export async function programTree(source: Source, report: string): Promise<ProgramTree> {
  if (source.served) return new ServedTree(source, report);
  const frame = await source.frame(report, 'programs', [
    'id',
    'parent',
    'type_name',
    'kind',
    'name',
    'repeats',
    'cycles',
    'op_id',
    'compute_set',
    'code_bytes',
    'children',
  ]);
  return new HeldTree(source, report, frame.columns);
}
