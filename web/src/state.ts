// The state of the page in the address after #, as `view?name=value&...`: what is looked at can be sent as a link.

export class State {
  view: string;
  private values: URLSearchParams;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly first: string) {
    this.view = first;
    this.values = new URLSearchParams();
    this.read();
    addEventListener('hashchange', () => {
      const before = this.text();
      this.read();
      if (this.text() !== before) for (const listener of this.listeners) listener();
    });
  }

  private read(): void {
    const [view = '', query = ''] = location.hash.slice(1).split('?', 2);
    this.view = /^[a-z_]{1,40}$/.test(view) ? view : this.first;
    this.values = new URLSearchParams(query);
  }

  private text(): string {
    const query = this.values.toString();
    return '#' + this.view + (query ? '?' + query : '');
  }

  // called when the address changes by other means than `set`
  onchange(listener: () => void): void {
    this.listeners.add(listener);
  }

  get(name: string, missing = ''): string {
    return this.values.get(name) ?? missing;
  }

  number(name: string, missing: number, low = -Infinity, high = Infinity): number {
    const text = this.values.get(name);
    const value = text === null || text === '' ? NaN : Number(text);
    return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : missing;
  }

  // an empty text or null takes a value away; `visit` makes a step of the browser's history
  set(changes: Record<string, string | number | null>, visit = false): void {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') this.values.delete(name);
      else this.values.set(name, String(value));
    }
    this.write(visit);
  }

  // another view; what belongs to the reports stays, what belonged to the view goes
  go(view: string, values: Record<string, string | number> = {}): void {
    this.view = view;
    for (const name of [...this.values.keys()]) if (name !== 'report' && name !== 'compare') this.values.delete(name);
    for (const [name, value] of Object.entries(values)) this.values.set(name, String(value));
    this.write(true);
  }

  private write(visit: boolean): void {
    const text = this.text();
    if (location.hash === text) return;
    if (visit) history.pushState(null, '', text);
    else history.replaceState(null, '', text);
  }
}
