// Text on a canvas: cut to what fits, by an estimate that needs no measuring for each word.

const LETTER = 6.1;

/** The text, shortened to about `width` pixels of an 11 px font; empty if not even three letters fit. */
export function fitted(text: string, width: number): string {
  const letters = Math.floor(width / LETTER);
  if (letters < 2) return '';
  const clean = plain(text);
  if (clean.length <= letters) return clean;
  return letters < 4 ? clean.slice(0, letters) : clean.slice(0, letters - 1) + '…';
}

/** The end of a path-like name says most: keeps it when there is no room for all. */
export function fittedEnd(text: string, width: number): string {
  const letters = Math.floor(width / LETTER);
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
