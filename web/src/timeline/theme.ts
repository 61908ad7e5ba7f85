// Colours of a timeline, light and dark, taken from the style of the page.
import { packed } from './raster';

export interface Theme {
  dark: boolean;
  ground: string;
  ink: string;
  soft: string;
  line: string;
  grid: string;
  accent: string;
  bad: string;
  /** the ground as a pixel */
  groundPixel: number;
  band: number;
}

/** What a lane does: the first four are summed in pyramids, the last is an exchange that crosses IPUs. */
export const KINDS = ['compute', 'exchange', 'sync and waiting', 'stream copies', 'exchange between IPUs'] as const;
export const KIND_COLOURS = ['#d1495b', '#6fb7e6', '#ecc44f', '#8a68d6', '#2f74bd'];

/** For spans by label: calm enough for dark text on top in both themes. */
export const HUES = [
  '#8fb3f5', '#f0b072', '#8bcfae', '#e79ab9', '#bfaee8', '#dfca74', '#83cbdb', '#e59a85', '#a9c77d', '#c9a58f', '#9fb4c9', '#d7a8e0',
];

/** For lines. */
export const LINES = ['#3d6fd9', '#d1495b', '#2a9d6f', '#b7791f', '#7a5cc7', '#1f8fa6', '#c0568f', '#6b7280'];
export const LINES_DARK = ['#7ea6ff', '#ff8b98', '#63d3a2', '#f2c76b', '#b79cf5', '#5fd0e4', '#f08fc0', '#a7b0bf'];

export function pixel(colour: string): number {
  const text = colour.trim();
  if (/^#[0-9a-f]{6}$/i.test(text)) {
    const value = parseInt(text.slice(1), 16);
    return packed(value >> 16, (value >> 8) & 255, value & 255);
  }
  if (/^#[0-9a-f]{3}$/i.test(text)) {
    const [r, g, b] = [...text.slice(1)].map((digit) => parseInt(digit + digit, 16));
    return packed(r ?? 0, g ?? 0, b ?? 0);
  }
  const parts = /^rgba?\(\s*(\d+)[ ,]+(\d+)[ ,]+(\d+)/.exec(text);
  return parts ? packed(Number(parts[1]), Number(parts[2]), Number(parts[3])) : packed(128, 128, 128);
}

export function readTheme(node: Element): Theme {
  const style = getComputedStyle(node);
  const read = (name: string, otherwise: string) => style.getPropertyValue(name).trim() || otherwise;
  const ground = read('--card', '#ffffff');
  const value = pixel(ground);
  return {
    dark: (value & 255) + ((value >>> 8) & 255) + ((value >>> 16) & 255) < 384,
    ground,
    ink: read('--ink', '#1c2330'),
    soft: read('--soft', '#5b6575'),
    line: read('--line', '#dfe3ea'),
    grid: read('--grid', '#e9ecf1'),
    accent: read('--accent', '#2f5fd0'),
    bad: read('--bad', '#b3261e'),
    groundPixel: value,
    band: pixel(read('--ground', '#f6f7f9')),
  };
}

/** Call back when the page changes between light and dark. */
export function onThemeChange(change: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', change);
  const observer = new MutationObserver(change);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme', 'class'] });
  return () => {
    media.removeEventListener('change', change);
    observer.disconnect();
  };
}

/** A steady colour for a text. */
export function hue(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  return (hash >>> 0) % HUES.length;
}
