// Text on a canvas: cut to what fits, by an estimate that needs no measuring for each word.

let letter = 6.6;
let calibrated = false;

/** Measure the letters of the font that timelines use, once. */
export function calibrate(context: CanvasRenderingContext2D): void {
  if (calibrated) return;
  calibrated = true;
  context.font = '11px system-ui, sans-serif';
  const sample = 'net.layer12/attention/Convolve_0 micro-batch';
  letter = Math.max(4, (context.measureText(sample).width / sample.length) * 1.06);
}

/** The text, shortened to about `width` pixels of an 11 px font; empty if not even three letters fit. */
export function fitted(text: string, width: number): string {
  const letters = Math.floor(width / letter);
  if (letters < 2) return '';
  const clean = plain(text);
  if (clean.length <= letters) return clean;
  return letters < 4 ? clean.slice(0, letters) : clean.slice(0, letters - 1) + '…';
}

/** The end of a path-like name says most: keeps it when there is no room for all. */
export function fittedEnd(text: string, width: number): string {
  const letters = Math.floor(width / letter);
  const clean = plain(text);
  if (clean.length <= letters || letters < 4) return fitted(clean, width);
  return '…' + clean.slice(clean.length - letters + 1);
}

/** Control characters and marks that turn the direction of text, as a visible sign; at most 300 letters. */
export function plain(text: string): string {
  const short = text.length > 300 ? text.slice(0, 299) + '…' : text;
  // eslint-disable-next-line no-control-regex
  return short.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, '�');
}
