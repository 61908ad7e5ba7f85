// Bytes on the tiles of an IPU as bands: by use, by region of life, by layer.
import { hue, pick, REGIONS, USES } from './colours';
import type { Series } from './stacked_paint';
import { numbers } from './source';
import type { Context } from './view';

export const BY = ['use', 'region', 'layer'];

export interface Tiles {
  ipu: number;
  tiles: number;
  room: number;
  bands: [string, number, { i4?: string; f8?: string }][];
}

function tilesOf(context: Context, report: string, ipu: number, by: string): Promise<Tiles> {
  return context.source.json(report, 'tiles', by === 'layer' ? { ipu, by } : { ipu }) as Promise<Tiles>;
}

// of both reports; null where there is no second one, or it has no such IPU
export async function bothTiles(context: Context, ipu: number, by: string): Promise<[Tiles, Tiles | null]> {
  const { report, other } = context;
  return [
    await tilesOf(context, report.id, ipu, by),
    other ? await tilesOf(context, other.id, ipu, by).catch(() => null) : null,
  ];
}

export function bands(answer: Tiles, by: string): Series[] {
  const made = answer.bands.map(([name, always, values], index): Series & { always: number } => ({
    name,
    always,
    values: numbers(values),
    colour: by === 'layer' ? (index === answer.bands.length - 1 ? '#c3cad6' : hue(index)) : pick(USES, name, index),
  }));
  if (by !== 'region') return made;
  const sum = (name: string, colour: string, parts: Series[]): Series => {
    const values = new Float64Array(answer.tiles);
    for (const part of parts)
      for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) + (part.values[i] as number);
    return { name, colour, values };
  };
  const gaps = made.filter((each) => each.name === 'gaps'),
    rest = made.filter((each) => each.name !== 'gaps');
  return [
    sum(
      'always live',
      REGIONS.always,
      rest.filter((each) => each.always),
    ),
    sum(
      'not always live',
      REGIONS.temporary,
      rest.filter((each) => !each.always),
    ),
    sum('gaps', REGIONS.gaps, gaps),
  ];
}

export function sumOf(values: Float64Array, tiles: number[]): number {
  return tiles.reduce((sum, tile) => sum + (values[tile] ?? 0), 0);
}
