// How times are written: device cycles, and microseconds of the host with or without the time of day.
import type { Clock } from './model';

const round = (value: number, digits: number) => Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumFractionDigits: 6 });

/** A length given in microseconds. */
export function microseconds(value: number): string {
  const size = Math.abs(value);
  if (size >= 120e6) {
    const seconds = Math.round(value / 1e6);
    const minutes = Math.trunc(seconds / 60);
    return Math.abs(minutes) >= 60
      ? `${Math.trunc(minutes / 60)} h ${Math.abs(minutes % 60)} min`
      : `${minutes} min ${Math.abs(seconds % 60)} s`;
  }
  if (size >= 1e6) return round(value / 1e6, 4) + ' s';
  if (size >= 1e3) return round(value / 1e3, 4) + ' ms';
  if (size >= 1 || size === 0) return round(value, 4) + ' µs';
  return round(value * 1e3, 3) + ' ns';
}

const UNITS: Record<string, number> = { ns: 1e-3, us: 1, µs: 1, μs: 1, ms: 1e3, s: 1e6, min: 60e6, h: 3600e6 };

/** "1.5 ms" in microseconds; NaN if it is no length of time. */
export function parseTime(text: string): number {
  const found = /^\s*([\d.,]+(?:e[+-]?\d+)?)\s*(ns|us|µs|μs|ms|s|min|h)\s*$/i.exec(text);
  if (!found) return NaN;
  const unit = UNITS[(found[2] ?? '').toLowerCase()];
  return unit === undefined ? NaN : Number((found[1] ?? '').replaceAll(',', '')) * unit;
}

/** The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `least`. */
export function decimalTick(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

const decimals = (step: number) => Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));

function moment(time: number, step: number): string {
  const [unit, size] = step >= 1e6 ? ['s', 1e6] : step >= 1e3 ? ['ms', 1e3] : step >= 1 ? ['µs', 1] : ['ns', 1e-3];
  const value = time / (size as number);
  const most = Math.abs(time);
  // long after the start, seconds before the point are easier to read than millions of microseconds
  if (unit !== 's' && most >= 1e6) return (time / 1e6).toFixed(decimals(step / 1e6)) + ' s';
  if ((unit === 'µs' || unit === 'ns') && most >= 1e4) return (time / 1e3).toFixed(decimals(step / 1e3)) + ' ms';
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 }) + ' ' + unit;
}

/** Microseconds from the start of the trace. */
export const relativeClock: Clock = { moment, span: microseconds, parse: parseTime, tick: decimalTick };

const ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((seconds) => seconds * 1e6);

/** Microseconds after `origin`, itself in microseconds since 1970, as the time of day in UTC. */
export function wallClock(origin: number): Clock {
  return {
    moment(time: number, step: number): string {
      const all = origin + time;
      const seconds = Math.floor(all / 1e6);
      const date = new Date(seconds * 1e3);
      if (Number.isNaN(date.getTime())) return moment(time, step);
      const digits = step >= 1e6 ? 0 : Math.min(6, decimals(step / 1e6));
      const rest = all / 1e6 - seconds;
      return date.toISOString().slice(11, 19) + (digits ? Math.min(rest, 1 - 10 ** -digits).toFixed(digits).slice(1) : '');
    },
    span: microseconds,
    parse: parseTime,
    tick: (least: number) => (least < 1e6 ? decimalTick(least) : (ROUND.find((value) => value >= least) ?? decimalTick(least))),
  };
}

/** Cycles of a device with this clock; lengths are given in both. */
export function cycleClock(hertz: number): Clock {
  const perMicrosecond = hertz / 1e6;
  const whole = (value: number) => Math.round(value).toLocaleString('en-US');
  return {
    moment: (time: number, step: number) => {
      if (Math.abs(time) >= 1e9 && step >= 1e6) return (time / 1e9).toFixed(decimals(step / 1e9)) + ' G';
      if (Math.abs(time) >= 1e6 && step >= 1e3) return (time / 1e6).toFixed(decimals(step / 1e6)) + ' M';
      return whole(time);
    },
    span: (length: number) =>
      `${whole(length)} ${Math.round(length) === 1 ? 'cycle' : 'cycles'}` +
      (perMicrosecond > 0 ? ` (${microseconds(length / perMicrosecond)})` : ''),
    parse: (text: string) => {
      const found = /^\s*([\d.,]+(?:e\d+)?)\s*(k|m|g)?\s*(cycles?)?\s*$/i.exec(text);
      if (found) {
        const factor = { k: 1e3, m: 1e6, g: 1e9 }[(found[2] ?? '').toLowerCase()] ?? 1;
        return Number((found[1] ?? '').replaceAll(',', '')) * factor;
      }
      return parseTime(text) * perMicrosecond;
    },
    tick: (least: number) => Math.max(1, decimalTick(least)),
  };
}
