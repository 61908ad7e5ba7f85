// A trace that the page itself holds: the same answers as a server gives, from its events.
import type { Source } from './source';
import type { EventDetail, EventWindow, HeatWindow, Hits, LabelRow, Overview, Selection, SeriesWindow, TraceAnswers, TreeNode } from './system_data';
import { unpackedHeat, unpackedSeries, unpackedWindow } from './system_data';
import { Missing } from './source';

export class HeldTrace implements TraceAnswers {
  readonly served = false;
  private whole: Promise<EventWindow> | null = null;
  private texts: Promise<Record<string, unknown>> | null = null;

  constructor(private readonly source: Source, private readonly report: string) {}

  overview(): Promise<Overview> { return this.source.json(this.report, 'trace_overview') as Promise<Overview>; }

  private all(): Promise<EventWindow> {
    this.whole ??= this.source.json(this.report, 'trace_events').then(unpackedWindow);
    return this.whole;
  }

  // the labels of the whole trace, of a page that does not hold every event
  private labels(): Promise<Selection | null> {
    return (this.source.json(this.report, 'trace_selection') as Promise<Selection>).catch(() => null);
  }

  private metadata(): Promise<Record<string, unknown>> {
    this.texts ??= (this.source.json(this.report, 'trace_metadata') as Promise<Record<string, unknown>>).catch(() => ({}));
    return this.texts;
  }

  async events(_start: number, _end: number, _pixels: number, channel: number): Promise<EventWindow> {
    const all = await this.all();
    return channel < 0 ? all : { ...all, rects: kept(all.rects, channel), instants: kept(all.instants, channel) };
  }

  async counters(): Promise<SeriesWindow[]> {
    return unpackedSeries(await this.source.json(this.report, 'trace_counters'));
  }

  async heatmap(id: number): Promise<HeatWindow> {
    return unpackedHeat(await this.source.json(this.report, 'trace_heatmap', { id }));
  }

  async search(text: string, most: number): Promise<Hits> {
    const { rects, instants, labels } = await this.all();
    const wanted = labels.map((label) => label.toLowerCase().includes(text));
    const rows: Hits['rows'] = [];
    for (let at = 0; at < rects.count; at++)
      if (wanted[rects.label[at]!]) rows.push({ event: rects.event[at]!, row: rects.row[at]!, start: rects.start[at]!, end: rects.end[at]!, depth: rects.depth[at]!, label: labels[rects.label[at]!] ?? '' });
    for (let at = 0; at < instants.count; at++)
      if (wanted[instants.label[at]!]) rows.push({ event: instants.event[at]!, row: instants.row[at]!, start: instants.time[at]!, end: instants.time[at]!, depth: -1, label: labels[instants.label[at]!] ?? '' });
    rows.sort((one, other) => one.start - other.start);
    return { total: rows.length, rows: rows.slice(0, most) };
  }

  // places of the spans directly inside another, in order
  private inside(all: EventWindow, place: number): number[] {
    const { rects } = all, found: number[] = [];
    for (let at = 0; at < rects.count; at++)
      if (rects.row[at] === rects.row[place] && rects.depth[at] === rects.depth[place]! + 1 && rects.start[at]! >= rects.start[place]! && rects.end[at]! <= rects.end[place]!) found.push(at);
    return found;
  }

  async event(id: number): Promise<EventDetail> {
    const all = await this.all(), { rects, instants, labels } = all;
    const place = rects.event.indexOf(id), flag = place < 0 ? instants.event.indexOf(id) : -1;
    if (place < 0 && flag < 0) throw new Missing('this event is not on this page');
    const metadata = (await this.metadata())[String(id)] ?? null;
    const none = { parent: -1, stack: [], children: [], children_total: 0, previous: -1, next: -1, modelled: false, process: -1 };
    if (flag >= 0) {
      const time = instants.time[flag]!, label = labels[instants.label[flag]!] ?? '';
      return { ...none, id, kind: 'instant', label, channel: instants.channel[flag]!, row: instants.row[flag]!, start: time, end: time, duration: 0, depth: -1, unfinished: false, metadata, self: 0, same_label: { count: 0, total: 0, least: 0, most: 0, mean: 0 } };
    }
    const same: number[] = [], stack: { id: number; label: string }[] = [];
    const [start, end, depth] = [rects.start[place]!, rects.end[place]!, rects.depth[place]!];
    for (let at = 0; at < rects.count; at++) {
      if (rects.label[at] === rects.label[place]) same.push(at);
      if (rects.row[at] === rects.row[place] && rects.depth[at]! < depth && rects.start[at]! <= start && rects.end[at]! >= end) stack.push({ id: rects.event[at]!, label: labels[rects.label[at]!] ?? '' });
    }
    same.sort((one, other) => rects.start[one]! - rects.start[other]!);
    const lengths = same.map((at) => rects.end[at]! - rects.start[at]!), total = lengths.reduce((sum, value) => sum + value, 0);
    const mine = same.indexOf(place), children = this.inside(all, place);
    const together = rects.events[place]!;
    const whole = (await this.labels())?.labels.find((row) => row.label === labels[rects.label[place]!] && row.channel === rects.channel[place]);
    return {
      ...(together > 1 ? { together } : {}),
      ...none, id, kind: 'event', label: labels[rects.label[place]!] ?? '', channel: rects.channel[place]!, row: rects.row[place]!, start, end, duration: end - start, depth,
      unfinished: all.unfinished.has(id), metadata, stack, parent: stack.at(-1)?.id ?? -1,
      children: children.slice(0, 500).map((at) => ({ id: rects.event[at]!, label: labels[rects.label[at]!] ?? '', start: rects.start[at]!, end: rects.end[at]! })),
      children_total: children.length, self: end - start - children.reduce((sum, at) => sum + rects.end[at]! - rects.start[at]!, 0),
      same_label: whole
        ? { count: whole.count, total: whole.total, least: NaN, most: whole.most, mean: whole.total / Math.max(1, whole.count) }
        : { count: same.length, total, least: Math.min(...lengths.slice(0, 100_000)), most: Math.max(...lengths.slice(0, 100_000)), mean: total / Math.max(1, same.length) },
      previous: mine > 0 ? rects.event[same[mine - 1]!]! : -1, next: mine + 1 < same.length ? rects.event[same[mine + 1]!]! : -1,
    };
  }

  async selection(start: number, end: number, rows: number[] | null): Promise<Selection> {
    const exact = await this.labels();
    if (exact && !rows && start <= exact.start && end >= exact.end) return exact;
    const { rects, labels } = await this.all();
    const found = new Map<string, LabelRow>();
    let rough = false;
    const open: { place: number; end: number; depth: number; row: number }[] = [];
    const entry = (at: number): LabelRow => {
      const key = `${rects.label[at]} ${rects.channel[at]}`;
      const known = found.get(key) ?? { label: labels[rects.label[at]!] ?? '', channel: rects.channel[at]!, count: 0, total: 0, self: 0, most: 0 };
      found.set(key, known);
      return known;
    };
    // by row, then time, outer before inner
    const order = Array.from({ length: rects.count }, (_, at) => at).filter((at) => !rows || rows.includes(rects.row[at]!));
    order.sort((one, other) => rects.row[one]! - rects.row[other]! || rects.start[one]! - rects.start[other]! || rects.depth[one]! - rects.depth[other]!);
    for (const at of order) {
      const share = rects.events[at]! > 1 ? rects.busy[at]! / Math.max(1e-9, rects.end[at]! - rects.start[at]!) : 1;
      const inside = (Math.min(end, rects.end[at]!) - Math.max(start, rects.start[at]!)) * share;
      if (rects.end[at]! < start || rects.start[at]! > end || inside < 0) continue;
      while (open.length && (open.at(-1)!.row !== rects.row[at] || open.at(-1)!.depth >= rects.depth[at]!)) open.pop();
      const mine = entry(at), outer = open.at(-1);
      rough ||= rects.events[at]! > 1;
      mine.count += rects.events[at]!;
      mine.total += inside;
      mine.self += inside;
      mine.most = Math.max(mine.most, rects.events[at]! > 1 ? 0 : inside);
      if (outer) entry(outer.place).self -= inside;
      open.push({ place: at, end: rects.end[at]!, depth: rects.depth[at]!, row: rects.row[at]! });
    }
    const ranked = [...found.values()].sort((one, other) => other.total - one.total);
    return { start, end, labels: ranked.slice(0, 500), total: ranked.length, rough };
  }

  async callTree(id: number): Promise<TreeNode[]> {
    const all = await this.all(), { rects, labels } = all;
    const place = rects.event.indexOf(id);
    const nodes: TreeNode[] = [];
    if (place < 0) return nodes;
    const add = (parent: number, places: number[], depth: number): void => {
      const byLabel = new Map<number, number[]>();
      for (const at of places) byLabel.set(rects.label[at]!, [...(byLabel.get(rects.label[at]!) ?? []), at]);
      for (const [label, list] of byLabel) {
        if (nodes.length >= 300 || depth > 24) return;
        const total = list.reduce((sum, at) => sum + rects.end[at]! - rects.start[at]!, 0);
        const below = list.slice(0, 200).flatMap((at) => this.inside(all, at));
        const node: TreeNode = { parent, label: labels[label] ?? '', count: list.length, total, self: total - below.reduce((sum, at) => sum + rects.end[at]! - rects.start[at]!, 0) };
        nodes.push(node);
        add(nodes.length - 1, below, depth + 1);
      }
    };
    add(-1, [place], 0);
    return nodes;
  }
}

function kept<T extends { count: number; channel: Float64Array }>(columns: T, channel: number): T {
  const places = Array.from(columns.channel.keys()).filter((at) => columns.channel[at] === channel);
  const found: Record<string, unknown> = { count: places.length };
  for (const [name, values] of Object.entries(columns)) if (values instanceof Float64Array) found[name] = Float64Array.from(places, (at) => values[at] ?? 0);
  return found as T;
}
