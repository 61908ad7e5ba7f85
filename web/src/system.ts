// The System Analyser: what the host did when, in one or several processes on one clock, and the modelled IPU below.
import { button, card, choice, el, hideTip, note, showTip, toggles } from './elements';
import { plural, whole } from './format';
import { openSource, type ReportInfo, type Source } from './source';
import { State } from './state';
import { type HeatWindow, type Overview, ServedTrace, type TraceAnswers } from './system_data';
import { HeldTrace } from './system_local';
import { eventCard, labelTable } from './system_panels';
import { type ColourBy, SystemRows } from './system_rows';
import { readState, writeState } from './timeline_state';
import { microseconds, relativeClock, wallClock } from './timeline/clock';
import type { Area, Clock, Found, Item } from './timeline/model';
import { Timeline } from './timeline/timeline';

const byId = (id: string) => document.getElementById(id) as HTMLElement;

function theme(): void {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
}

function help(): void {
  const keys: [string, string][] = [
    ['w s, + −', 'zoom in and out; the wheel does the same at the pointer'], ['a d, arrows', 'move; so does a drag'], ['0', 'show everything'],
    ['f', 'find; Enter or n goes to the next match, N to the one before'], ['m, or Shift and a drag', 'select an area: the table below is of it'],
    ['z', 'zoom to what is picked'], ['p', 'pin the row to the top, or unpin it'], ['Escape', 'forget the selection'], ['t', 'light or dark']];
  const dialog = el('dialog', { 'aria-label': 'Help and keys' }, el('h2', { text: 'Help and keys' }),
    el('p', { text: 'Each process is a heading and each thread a row with nested events. Flags are instant events. The row of the IPU is modelled; no chip was involved. The address of this page keeps what you are looking at.' }),
    el('dl', { class: 'keys' }, ...keys.flatMap(([name, text]) => [el('dt', {}, el('kbd', { text: name })), el('dd', { text })])));
  dialog.append(button('Close', () => dialog.close()));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

class SystemPage {
  private readonly state = new State('system');
  private overview!: Overview;
  private answers!: TraceAnswers;
  private timeline!: Timeline;
  private rows!: SystemRows;
  private exact = false;
  private restored = false;
  private loaded: { from: number; to: number; step: number } | null = null;
  private waiting = 0;
  private turns = { load: 0, pick: 0, area: 0 };
  private readonly event = el('div', { class: 'trace-step', 'aria-live': 'polite' });
  private readonly table = el('div', {});

  constructor(private readonly source: Source, private readonly reports: ReportInfo[], private readonly profiles: boolean) {}

  async open(): Promise<void> {
    const report = this.reports.find((each) => each.id === this.state.get('report')) ?? this.reports[0];
    if (!report) throw new Error('There is no trace.');
    this.answers = this.source.served ? new ServedTrace(this.source, report.id) : new HeldTrace(this.source, report.id);
    this.overview = await this.answers.overview();
    this.header();
    const { overview } = this;
    const main = byId('view');
    this.timeline = new Timeline({
      clock: this.clock(), label: 'Events of the host by thread', least: 0.05, file: 'system-trace.png',
      tip: (x, y, tip) => (tip ? showTip(x, y, tip.title, tip.lines) : hideTip()),
      search: (needle, most) => this.search(needle, most),
      // not before what the address says was taken up
      onstate: (state) => { if (this.restored) writeState(this.state, state); },
      onrange: (from, to, pixels) => this.need(from, to, pixels),
      onpick: (item) => void this.pick(item),
      onarea: (area) => void this.select(area),
    });
    this.options();
    main.replaceChildren(this.verdict(), el('section', { class: 'card trace-card' }, this.timeline.node), this.event,
      card('Labels that take the longest', this.table), this.about());
    await this.load();
    this.restored = true;
    this.timeline.setState(readState(this.state));
    if (!this.timeline.state().area) await this.select(null);
    addEventListener('keydown', (event) => this.key(event));
    this.state.onchange(() => this.timeline.setState(readState(this.state)));
    main.dataset.ready = 'true';
    document.title = `${overview.title} - Tremula host trace`;
  }

  private header(): void {
    byId('title').textContent = this.overview.title;
    const { counts, processes, rows } = this.overview;
    byId('subtitle').textContent = `${plural(counts.events, 'event')} of ${plural(rows.filter((row) => row.kind !== 'device').length, 'thread')} in ` +
      `${plural(processes.length, 'process', 'processes')}, ${microseconds(this.overview.end - this.overview.start)}`;
    byId('banner').textContent = 'Times of the host were measured. Times of the IPU are modelled: no chip was involved.';
    byId('tabs').hidden = true;
    document.querySelector('.layout')?.classList.add('alone');
    const actions = byId('actions');
    if (this.source.served && this.profiles) actions.append(el('a', { class: 'link', href: '/', text: 'Profiles' }));
    if (this.reports.length > 1)
      actions.append(choice('Trace', this.reports.map((each) => each.name), Math.max(0, this.reports.findIndex((each) => each.id === this.state.get('report'))), (index) => {
        location.hash = `#system?report=${this.reports[index]?.id ?? ''}`;
        location.reload();
      }));
    actions.append(button('Theme', theme, { id: 'theme', title: 'Change between light and dark (t)' }), button('?', help, { id: 'help', title: 'Help and keys (?)', 'aria-label': 'Help and keys' }));
  }

  private verdict(): HTMLElement {
    const { device, notes, left_out: left } = this.overview;
    const said = device ? device.text : 'This trace has no modelled IPU activity, so it cannot show whether the host keeps an IPU busy.';
    const tone = device?.verdict === 'host' ? 'bad' : device?.verdict === 'device' ? 'good' : '';
    return el('div', {}, el('p', { class: `verdict ${tone}`, id: 'verdict', text: said }), ...notes.map(note),
      left ? note(`${whole(left)} events are merged into blocks or left out on this page. “tremula view --serve” shows each of them.`) : null);
  }

  private about(): HTMLElement {
    const { files, clock, cut } = this.overview;
    const lost = [cut.rows && plural(cut.rows, 'thread'), cut.counters && plural(cut.counters, 'counter'), cut.heatmaps && plural(cut.heatmaps, 'heat map')].filter(Boolean).join(', ');
    return card('Files', el('ul', { class: 'plain' }, ...files.map((file) => el('li', {}, el('code', { text: file.name }),
      [file.complete ? '' : ', not complete', file.lost ? `, ${plural(file.lost, 'event')} lost` : '', file.note ? `: ${file.note}` : ''].join('')))),
      note(clock === 'one host' ? 'All files come from one host and share its clock.' : 'The files come from several hosts; their times of day align them.'),
      lost ? note(`not shown: ${lost}`) : null);
  }

  private mode(): string { return this.state.get('time', 'start'); }

  private clock(): Clock { return this.mode() === 'day' ? wallClock(this.overview.wall_start_us) : relativeClock; }

  private shift(process: number): number {
    if (this.mode() !== 'each') return 0;
    return this.overview.processes.find((each) => each.id === process)?.start ?? 0;
  }

  private channel(): number { return this.state.number('channel', -1, -1, 1e9); }

  private options(): void {
    const several = this.overview.processes.length > 1;
    const modes = ['start', 'day', ...(several ? ['each'] : [])];
    const again = (name: string, value: string | null) => { this.state.set({ [name]: value }); void this.load(); };
    this.timeline.bar.extra.append(
      choice('time', ['from the start', 'time of day (UTC)', ...(several ? ['each process from 0'] : [])], Math.max(0, modes.indexOf(this.mode())), (index) => again('time', modes[index] ?? null)),
      choice('colour', ['by label', 'by channel'], this.state.get('colour') === 'channel' ? 1 : 0, (index) => again('colour', index ? 'channel' : null)),
      choice('channel', ['all', ...this.overview.channels.map((each) => each.name)], Math.max(0, 1 + this.overview.channels.findIndex((each) => each.id === this.channel())),
        (index) => again('channel', index ? String(this.overview.channels[index - 1]?.id ?? '') : null)));
    if (this.overview.counters.length)
      this.timeline.bar.extra.append(toggles('counters', ['line', 'filled'], this.state.get('counters') === 'filled' ? 1 : 0, (index) => {
        this.state.set({ counters: index ? 'filled' : null });
        this.rows.filled = index === 1;
        this.timeline.redraw();
      }));
  }

  private async load(): Promise<void> {
    const turn = ++this.turns.load;
    const { start, end, heatmaps } = this.overview;
    const heat = new Map<number, HeatWindow>();
    const [whole_, series] = await Promise.all([
      this.answers.events(start, end, 3000, this.channel()),
      this.overview.counters.length ? this.answers.counters(start, end, 3000) : [],
      ...heatmaps.slice(0, 100).map(async (map) => { heat.set(map.id, await this.answers.heatmap(map.id, start, end, 2000)); }),
    ]);
    if (turn !== this.turns.load) return;
    this.exact = !this.answers.served || (whole_.cut === 0 && !whole_.rects.events.some((count) => count > 1) && !whole_.instants.events.some((count) => count > 1));
    this.loaded = null;
    this.rows = new SystemRows(this.overview, whole_, series, heat, (process) => this.shift(process), this.state.get('colour', 'label') as ColourBy);
    this.rows.filled = this.state.get('counters') === 'filled';
    this.timeline.options.clock = this.clock();
    const lengths = this.overview.processes.map((process) => process.end - process.start);
    this.timeline.setRows(this.rows.rows, this.mode() === 'each' ? { from: 0, to: Math.max(1, ...lengths) } : { from: start, to: Math.max(end, start + 1) });
  }

  // load what the range needs, a little more on both sides, unless it is here in that detail
  private need(from: number, to: number, pixels: number): void {
    if (this.exact || !this.rows) return;
    const step = (to - from) / pixels, all = this.timeline.all;
    if (step >= (0.7 * (all.to - all.from)) / 3000) return;
    if (this.loaded && this.loaded.from <= from && this.loaded.to >= to && this.loaded.step <= 1.6 * step) return;
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => void this.detail(from, to, pixels), 70);
  }

  private async detail(from: number, to: number, pixels: number): Promise<void> {
    const turn = ++this.turns.load, more = (to - from) / 2;
    const shifts = this.overview.processes.map((process) => this.shift(process.id));
    const [start, end] = [from - more + Math.min(0, ...shifts), to + more + Math.max(0, ...shifts)];
    const wide = ((end - start) / (to - from)) * pixels;
    const part = await this.answers.events(start, end, wide, this.channel()).catch(() => null);
    if (turn !== this.turns.load || !part) return;
    this.loaded = { from: from - more, to: to + more, step: (end - start) / Math.min(4096, wide) };
    this.rows.show(part);
    this.timeline.redraw();
  }

  private async search(needle: string, most: number): Promise<Found> {
    const hits = await this.answers.search(needle, most);
    const shifts = new Map(this.overview.rows.map((row) => [row.id, this.shift(row.process)]));
    return {
      total: hits.total,
      matches: hits.rows.map((hit) => {
        const by = shifts.get(hit.row) ?? 0;
        return { row: `${hit.depth < 0 ? 'i' : 'r'}${hit.row}`, key: String(hit.event), from: hit.start - by, to: hit.end - by, text: hit.label };
      }),
    };
  }

  private async pick(item: Item | null): Promise<void> {
    const turn = ++this.turns.pick;
    if (!item || !/^[ri]\d/.test(item.row)) { this.event.replaceChildren(); return; }
    const id = Number(item.key);
    const [event, tree] = await Promise.all([this.answers.event(id), this.answers.callTree(id).catch(() => [])]).catch(() => [null, []] as const);
    if (turn !== this.turns.pick || !event) return;
    const shown = this.clock();
    this.event.replaceChildren(eventCard(event, [...tree], this.overview, (time) => shown.moment(time - (this.mode() === 'each' ? this.shift(event.process) : 0), 1), (next) => void this.goTo(next)));
  }

  private async goTo(id: number): Promise<void> {
    const event = await this.answers.event(id).catch(() => null);
    if (!event) return;
    const by = this.shift(this.overview.rows.find((row) => row.id === event.row)?.process ?? -1);
    const row = `${event.kind === 'instant' ? 'i' : 'r'}${event.row}`;
    const item: Item = { row, key: String(id), from: event.start - by, to: event.end - by, top: 2 + Math.max(0, event.depth) * 18, height: 17, tip: () => ({ title: event.label, lines: [] }) };
    this.timeline.reveal(item);
    this.timeline.pick(item);
  }

  private async select(area: Area | null): Promise<void> {
    const turn = ++this.turns.area;
    const ids = area ? area.rows.filter((id) => /^r\d/.test(id)).map((id) => Number(id.slice(1))) : null;
    const shift = ids?.length && this.mode() === 'each' ? this.shift(this.overview.rows.find((row) => row.id === ids[0])?.process ?? -1) : 0;
    const { start, end } = this.overview;
    const found = await this.answers.selection(area ? area.from + shift : start, area ? area.to + shift : end, ids?.length ? ids : null);
    if (turn !== this.turns.area) return;
    this.table.replaceChildren(
      el('p', { class: 'lead', id: 'selected', text: area ? `Selected: ${microseconds(area.to - area.from)} in ${plural(ids?.length ?? 0, 'row')}. Press Escape to see the whole trace again.` : 'The whole trace. Select an area of the timeline to see only that part. Click a label to find its events.' }),
      labelTable(found, this.overview, (label) => {
        this.timeline.bar.search.value = label;
        this.timeline.bar.search.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
      }));
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName)) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if (document.querySelector('dialog[open]')) return;
    if (event.key === '/') this.timeline.bar.search.focus();
    else if (event.key === '?') help();
    else if (event.key === 't') theme();
    else if ((target instanceof Element && target.closest('.grid')) || !this.timeline.key(event)) return;
    event.preventDefault();
  }
}

async function start(): Promise<void> {
  const source = await openSource();
  const every = await source.reports(), traces = every.filter((report) => report.kind === 'trace');
  await new SystemPage(source, traces, every.length > traces.length).open();
}

start().catch((error: unknown) => {
  byId('view').replaceChildren(el('p', { class: 'bad', role: 'alert', text: error instanceof Error ? error.message : String(error) }));
  byId('view').dataset.ready = 'true';
});
