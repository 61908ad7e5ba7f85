// Where the pages get their data: answers inlined in the page, or a server on this machine.
// Both give the same answers; see src/tremula/view/endpoints.py.

export interface ReportInfo {
  id: string; // number of the report as text, as it stands in addresses
  name: string;
  title: string; // what was modelled, in a few words
  kind: string; // "profile" or "trace"
}

export type Column = Float64Array | string[];

export interface FrameData {
  first: number;
  rows: number; // rows that are here
  total: number; // rows of the frame; more than `rows` where a page keeps the largest
  columns: Record<string, Column>;
}

export type Params = Record<string, string | number>;

export interface Source {
  readonly served: boolean;
  readonly compared: string; // id of the report to compare with from the start; or empty
  reports(): Promise<ReportInfo[]>;
  json(report: string, what: string, params?: Params): Promise<any>;
  frame(report: string, name: string, columns: string[], first?: number, rows?: number): Promise<FrameData>;
}

export class Missing extends Error {}

// how columns travel: numbers as base64 of little-endian arrays, texts as lists or as numbers into a list
interface Packed {
  f8?: string;
  i4?: string;
  strings?: string[];
  texts?: string[];
  at?: string;
}
interface PackedFrame {
  first: number;
  rows: number;
  total: number;
  columns: Record<string, Packed>;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const found = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) found[i] = binary.charCodeAt(i);
  return found;
}

// numbers of an answer: a plain list, or base64 of float64 or int32
export function numbers(packed: Packed | number[]): Float64Array {
  if (Array.isArray(packed)) return Float64Array.from(packed);
  if (packed.f8 !== undefined) return new Float64Array(bytesOf(packed.f8).buffer);
  return Float64Array.from(new Int32Array(bytesOf(packed.i4 ?? '').buffer));
}

function column(packed: Packed): Column {
  if (packed.strings) return packed.strings;
  const texts = packed.texts;
  if (texts) return Array.from(numbers({ i4: packed.at ?? '' }), (at) => texts[at] ?? '');
  return numbers(packed);
}

function unpacked(frame: PackedFrame, wanted: string[]): FrameData {
  const columns: Record<string, Column> = {};
  for (const name of wanted) {
    const packed = Object.hasOwn(frame.columns, name) ? frame.columns[name] : undefined;
    if (!packed) throw new Missing(`the column ${name} is not here`);
    columns[name] = column(packed);
  }
  return { first: frame.first, rows: frame.rows, total: frame.total, columns };
}

// parameters in the order of their names, as the Python side writes them
export function address(what: string, params: Params = {}): string {
  const parts = Object.keys(params)
    .sort()
    .map((name) => `${name}=${params[name]}`);
  return parts.length ? `${what}?${parts.join('&')}` : what;
}

export interface Inlined {
  compared?: string;
  reports: ReportInfo[];
  answers: Record<string, unknown>; // "0/tiles?ipu=1"
  frames: Record<string, PackedFrame>; // "0/programs"
}

export class InlineSource implements Source {
  readonly served = false;
  readonly compared: string;
  constructor(private readonly data: Inlined) {
    this.compared = data.compared ?? '';
  }

  reports(): Promise<ReportInfo[]> {
    return Promise.resolve(this.data.reports);
  }

  json(report: string, what: string, params?: Params): Promise<unknown> {
    const key = `${report}/${address(what, params)}`;
    if (!Object.hasOwn(this.data.answers, key)) return Promise.reject(new Missing(`${what} is not on this page`));
    return Promise.resolve(this.data.answers[key]);
  }

  // what the page keeps of a frame, whatever rows were asked for: see `total`
  frame(report: string, name: string, columns: string[], first = 0, rows?: number): Promise<FrameData> {
    const key = `${report}/${name}`;
    const frame = Object.hasOwn(this.data.frames, key) ? this.data.frames[key] : undefined;
    if (!frame) return Promise.reject(new Missing(`${name} is not on this page`));
    try {
      const whole = unpacked(frame, columns);
      if (first === 0 && (rows === undefined || rows >= whole.rows)) return Promise.resolve(whole);
      const end = rows === undefined ? whole.rows : Math.min(whole.rows, first + rows);
      for (const each of columns) whole.columns[each] = (whole.columns[each] as Float64Array).slice(first, end);
      return Promise.resolve({ ...whole, first, rows: Math.max(0, end - first) });
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }
}

const KEPT_ANSWERS = 64;

export class FetchSource implements Source {
  readonly served = true;
  private readonly kept = new Map<string, Promise<unknown>>();
  constructor(
    private readonly base: string,
    private readonly token: string,
    readonly compared = '',
  ) {}

  private get(path: string): Promise<unknown> {
    const known = this.kept.get(path);
    if (known) return known;
    const asked = fetch(this.base + path, {
      headers: this.token ? { Authorization: `Bearer ${this.token}` } : {},
      cache: 'no-store',
    }).then(async (answer) => {
      if (answer.ok) return answer.json() as Promise<unknown>;
      const said = (await answer.json().catch(() => ({}))) as { error?: unknown };
      throw new Missing(typeof said.error === 'string' ? said.error : `the server says ${answer.status}`);
    });
    this.kept.set(path, asked);
    asked.catch(() => this.kept.delete(path));
    for (const old of this.kept.keys()) {
      if (this.kept.size <= KEPT_ANSWERS) break;
      this.kept.delete(old);
    }
    return asked;
  }

  async reports(): Promise<ReportInfo[]> {
    return ((await this.get('/reports')) as { reports: ReportInfo[] }).reports;
  }

  json(report: string, what: string, params: Params = {}): Promise<unknown> {
    const query = new URLSearchParams(Object.entries(params).map(([name, value]) => [name, String(value)])).toString();
    return this.get(`/r/${report}/${what}${query ? '?' + query : ''}`);
  }

  async frame(report: string, name: string, columns: string[], first = 0, rows?: number): Promise<FrameData> {
    const query = new URLSearchParams({ columns: columns.join(','), first: String(first) });
    if (rows !== undefined) query.set('rows', String(rows));
    return unpacked((await this.get(`/r/${report}/frame/${name}?${query.toString()}`)) as PackedFrame, columns);
  }
}

interface DataBlock {
  gzip?: string;
  inline?: Inlined;
  api?: string;
  token?: string;
  compared?: string;
}

// the source that the page's data block names
export async function openSource(): Promise<Source> {
  const block = JSON.parse(document.getElementById('data')?.textContent ?? '{}') as DataBlock;
  if (block.api !== undefined) return new FetchSource(block.api, block.token ?? '', block.compared ?? '');
  if (block.inline) return new InlineSource(block.inline);
  const stream = new Blob([bytesOf(block.gzip ?? '')]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new InlineSource(JSON.parse(await new Response(stream).text()) as Inlined);
}
