// Colours: of uses of memory, of kinds of work, of scales. Distinguishable in light and in dark.
export const USES: Record<string, string> = {
  weights: '#3d6fd9',
  buffers: '#6d96ec',
  'optimizer state': '#7a5cc7',
  'gradient accumulators': '#a98be8',
  'pipeline stashes': '#2a9d8f',
  constants: '#66c2a5',
  'host I/O buffers': '#9bd3c1',
  'vertex code': '#8a6d3b',
  'vertex state': '#b79257',
  'exchange code': '#d8b878',
  'control code': '#e6d3a3',
  stacks: '#c9c2b2',
  activations: '#d1495b',
  temporaries: '#f08a6b',
  gaps: '#aeb6c2',
};
// what a chip does, in the colours of all traces
export const WORK = { compute: '#d1495b', exchange: '#4ea8de', sync: '#e9c46a', stream: '#7a5cc7', idle: '#c3cad6' };
export const REGIONS = { always: '#3d6fd9', temporary: '#d1495b', gaps: '#aeb6c2' };
export const HUES = ['#7aa6ff', '#f2a65a', '#7fc8a9', '#e58fb1', '#b7a3e3', '#d9c36a', '#76c5d6', '#e08e79'];
const SPARE = ['#5b8c5a', '#c06c84', '#6c5b7b', '#355c7d', '#99b898'];

export function pick(table: Record<string, string>, name: string, index: number): string {
  return Object.hasOwn(table, name) ? (table[name] as string) : (SPARE[index % SPARE.length] as string);
}

export function hue(index: number): string {
  return HUES[((index % HUES.length) + HUES.length) % HUES.length] as string;
}

// fill of a tile from 0 to 1 and beyond: dark blue, green, yellow; red when there is no room
const SCALE: [number, number, number][] = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [53, 183, 121],
  [109, 205, 89],
  [180, 222, 44],
  [253, 231, 37],
];
// beyond full: from red to dark red at twice the room
export const OVER: [number, number, number] = [229, 57, 53];
const FAR_OVER: [number, number, number] = [92, 6, 20];

export function scale(share: number): [number, number, number] {
  if (share > 1) {
    const by = Math.min(1, (share - 1) / 0.6);
    return [0, 1, 2].map((i) =>
      Math.round((OVER[i] as number) + by * ((FAR_OVER[i] as number) - (OVER[i] as number))),
    ) as [number, number, number];
  }
  const at = Math.max(0, Math.min(1, share || 0)) * (SCALE.length - 1);
  const low = Math.floor(at),
    part = at - low;
  const from = SCALE[low] as [number, number, number],
    to = SCALE[Math.min(low + 1, SCALE.length - 1)] as [number, number, number];
  return [0, 1, 2].map((i) => Math.round((from[i] as number) + part * ((to[i] as number) - (from[i] as number)))) as [
    number,
    number,
    number,
  ];
}

// less than before is blue, more is red; 0 is grey
export function difference(share: number): [number, number, number] {
  const by = Math.max(-1, Math.min(1, share || 0)),
    size = Math.sqrt(Math.abs(by));
  const to: [number, number, number] = by < 0 ? [33, 102, 172] : [178, 24, 43];
  return [0, 1, 2].map((i) => Math.round(200 + size * ((to[i] as number) - 200))) as [number, number, number];
}

export function css(colour: [number, number, number]): string {
  return `rgb(${colour.join(',')})`;
}

// a colour of the style sheet, for canvases
export function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}
