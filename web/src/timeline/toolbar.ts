// The buttons above a timeline: zoom, selection, search, image.
import { clamp } from './model';

export interface ToolbarActions {
  zoom(factor: number): void;
  all(): void;
  /** what was typed: a share of the whole, a length, or a range; false if it means nothing */
  typed(text: string): boolean;
  selecting(on: boolean): void;
  search(text: string): Promise<void>;
  next(by: number): void;
  image(): void;
}

function made<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Record<string, string>, text = ''): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

export class Toolbar {
  readonly node = made('div', { class: 'tl-bar' });
  /** for what a page adds */
  readonly extra = made('span', { class: 'tl-extra' });
  readonly search: HTMLInputElement;
  private share = 1;
  private readonly zoomBox: HTMLInputElement;
  private readonly found = made('span', { class: 'tl-found', role: 'status' });
  private readonly select: HTMLButtonElement;
  private readonly steps: HTMLButtonElement[];

  constructor(private readonly actions: ToolbarActions) {
    const button = (text: string, title: string, click: () => void, name = '') => {
      const node = made('button', { type: 'button', title, 'aria-label': title, class: name }, text);
      node.addEventListener('click', click);
      return node;
    };
    this.zoomBox = made('input', {
      class: 'tl-zoom', 'aria-label': 'Zoom: 100% shows everything; or a length of time',
      title: 'Type a zoom (400%), a length (3 ms) or a range (1 ms - 3 ms), then Enter',
    });
    this.zoomBox.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter') return;
      this.zoomBox.classList.toggle('tl-wrong', !actions.typed(this.zoomBox.value));
      if (!this.zoomBox.classList.contains('tl-wrong')) this.zoomBox.blur();
    });
    this.zoomBox.addEventListener('blur', () => this.showZoom(this.share));
    this.zoomBox.addEventListener('focus', () => this.zoomBox.select());
    this.select = button('Select', 'Drag to select an area (m); Shift and drag does the same', () => this.setSelecting(!this.selecting), 'tl-select');
    this.select.setAttribute('aria-pressed', 'false');
    this.search = made('input', { type: 'search', class: 'tl-search', placeholder: 'Find in the timeline', 'aria-label': 'Find in the timeline' });
    let waiting = 0;
    let asked = '';
    const ask = () => {
      clearTimeout(waiting);
      asked = this.search.value;
      return actions.search(asked);
    };
    this.search.addEventListener('input', () => {
      clearTimeout(waiting);
      if (this.search.value !== asked) waiting = window.setTimeout(() => void ask(), 150);
    });
    this.search.addEventListener('keydown', (event) => {
      const by = event.shiftKey ? -1 : 1;
      if (event.key === 'Enter' && this.search.value !== asked) void ask().then(() => actions.next(by));
      else if (event.key === 'Enter') actions.next(by);
      else if (event.key === 'Escape') {
        this.search.value = '';
        void ask();
        this.search.blur();
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.steps = [
      button('‹', 'Match before (N)', () => actions.next(-1), 'tl-before'),
      button('›', 'Next match (n, or Enter)', () => actions.next(1), 'tl-next'),
    ];
    const group = (...nodes: HTMLElement[]) => {
      const node = made('span', { class: 'tl-group' });
      node.append(...nodes);
      return node;
    };
    this.node.append(
      group(
        button('−', 'Zoom out (s or −)', () => actions.zoom(2)),
        this.zoomBox,
        button('+', 'Zoom in (w or +)', () => actions.zoom(0.5)),
        button('All', 'Show everything (0)', () => actions.all(), 'tl-all'),
      ),
      group(this.search, ...this.steps, this.found),
      this.select,
      this.extra,
      button('Save image', 'Save what is shown as a PNG file', () => actions.image(), 'tl-image'),
    );
    this.showFound(-1, 0, 0);
  }

  get selecting(): boolean {
    return this.select.getAttribute('aria-pressed') === 'true';
  }

  setSelecting(on: boolean): void {
    this.select.setAttribute('aria-pressed', String(on));
    this.actions.selecting(on);
  }

  showZoom(share: number): void {
    this.share = share;
    if (document.activeElement === this.zoomBox) return;
    this.zoomBox.classList.remove('tl-wrong');
    const percent = 100 / clamp(share, 1e-15, 1);
    this.zoomBox.value = percent >= 1e6 ? `${percent.toExponential(1)}%` : `${percent >= 1000 ? Math.round(percent) : Number(percent.toPrecision(3))}%`;
  }

  showFound(at: number, known: number, total: number): void {
    this.steps.forEach((step) => (step.disabled = known === 0));
    if (!this.search.value.trim()) this.found.textContent = '';
    else if (total === 0) this.found.textContent = 'not found';
    else
      this.found.textContent =
        `${at >= 0 ? `${(at + 1).toLocaleString('en-US')} of ` : ''}${total.toLocaleString('en-US')}` +
        (known < total ? ` (the first ${known.toLocaleString('en-US')} can be visited)` : '');
  }

  searching(): void {
    this.found.textContent = 'searching';
  }
}
