// What a timeline shows, in the address of the page: range, pins, folded rows, area, picked item.
import type { State } from './state';
import type { TimelineState } from './timeline/model';

const MOST = 40;

const written = (value: number) => String(Number(value.toPrecision(15)));

export function writeState(state: State, shown: TimelineState): void {
  state.set({
    t: `${written(shown.from)},${written(shown.to)}`,
    pins: shown.pins.slice(0, MOST).join(',') || null,
    folded: shown.folded.slice(0, MOST).join(',') || null,
    area: shown.area ? [written(shown.area.from), written(shown.area.to), ...shown.area.rows.slice(0, 2 * MOST)].join(',') : null,
    pick: shown.picked ? `${shown.picked.row},${shown.picked.key}` : null,
  });
}

export function readState(state: State): Partial<TimelineState> {
  const list = (name: string) => state.get(name).split(',').filter(Boolean);
  const found: Partial<TimelineState> = { pins: list('pins'), folded: list('folded') };
  const [from, to] = list('t').map(Number);
  if (from !== undefined && to !== undefined && to > from) Object.assign(found, { from, to });
  const [begin, end, ...rows] = list('area');
  if (begin !== undefined && end !== undefined && Number(end) > Number(begin)) found.area = { from: Number(begin), to: Number(end), rows };
  const [row, key] = list('pick');
  if (row !== undefined && key !== undefined) found.picked = { row, key };
  return found;
}
