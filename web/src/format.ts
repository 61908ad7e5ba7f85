// Numbers as texts.
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(part: number, all: number): string {
  return `${(all ? (100 * part) / all : 0).toFixed(1)}%`;
}

export function bytes(value: number): string {
  const size = Math.abs(value);
  for (const [unit, one] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (size >= one) return `${(value / one).toFixed(size >= 100 * one ? 0 : 1)} ${unit}`;
  }
  return `${whole(value)} B`;
}

export function time(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  for (const [unit, one] of [
    ['s', 1],
    ['ms', 1e-3],
    ['µs', 1e-6],
  ] as const) {
    if (size >= one) return `${Number((seconds / one).toPrecision(3)).toLocaleString('en-US')} ${unit}`;
  }
  return `${Number((seconds / 1e-9).toPrecision(3))} ns`;
}

export function compact(value: number): string {
  for (const [unit, one] of [
    ['P', 1e15],
    ['T', 1e12],
    ['G', 1e9],
    ['M', 1e6],
    ['k', 1e3],
  ] as const) {
    if (Math.abs(value) >= one) return `${Number((value / one).toPrecision(3))} ${unit}`;
  }
  return String(Number(value.toPrecision(3)));
}

// a number of a unit of the profile: seconds, bytes, cycles or anything else
export function quantity(value: number, unit: string): string {
  if (unit === 's' || unit === 'seconds') return time(value);
  if (unit === 'bytes' || unit === 'B') return bytes(value);
  const text = Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(4)));
  return unit ? `${text} ${unit}` : text;
}

// the difference of two numbers, with its sign and its share of the first
export function delta(before: number, after: number, format: (value: number) => string): string {
  const by = after - before;
  if (by === 0) return '±0';
  const share = before ? ` (${by > 0 ? '+' : '−'}${Math.abs((100 * by) / before).toFixed(1)}%)` : '';
  return `${by > 0 ? '+' : '−'}${format(Math.abs(by))}${share}`;
}

export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

export function plural(count: number, one: string, many = one + 's'): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}
