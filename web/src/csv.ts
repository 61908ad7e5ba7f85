// Tables as CSV, for spreadsheets and scripts.
import { button } from './elements';

// a text that a spreadsheet would take for a formula gets an apostrophe
function field(value: string | number): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : '';
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(titles: string[], rows: Iterable<(string | number)[]>): string {
  const lines = [titles.map(field).join(',')];
  for (const row of rows) lines.push(row.map(field).join(','));
  return lines.join('\n') + '\n';
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement('textarea');
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    return done;
  }
}

export function copyButton(make: () => string): HTMLButtonElement {
  const made = button(
    'Copy CSV',
    () => {
      const text = make();
      // for tests and for browsers that keep the clipboard to themselves
      made.dispatchEvent(new CustomEvent('csv', { detail: text, bubbles: true }));
      void copy(text).then((done) => {
        made.textContent = done ? 'Copied' : 'Not copied';
        setTimeout(() => {
          made.textContent = 'Copy CSV';
        }, 1200);
      });
    },
    { class: 'small copy', title: 'Copy this table as CSV' },
  );
  return made;
}
