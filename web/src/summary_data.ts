// What the summary of a report holds.

export type Figure = [number, string, number, number, string];
export interface Work {
  verdict: string[];
  phases: [string, number, number, number, number][];
  ops: number;
}
export interface Summary {
  file: string;
  folder: string;
  version: number;
  meta: Record<string, string>;
  notes: string[];
  verdict: string[];
  fits: [boolean, string, number | null];
  advice: [string, string, string, string, string[]][];
  target: Record<string, string | number>;
  figures: Record<string, Figure>;
  options: [string, string, string][];
  graph: [string, number][];
  breakdown: [string, string, number, string][];
  categories: [string, number][];
  ipus: Record<string, number | string>[];
  files: [string, number][];
  application: Record<string, unknown>;
}

export const figure = (summary: Summary, name: string): Figure | null =>
  Object.hasOwn(summary.figures, name) ? (summary.figures[name] as Figure) : null;
