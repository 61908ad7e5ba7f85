// Tables: small ones whole, large ones with only the visible rows in the document. All sort and copy as CSV.
import { copyButton, csv } from './csv';
import type { Child } from './elements';
import { el } from './elements';
import { whole } from './format';

export interface TableColumn<R> {
  title: string;
  number?: boolean; // to the right; largest first when sorted
  value: (row: R) => string | number; // what is sorted and copied
  text?: (row: R) => string; // what is shown, if it is not the value
  cell?: (row: R) => Node;
  width?: string; // of the grid, such as "minmax(8rem, 2fr)"
  hint?: string;
}

// a column of numbers, written by `format`
export function numberColumn<R>(
  title: string,
  value: (row: R) => number,
  format: (value: number, row: R) => string,
  width: string,
  hint?: string,
): TableColumn<R> {
  const column: TableColumn<R> = { title, number: true, value, text: (row) => format(value(row), row), width };
  return hint ? { ...column, hint } : column;
}

export interface TableOptions<R> {
  name: string; // what the rows are: "ops"
  sort?: number; // column; negative numbers count from the end
  up?: boolean;
  height?: number; // most pixels
  filter?: (row: R) => string; // texts that are searched, in lower case
  placeholder?: string;
  wanted?: string; // in the filter from the start
  onfilter?: (text: string) => void;
  onsort?: (column: number, up: boolean) => void;
  pick?: (row: R) => void;
  extra?: Child[]; // beside the filter
  note?: string;
}

const ROW = 30,
  AROUND = 8;

export class DataTable<R> {
  readonly element: HTMLElement;
  private rows: R[] = [];
  private shown: R[] = [];
  private chosen: R | null = null;
  private by: number;
  private up: boolean;
  private wanted: string;
  private readonly heads: HTMLElement[];
  private readonly scroll: HTMLElement;
  private readonly space: HTMLElement;
  private readonly body: HTMLElement;
  private readonly status = el('span', { class: 'label', role: 'status' });

  constructor(
    private readonly columns: TableColumn<R>[],
    private readonly options: TableOptions<R>,
  ) {
    this.by = (options.sort ?? 0) < 0 ? columns.length + (options.sort ?? 0) : (options.sort ?? 0);
    this.up = options.up ?? !columns[this.by]?.number;
    this.wanted = (options.wanted ?? '').toLowerCase();
    this.heads = columns.map((column, index) =>
      el(
        'div',
        { role: 'columnheader', class: column.number ? 'number' : '', title: column.hint },
        el('button', { type: 'button', text: column.title, onclick: () => this.sortBy(index) }),
      ),
    );
    this.body = el('div', { class: 'rows', role: 'rowgroup' });
    this.space = el('div', { class: 'space', role: 'presentation' }, this.body);
    this.scroll = el(
      'div',
      { class: 'grid', tabindex: '0', role: options.pick ? 'grid' : 'table', 'aria-label': options.name },
      el('div', { class: 'grid-head', role: 'row' }, ...this.heads),
      this.space,
    );
    const tracks = columns.map((column) => column.width ?? (column.number ? '6.5rem' : 'minmax(7rem, 1fr)'));
    this.scroll.style.setProperty('--tracks', tracks.join(' '));
    // narrower than this, the table scrolls sideways: rows are grids of their own, so all need the same width
    const least = tracks.reduce((sum, track) => sum + Number(/([\d.]+)rem/.exec(track)?.[1] ?? 6) + 0.7, 0.6);
    this.scroll.style.setProperty('--least', `${least.toFixed(1)}rem`);
    this.scroll.style.maxHeight = `${options.height ?? 520}px`;
    this.scroll.addEventListener('scroll', () => this.draw());
    this.scroll.addEventListener('keydown', (event) => this.key(event));
    const bar = el('div', { class: 'controls' });
    if (options.filter) {
      const input = el('input', {
        type: 'search',
        placeholder: options.placeholder ?? 'Filter (f)',
        'aria-label': `Filter ${options.name}`,
        value: options.wanted ?? '',
      });
      input.addEventListener('input', () => {
        this.wanted = input.value.trim().toLowerCase();
        this.options.onfilter?.(input.value.trim());
        this.fill();
      });
      bar.append(input);
    }
    bar.append(
      ...(options.extra ?? []).filter((child): child is Node | string => Boolean(child)),
      this.status,
      el('span', { class: 'spring' }),
      copyButton(() => this.csv()),
    );
    this.element = el('div', { class: 'table' }, bar, this.scroll);
    if (typeof ResizeObserver !== 'undefined') new ResizeObserver(() => this.draw()).observe(this.scroll);
  }

  setRows(rows: R[]): this {
    this.rows = rows;
    this.fill();
    return this;
  }

  get selected(): R | null {
    return this.chosen;
  }

  csv(): string {
    return csv(
      this.columns.map((column) => column.title),
      this.shown.map((row) => this.columns.map((column) => column.value(row))),
    );
  }

  sortBy(index: number): void {
    this.up = this.by === index ? !this.up : !this.columns[index]?.number;
    this.by = index;
    this.options.onsort?.(index, this.up);
    this.fill();
  }

  // choose a row, and scroll to it
  choose(row: R | null, show = true): void {
    this.chosen = row;
    const at = row === null ? -1 : this.shown.indexOf(row);
    if (show && at >= 0) {
      const top = at * ROW,
        view = this.scroll.clientHeight - ROW;
      if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
      else if (top + ROW > this.scroll.scrollTop + view) this.scroll.scrollTop = top + ROW - view;
    }
    this.draw();
  }

  private fill(): void {
    const wanted = this.wanted,
      filter = this.options.filter;
    this.shown = wanted && filter ? this.rows.filter((row) => filter(row).includes(wanted)) : this.rows.slice();
    const column = this.columns[this.by],
      sign = this.up ? 1 : -1;
    if (column) {
      const keys = new Map<R, string | number>();
      for (const row of this.shown) keys.set(row, column.value(row));
      const places = new Map(this.shown.map((row, place) => [row, place]));
      this.shown.sort((a, b) => {
        const x = keys.get(a) as string | number,
          y = keys.get(b) as string | number;
        return (x < y ? -1 : x > y ? 1 : 0) * sign || (places.get(a) as number) - (places.get(b) as number);
      });
    }
    this.heads.forEach((head, index) =>
      head.setAttribute('aria-sort', index === this.by ? (this.up ? 'ascending' : 'descending') : 'none'),
    );
    this.status.textContent =
      (this.shown.length < this.rows.length ? `${whole(this.shown.length)} of ` : '') +
      `${whole(this.rows.length)} ${this.options.name}${this.options.note ? ` (${this.options.note})` : ''}`;
    this.scroll.setAttribute('aria-rowcount', String(this.shown.length));
    this.space.style.height = `${this.shown.length * ROW}px`;
    this.scroll.scrollTop = Math.min(this.scroll.scrollTop, this.shown.length * ROW);
    this.draw();
  }

  private draw(): void {
    const height = this.scroll.clientHeight || this.options.height || 520;
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - AROUND);
    const last = Math.min(this.shown.length, Math.ceil((this.scroll.scrollTop + height) / ROW) + AROUND);
    this.body.style.transform = `translateY(${first * ROW}px)`;
    this.body.replaceChildren(
      ...this.shown.slice(first, last).map((row, offset) => {
        const line = el(
          'div',
          {
            role: 'row',
            class: `grid-row${this.options.pick ? ' pick' : ''}${row === this.chosen ? ' chosen' : ''}`,
            'aria-rowindex': first + offset + 1,
            'aria-selected': this.options.pick ? String(row === this.chosen) : null,
          },
          ...this.columns.map((column) => {
            const text = column.text ? column.text(row) : String(column.value(row));
            const cell = el('div', {
              role: this.options.pick ? 'gridcell' : 'cell',
              class: column.number ? 'number' : '',
              title: column.cell ? null : text.slice(0, 400),
            });
            if (column.cell) cell.append(column.cell(row));
            else cell.textContent = text;
            return cell;
          }),
        );
        if (this.options.pick) line.addEventListener('click', () => this.pick(row));
        return line;
      }),
    );
  }

  private pick(row: R): void {
    this.choose(row, false);
    this.options.pick?.(row);
  }

  private key(event: KeyboardEvent): void {
    if (!this.options.pick || event.target !== this.scroll) return;
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
    if (by !== undefined) {
      const at = this.chosen === null ? -1 : this.shown.indexOf(this.chosen);
      const next = this.shown[Math.max(0, Math.min(this.shown.length - 1, at + by))];
      if (next !== undefined) this.choose(next);
    } else if (event.key === 'Enter' && this.chosen !== null) this.pick(this.chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

// a small table of texts, whole in the document
export function plainTable(name: string, columns: [string, boolean?][], rows: (string | Node)[][]): HTMLElement {
  const line = (cells: (string | Node)[], tag: 'th' | 'td') =>
    el(
      'tr',
      {},
      ...cells.map((cell, index) =>
        el(tag, { class: columns[index]?.[1] ? 'number' : '', scope: tag === 'th' ? 'col' : null }, cell || ' '),
      ),
    );
  const body = el('tbody', {}, ...rows.map((row) => line(row, 'td')));
  const table = el(
    'table',
    { 'aria-label': name },
    el(
      'thead',
      {},
      line(
        columns.map((column) => column[0]),
        'th',
      ),
    ),
    body,
  );
  const copy = copyButton(() =>
    csv(
      columns.map((column) => column[0]),
      [...body.rows].map((row) => [...row.cells].map((cell) => (cell.textContent ?? '').trim())),
    ),
  );
  return el(
    'div',
    { class: 'table plain' },
    el('div', { class: 'scroll' }, table),
    el('div', { class: 'below' }, copy),
  );
}
