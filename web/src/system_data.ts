// Host traces: what the answers look like (src/tremula/view/trace_answers.py), and events by window.
import type { Params, Source } from './source';
import { numbers } from './source';

export interface ProcessInfo { id: number; pid: number; name: string; host: string; instance: number; start: number; end: number; events: number }
export interface RowInfo {
  id: number; process: number; tid: number; name: string; kind: string; depths: number; events: number; instants: number; start: number; end: number; busy: number;
}
export interface ChannelInfo { id: number; name: string; events: number; instants: number; modelled: boolean }
export interface SeriesInfo { id: number; name: string; samples: number; low: number; high: number }
export interface CounterInfo { id: number; process: number; graph: string; unit: string; series: SeriesInfo[] }
export interface HeatmapInfo { id: number; process: number; name: string; unit: string; edges: number[]; samples: number; most: number }
export interface DeviceInfo { modelled: boolean; calls: number; device_us: number; host_us: number; data_wait_us: number; waits_share: number; verdict: string; text: string }

export interface Overview {
  title: string; start: number; end: number; wall_start_us: number; clock: string;
  files: { name: string; process: number; complete: boolean; lost: number; note: string }[];
  processes: ProcessInfo[]; rows: RowInfo[]; channels: ChannelInfo[]; counters: CounterInfo[]; heatmaps: HeatmapInfo[];
  counts: { events: number; instants: number; samples: number; heatmap_samples: number; lost: number };
  device: DeviceInfo | null; notes: string[]; cut: { rows: number; counters: number; heatmaps: number };
  // of a page without a server: events that it does not hold one by one
  left_out?: number;
}

// rectangles by row, depth and start
export interface Rects {
  count: number; row: Float64Array; depth: Float64Array; start: Float64Array; end: Float64Array; label: Float64Array; channel: Float64Array;
  events: Float64Array; busy: Float64Array; event: Float64Array;
}
export interface Flags { count: number; row: Float64Array; time: Float64Array; label: Float64Array; channel: Float64Array; events: Float64Array; event: Float64Array }
export interface EventWindow { start: number; end: number; labels: string[]; rects: Rects; instants: Flags; cut: number; unfinished: Set<number> }

export interface SeriesWindow { id: number; time: Float64Array; low: Float64Array; high: Float64Array; last: Float64Array }
export interface HeatWindow { time: Float64Array; width: Float64Array; counts: Float64Array; bins: number; most: number }

export interface EventDetail {
  id: number; kind: string; label: string; channel: number; row: number; process: number; start: number; end: number; duration: number; depth: number;
  unfinished: boolean; modelled: boolean; metadata: unknown; parent: number; stack: { id: number; label: string }[];
  children: { id: number; label: string; start: number; end: number }[]; children_total: number; self: number;
  same_label: { count: number; total: number; least: number; most: number; mean: number }; previous: number; next: number;
  // a block that the page holds instead of this many events
  together?: number;
}
export interface LabelRow { label: string; channel: number; count: number; total: number; self: number; most: number }
// rough: blocks of several events count as their longest one
export interface Selection { start: number; end: number; labels: LabelRow[]; total: number; rough?: boolean }
export interface TreeNode { parent: number; label: string; count: number; total: number; self: number }
export interface Hits { total: number; rows: { event: number; row: number; start: number; end: number; depth: number; label: string }[] }

// what the page asks of a trace, served or held by the page
export interface TraceAnswers {
  readonly served: boolean;
  overview(): Promise<Overview>;
  events(start: number, end: number, pixels: number, channel: number): Promise<EventWindow>;
  counters(start: number, end: number, pixels: number): Promise<SeriesWindow[]>;
  heatmap(id: number, start: number, end: number, pixels: number): Promise<HeatWindow>;
  event(id: number): Promise<EventDetail>;
  selection(start: number, end: number, rows: number[] | null): Promise<Selection>;
  callTree(id: number): Promise<TreeNode[]>;
  search(text: string, most: number): Promise<Hits>;
}

function unpackedColumns<T>(packed: any, names: string[]): T {
  const found: Record<string, unknown> = { count: packed.count };
  for (const name of names) found[name] = numbers(packed[name]);
  return found as T;
}

export function unpackedWindow(answer: any): EventWindow {
  return {
    start: answer.start, end: answer.end, labels: answer.labels, cut: answer.cut, unfinished: new Set<number>(answer.unfinished),
    rects: unpackedColumns<Rects>(answer.rects, ['row', 'depth', 'start', 'end', 'label', 'channel', 'events', 'busy', 'event']),
    instants: unpackedColumns<Flags>(answer.instants, ['row', 'time', 'label', 'channel', 'events', 'event']),
  };
}

export function unpackedSeries(answer: any): SeriesWindow[] {
  return answer.series.map((line: any) => ({ id: line.id, time: numbers(line.time), low: numbers(line.low), high: numbers(line.high), last: numbers(line.last) }));
}

export function unpackedHeat(answer: any): HeatWindow {
  return { time: numbers(answer.time), width: numbers(answer.width), counts: numbers(answer.counts), bins: answer.bins, most: answer.most };
}

const most = (pixels: number) => Math.max(1, Math.min(4096, Math.ceil(pixels)));

export class ServedTrace implements TraceAnswers {
  readonly served = true;
  constructor(private readonly source: Source, private readonly report: string) {}

  private ask(what: string, params: Params = {}): Promise<any> { return this.source.json(this.report, what, params); }

  overview(): Promise<Overview> { return this.ask('trace_overview'); }

  async events(start: number, end: number, pixels: number, channel: number): Promise<EventWindow> {
    return unpackedWindow(await this.ask('trace_events', { start, end, pixels: most(pixels), ...(channel >= 0 ? { channels: channel } : {}) }));
  }

  async counters(start: number, end: number, pixels: number): Promise<SeriesWindow[]> {
    return unpackedSeries(await this.ask('trace_counters', { start, end, pixels: most(pixels) }));
  }

  async heatmap(id: number, start: number, end: number, pixels: number): Promise<HeatWindow> {
    return unpackedHeat(await this.ask('trace_heatmap', { id, start, end, pixels: most(pixels) }));
  }

  event(id: number): Promise<EventDetail> { return this.ask('trace_event', { id }); }

  selection(start: number, end: number, rows: number[] | null): Promise<Selection> {
    return this.ask('trace_selection', { start, end, ...(rows ? { rows: rows.join(',') } : {}) });
  }

  async callTree(id: number): Promise<TreeNode[]> { return (await this.ask('trace_call_tree', { id })).nodes; }

  async search(text: string, wanted: number): Promise<Hits> {
    const found: Hits = { total: 0, rows: [] };
    do {
      const answer = await this.ask('trace_search', { text, first: found.rows.length });
      const hits = unpackedColumns<any>(answer.hits, ['event', 'row', 'start', 'end', 'depth', 'label']);
      found.total = answer.total;
      for (let at = 0; at < hits.count; at++)
        found.rows.push({ event: hits.event[at], row: hits.row[at], start: hits.start[at], end: hits.end[at], depth: hits.depth[at], label: answer.labels[hits.label[at]] ?? '' });
      if (!hits.count) break;
    } while (found.rows.length < Math.min(found.total, wanted, 1000));
    return found;
  }
}
