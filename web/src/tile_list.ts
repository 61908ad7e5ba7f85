// Tiles as a text: "1,5,10-20".

export const MOST_SELECTED = 2000;

// "1, 5, 10-20" as numbers below `most`
export function tileList(text: string, most: number): number[] {
  const found = new Set<number>();
  for (const part of text.split(/[,;\s]+/)) {
    const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!range) continue;
    const first = Number(range[1]),
      last = Math.min(most - 1, Number(range[2] ?? range[1]));
    for (let tile = first; tile <= last && found.size < MOST_SELECTED; tile++) found.add(tile);
  }
  return [...found].filter((tile) => tile < most).sort((a, b) => a - b);
}

export function tileText(tiles: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < tiles.length; i++) {
    let j = i;
    while (j + 1 < tiles.length && tiles[j + 1] === (tiles[j] as number) + 1) j++;
    parts.push(j > i + 1 ? `${tiles[i]}-${tiles[j]}` : tiles.slice(i, j + 1).join(','));
    i = j;
  }
  return parts.join(',');
}

// runs of tiles that follow each other, as [first, one after the last]
export function tileRanges(tiles: number[]): [number, number][] {
  return tileText(tiles)
    .split(',')
    .filter(Boolean)
    .map((part) => {
      const [first, last] = part.split('-').map(Number);
      return [first as number, (last ?? (first as number)) + 1];
    });
}
