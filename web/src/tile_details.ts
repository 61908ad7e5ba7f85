// What lies on the tiles that are chosen: bytes by use, region or layer, and their variables.
import { card, el, legend, note } from './elements';
import { bytes, percent, plural } from './format';
import { deltaCell } from './pairs';
import { plainTable } from './table';
import { bands, bothTiles, sumOf } from './tile_bands';
import { leftOut, variableDifference, variableTable } from './variable_table';
import { onTile } from './variables';
import type { Context } from './view';

function named(tiles: number[]): string {
  if (tiles.length === 1) return `tile ${tiles[0]}`;
  return tiles.length === 2 ? `tiles ${tiles.join(' and ')}` : plural(tiles.length, 'tile');
}

export async function usageCard(context: Context, ipu: number, by: string, tiles: number[]): Promise<HTMLElement> {
  const [a, b] = await bothTiles(context, ipu, by);
  const series = bands(a, by);
  const after = b ? bands(b, by) : null;
  const two = tiles.length === 2 && !after;
  const rows = series
    .map((each) => {
      const title = el('span', {}, legend([[each.name, each.colour]]));
      if (two) {
        const [one, other] = tiles.map((tile) => each.values[tile] ?? 0) as [number, number];
        return { size: one + other, cells: [title, bytes(one), bytes(other), deltaCell(one, other, bytes)] };
      }
      const size = sumOf(each.values, tiles);
      if (!after) return { size, cells: [title, bytes(size), percent(size, a.room * tiles.length)] };
      const later = sumOf(after.find((found) => found.name === each.name)?.values ?? new Float64Array(0), tiles);
      return { size: size + later, cells: [title, bytes(size), bytes(later), deltaCell(size, later, bytes, true)] };
    })
    .filter((row) => row.size > 0);
  const all = series.reduce((sum, each) => sum + sumOf(each.values, tiles), 0);
  const pair: [string, string] = two ? [`tile ${tiles[0]}`, `tile ${tiles[1]}`] : ['before', 'after'];
  const heads: [string, boolean?][] =
    two || after
      ? [[by], [pair[0], true], [pair[1], true], ['difference', true]]
      : [[by], ['bytes', true], ['of its memory', true]];
  const have = tiles.length === 1 ? 'it has' : 'they have';
  return card(
    `What ${named(tiles)} of IPU ${ipu} hold${tiles.length > 1 ? '' : 's'}`,
    note(`${bytes(all)} in total, ${percent(all, a.room * tiles.length)} of what ${have}.`),
    plainTable(
      `memory of ${named(tiles)}`,
      heads,
      rows.map((row) => row.cells),
    ),
  );
}

export async function variablesCard(context: Context, ipu: number, tiles: number[]): Promise<HTMLElement> {
  const { source, report, other } = context;
  const [first, second] = tiles as [number, number | undefined];
  const list = await onTile(source, report.id, ipu, first);
  if (!list.known) {
    return card(
      `Variables of ${named(tiles)}`,
      note('This report has no variables for single tiles: an earlier version wrote it.'),
    );
  }
  const after = other ? await onTile(source, other.id, ipu, first).catch(() => null) : null;
  if (after) {
    const table = variableDifference(list.variables, after.variables, ['before', 'after']);
    return card(`Variables of tile ${first}: before and after`, table.element);
  }
  if (tiles.length === 2 && second !== undefined) {
    const others = await onTile(source, report.id, ipu, second);
    const names: [string, string] = [`tile ${first}`, `tile ${second}`];
    return card(
      `Variables: tile ${second} against tile ${first}`,
      variableDifference(list.variables, others.variables, names).element,
    );
  }
  return card(
    `Variables of tile ${first}${tiles.length > 1 ? ', the first one selected' : ''}`,
    variableTable(list.variables, 0, -1).element,
    leftOut(list) ? note(leftOut(list)) : null,
  );
}
