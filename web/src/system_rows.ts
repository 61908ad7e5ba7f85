// The rows of a host trace: threads, flags, counters, heat maps, and the modelled IPU below the threads of its process.
import { plural, whole } from './format';
import type { EventWindow, HeatWindow, Overview, RowInfo, SeriesWindow } from './system_data';
import { microseconds } from './timeline/clock';
import { CounterRow } from './timeline/counter_row';
import { FlagRow, type Instants } from './timeline/flag_row';
import { FlameRow } from './timeline/flame_row';
import { HeadingRow } from './timeline/heading_row';
import { HeatRow } from './timeline/heat_row';
import type { Row, Tip } from './timeline/model';
import type { Spans } from './timeline/span_set';
import { HUES } from './timeline/theme';

export type ColourBy = 'label' | 'channel';

// first and last place of each row in columns that are sorted by row
function partition(row: Float64Array): Map<number, [number, number]> {
  const found = new Map<number, [number, number]>();
  for (let at = 0; at < row.length;) {
    let end = at + 1;
    while (end < row.length && row[end] === row[at]) end++;
    found.set(row[at]!, [at, end]);
    at = end;
  }
  return found;
}

const shifted = (values: Float64Array, by: number) => (by ? values.map((value) => value - by) : values.slice());

export class SystemRows {
  readonly rows: Row[] = [];
  private readonly flames = new Map<number, FlameRow>();
  private readonly flags = new Map<number, FlagRow>();
  private readonly counters: CounterRow[] = [];
  private readonly devices: Set<number>;

  // `shift` moves a process so that it begins at 0, when times are relative
  constructor(private readonly overview: Overview, whole_: EventWindow, series: SeriesWindow[], heat: Map<number, HeatWindow>,
    private readonly shift: (process: number) => number, private readonly colour: ColourBy) {
    this.devices = new Set(overview.rows.filter((row) => row.kind === 'device').map((row) => row.id));
    const spans = this.spans(whole_), instants = this.instants(whole_);
    const lines = new Map(series.map((line) => [line.id, line]));
    for (const process of overview.processes) {
      const parent = `p${process.id}`;
      const where = [process.instance >= 0 ? `instance ${process.instance}` : '', process.host, `pid ${process.pid}`].filter(Boolean).join(', ');
      const which = overview.processes.length < 2 ? '' : process.instance >= 0 ? ` (instance ${process.instance})` : ` (pid ${process.pid})`;
      this.rows.push(new HeadingRow(parent, process.name + which, `${where}, ${plural(process.events, 'event')}`));
      const mine = overview.rows.filter((row) => row.process === process.id);
      for (const row of mine.filter((each) => each.kind !== 'device')) this.thread(row, parent, spans, instants);
      for (const counter of overview.counters.filter((each) => each.process === process.id)) {
        const data = counter.series.flatMap((each) => {
          const line = lines.get(each.id);
          return line ? [{ name: each.name, ...drawn(line, this.shift(process.id)) }] : [];
        });
        const made = new CounterRow(`c${counter.id}`, counter.graph, counter.unit, data, { parent, note: counter.series.map((each) => each.name).join(', ') });
        this.counters.push(made);
        this.rows.push(made);
      }
      for (const map of overview.heatmaps.filter((each) => each.process === process.id)) {
        const data = heat.get(map.id);
        if (data) this.rows.push(new HeatRow(`h${map.id}`, map.name, map.unit, shifted(data.time, this.shift(process.id)), map.edges, data.counts, { parent, note: 'how often each value was seen' }));
      }
      for (const row of mine.filter((each) => each.kind === 'device')) this.thread(row, parent, spans, instants);
    }
  }

  set filled(on: boolean) { for (const row of this.counters) row.filled = on; }

  // events of a part of the time, more exact
  show(part: EventWindow): void {
    const spans = this.spans(part), instants = this.instants(part);
    const none: Spans = { start: new Float64Array(0), end: new Float64Array(0), label: [], labels: [] };
    for (const row of this.overview.rows) {
      const by = this.shift(row.process);
      this.flames.get(row.id)?.show(spans.get(row.id) ?? none, part.start - by, part.end - by);
      const found = instants.get(row.id);
      if (found) this.flags.get(row.id)?.show(found);
    }
  }

  private thread(row: RowInfo, parent: string, spans: Map<number, Spans>, instants: Map<number, Instants>): void {
    const device = row.kind === 'device';
    const name = device ? 'IPU, modelled' : row.name || `thread ${row.tid}`;
    const note = device ? 'modelled activity of the IPU' : `tid ${row.tid}, ${plural(row.events, 'event')}`;
    const found = instants.get(row.id);
    if (row.instants && found) {
      const made = new FlagRow(`i${row.id}`, `${name}: flags`, found, (at) => this.flagTip(found, at, name), { parent, note: plural(row.instants, 'instant event') });
      this.flags.set(row.id, made);
      this.rows.push(made);
    }
    const mine = spans.get(row.id);
    if (!row.events || !mine) return;
    const made = new FlameRow(mine, {
      id: `r${row.id}`, name, note, parent, depths: Math.max(1, Math.min(64, row.depths)),
      tip: (set, span) => {
        const count = set.events(span), length = set.spans.end[span]! - set.spans.start[span]!;
        return count > 1
          ? { title: `${plural(count, 'event')}, the longest ${set.label(span)}`, lines: [['from first to last', microseconds(length)], ['covered', microseconds(set.spans.busy?.[span] ?? length)], ['on', name], ['', 'zoom in to see them']] }
          : { title: set.label(span), lines: [['duration', length < 1 ? `< 1 µs (${microseconds(length)})` : microseconds(length)], ['on', name], ...(device ? [['', 'modelled'] as [string, string]] : [])] };
      },
    });
    this.flames.set(row.id, made);
    this.rows.push(made);
  }

  private flagTip(events: Instants, at: number, name: string): Tip {
    const count = events.events?.[at] ?? 1;
    return { title: count > 1 ? `${whole(count)} events` : (events.labels[events.label[at]!] ?? ''), lines: [['on', name], ['', 'instant event']] };
  }

  private processOf = new Map<number, number>();

  private by(row: number): number {
    if (!this.processOf.size) for (const each of this.overview.rows) this.processOf.set(each.id, each.process);
    return this.shift(this.processOf.get(row) ?? -1);
  }

  private spans({ rects, labels }: EventWindow): Map<number, Spans> {
    const found = new Map<number, Spans>();
    for (const [row, [from, to]] of partition(rects.row)) {
      const by = this.by(row), part = (values: Float64Array) => values.subarray(from, to);
      found.set(row, {
        start: shifted(part(rects.start), by), end: shifted(part(rects.end), by), depth: part(rects.depth), label: part(rects.label), labels,
        id: part(rects.event), events: part(rects.events), busy: part(rects.busy),
        // what is modelled looks different from what was measured
        ...(this.devices.has(row) ? { colour: new Uint8Array(to - from), colours: ['#ea7684'] } : this.colour === 'channel' ? { colour: part(rects.channel).map((channel) => channel % HUES.length), colours: HUES } : {}),
      });
    }
    return found;
  }

  private instants({ instants, labels }: EventWindow): Map<number, Instants> {
    const found = new Map<number, Instants>();
    for (const [row, [from, to]] of partition(instants.row)) {
      const part = (values: Float64Array) => values.subarray(from, to);
      found.set(row, { time: shifted(part(instants.time), this.by(row)), label: part(instants.label), labels, id: part(instants.event), events: part(instants.events) });
    }
    return found;
  }
}

// lowest and highest of each pixel as a line; single samples as they are
function drawn(line: SeriesWindow, by: number): { time: Float64Array; value: Float64Array } {
  const time: number[] = [], value: number[] = [];
  for (let at = 0; at < line.time.length; at++) {
    const moment = line.time[at]! - by;
    if (line.low[at] !== line.high[at]) {
      time.push(moment, moment);
      value.push(line.low[at]!, line.high[at]!);
    }
    time.push(moment);
    value.push(line.last[at]!);
  }
  return { time: Float64Array.from(time), value: Float64Array.from(value) };
}
