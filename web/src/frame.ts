// The frame of a page: header, menu, keys, search, theme; it opens views and gives them what they need.
import { button, el, hideTip } from './elements';
import { globalSearch } from './search';
import type { FrameData, Params, ReportInfo, Source } from './source';
import { Missing } from './source';
import { State } from './state';
import type { Context, View } from './view';

function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

export class Frame {
  private readonly state: State;
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private closing: (() => void)[] = [];
  private redraws: (() => void)[] = [];
  private keys: ((event: KeyboardEvent) => boolean)[] = [];
  private opened = 0;

  constructor(
    private readonly source: Source,
    private readonly reports: ReportInfo[],
    private readonly views: View[],
  ) {
    this.state = new State((views[0] as View).id);
    this.menu();
    this.header();
    this.state.onchange(() => this.open());
    addEventListener('keydown', (event) => this.key(event));
    let waiting = 0;
    const again = () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(() => {
        this.showTab();
        this.redraws.forEach((draw) => draw());
      }, 60);
    };
    addEventListener('resize', again);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
  }

  private menu(): void {
    const nav = byId('tabs');
    this.views.forEach((view, index) => {
      const each = button('', () => this.go(view.id), {
        role: 'tab',
        id: `tab-${view.id}`,
        'aria-controls': 'view',
        title: `${view.title}: key ${index + 1} or ${view.key}`,
      });
      each.append(el('kbd', { text: String(index + 1), 'aria-hidden': 'true' }), el('span', { text: view.title }));
      this.buttons.set(view.id, each);
      nav.append(each);
    });
    nav.addEventListener('keydown', (event) => {
      const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const at = this.views.findIndex((view) => view.id === this.state.view);
      const next = this.views[(at + by + this.views.length) % this.views.length] as View;
      this.go(next.id);
      this.buttons.get(next.id)?.focus();
    });
  }

  private header(): void {
    const actions = byId('actions');
    const names = this.reports.map((report) => report.name);
    if (this.reports.length > 1) {
      const pick = (id: string, label: string, first: string | null) => {
        const select = el(
          'select',
          { id, 'aria-label': label },
          first === null ? null : el('option', { value: '', text: first }),
          ...this.reports.map((report, index) => el('option', { value: report.id, text: names[index] })),
        );
        return el('label', { class: 'choice' }, el('span', { text: label }), select);
      };
      const report = pick('report', 'Report', null),
        compare = pick('compare', 'Compare with', 'nothing');
      const read = () => {
        (report.querySelector('select') as HTMLSelectElement).value = this.report().id;
        (compare.querySelector('select') as HTMLSelectElement).value = this.other()?.id ?? '';
        swap.hidden = !this.other();
      };
      report.addEventListener('change', (event) => {
        this.state.set({ report: (event.target as HTMLSelectElement).value }, true);
        this.open();
      });
      compare.addEventListener('change', (event) => {
        this.state.set({ compare: (event.target as HTMLSelectElement).value || 'none' }, true);
        this.open();
      });
      const swap = button(
        'Swap',
        () => {
          const other = this.other();
          if (!other) return;
          this.state.set({ report: other.id, compare: this.report().id }, true);
          this.open();
        },
        { id: 'swap', title: 'Swap the two reports' },
      );
      actions.append(report, compare, swap);
      this.readHeader = read;
    }
    actions.append(
      globalSearch(
        this.source,
        () => this.report().id,
        (view, values) => this.go(view, values),
      ),
      button('Theme', () => this.theme(), { id: 'theme', title: 'Change between light and dark (d)' }),
      button('?', () => this.help(), { id: 'help', title: 'Help and keys (?)', 'aria-label': 'Help and keys' }),
    );
  }

  private readHeader: () => void = () => undefined;

  private report(): ReportInfo {
    return this.reports.find((report) => report.id === this.state.get('report')) ?? (this.reports[0] as ReportInfo);
  }

  private other(): ReportInfo | null {
    const wanted = this.state.get('compare') || this.source.compared;
    const found = this.reports.find((report) => report.id === wanted) ?? null;
    return found && found.id !== this.report().id ? found : null;
  }

  go(view: string, values: Record<string, string | number> = {}): void {
    this.state.go(view, values);
    this.open();
  }

  open(): void {
    const view = this.views.find((each) => each.id === this.state.view) ?? (this.views[0] as View);
    this.closing.splice(0).forEach((close) => close());
    this.redraws = [];
    this.keys = [];
    const turn = ++this.opened;
    hideTip();
    for (const [id, each] of this.buttons) {
      each.setAttribute('aria-selected', String(id === view.id));
      each.tabIndex = id === view.id ? 0 : -1;
    }
    this.showTab();
    this.readHeader();
    const report = this.report(),
      other = this.other();
    byId('title').textContent = report.name;
    byId('subtitle').textContent = other ? `compared with ${other.name}` : report.title;
    const main = byId('view');
    main.setAttribute('aria-labelledby', `tab-${view.id}`);
    main.dataset.view = view.id;
    main.dataset.ready = 'false';
    const host = el('div', { class: 'content' });
    main.replaceChildren(el('h2', { text: view.title }), el('p', { class: 'lead', text: view.lead }), host);
    const fail = (error: unknown) => {
      const said = error instanceof Error ? error.message : String(error);
      host.append(el('p', { class: error instanceof Missing ? 'note' : 'bad', role: 'alert', text: said }));
      if (!(error instanceof Missing)) console.error(error);
    };
    Promise.resolve()
      .then(() => view.render(host, this.context(report, other)))
      .catch(fail)
      .finally(() => {
        if (turn === this.opened) main.dataset.ready = 'true';
      });
  }

  // the tab of the view, on narrow screens too, where not all of them have room
  private showTab(): void {
    this.buttons.get(this.state.view)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  private context(report: ReportInfo, other: ReportInfo | null): Context {
    const source = this.source;
    const turn = this.opened;
    return {
      source,
      state: this.state,
      reports: this.reports,
      report,
      other,
      json: (what: string, params?: Params) => source.json(report.id, what, params),
      both: async (what: string, params?: Params) =>
        Promise.all([source.json(report.id, what, params), other ? source.json(other.id, what, params) : null]),
      frame: (name: string, columns: string[], first?: number, rows?: number): Promise<FrameData> =>
        source.frame(report.id, name, columns, first, rows),
      go: (view, values) => this.go(view, values),
      redraw: (draw) => {
        if (turn !== this.opened) return;
        this.redraws.push(draw);
        requestAnimationFrame(draw);
      },
      onkey: (handler) => {
        if (turn === this.opened) this.keys.push(handler);
      },
      onclose: (handler) => {
        if (turn === this.opened) this.closing.push(handler);
      },
    };
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName)) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if (document.querySelector('dialog[open]')) return;
    if (this.keys.some((handler) => handler(event))) {
      event.preventDefault();
      return;
    }
    const number = Number(event.key);
    const view =
      number >= 1 && number <= this.views.length
        ? this.views[number - 1]
        : this.views.find((each) => each.key === event.key);
    if (view) this.go(view.id);
    else if (event.key === '/') byId('search').focus();
    else if (event.key === 'f') (byId('view').querySelector('input[type=search]') as HTMLElement | null)?.focus();
    else if (event.key === '?') this.help();
    else if (event.key === 'd') this.theme();
    else return;
    event.preventDefault();
  }

  private theme(): void {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    this.redraws.forEach((draw) => draw());
  }

  private help(): void {
    const keys: [string, string][] = [
      ...this.views.map((view, index): [string, string] => [
        `${index + 1} or ${view.key}`,
        `${view.title}: ${view.lead}`,
      ]),
      ['/', 'search ops, variables, program and modules'],
      ['f', 'filter or search inside the view'],
      ['arrows', 'move the cursor of a chart, or the selected row of a table or tree'],
      ['+ and −', 'zoom a chart; 0 shows all of it; the wheel zooms too, and Shift and drag moves'],
      ['Enter', 'open what is selected'],
      ['Escape', 'close, or leave a box'],
      ['d', 'light or dark'],
      ['?', 'this list'],
    ];
    const dialog = el(
      'dialog',
      { 'aria-label': 'Help and keys' },
      el('h2', { text: 'Help and keys' }),
      el('p', {
        text:
          'Every figure is modelled; no chip was involved. In training, a step is one weight update; in inference, one ' +
          'micro-batch. Likely ranges come from published measurements that the model was compared with. ' +
          'The address of this page keeps what you are looking at: reload it, or send it as a link.',
      }),
      el(
        'dl',
        { class: 'keys' },
        ...keys.flatMap(([name, text]) => [el('dt', {}, el('kbd', { text: name })), el('dd', { text })]),
      ),
    );
    dialog.append(button('Close', () => dialog.close()));
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}
