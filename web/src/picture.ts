// Canvases: sized for the screen, and saved as pictures with a title and a legend.
import { button } from './elements';
import { themed } from './colours';

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

// the canvas at the size of its box; draws in CSS pixels
export function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext('2d');
  if (!pen) throw new Error('this browser draws no canvas');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = 'middle';
  return pen;
}

export function cutText(pen: CanvasRenderingContext2D, text: string, width: number): string {
  if (pen.measureText(text).width <= width) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : '';
}

function withTitle(canvas: HTMLCanvasElement, title: string, legend: [string, string][]): HTMLCanvasElement {
  const made = document.createElement('canvas');
  const ratio = canvas.width / (parseFloat(canvas.style.width) || canvas.width);
  const width = canvas.width / ratio,
    height = canvas.height / ratio;
  const pen = made.getContext('2d');
  if (!pen) return canvas;
  pen.font = FONT;
  const lines: [string, string][][] = [[]];
  let x = 0;
  for (const entry of legend) {
    const needs = pen.measureText(entry[0]).width + 34;
    if (x + needs > width && x) {
      lines.push([]);
      x = 0;
    }
    (lines.at(-1) as [string, string][]).push(entry);
    x += needs;
  }
  made.width = canvas.width;
  made.height = Math.round((height + 30 + 20 * (legend.length ? lines.length : 0) + 6) * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = themed('--card');
  pen.fillRect(0, 0, width, made.height);
  pen.fillStyle = themed('--ink');
  pen.textBaseline = 'middle';
  pen.font = `600 ${FONT}`;
  pen.fillText(cutText(pen, title, width - 16), 8, 15);
  pen.drawImage(canvas, 0, 30, width, height);
  pen.font = FONT;
  lines.forEach((line, row) => {
    let at = 8;
    for (const [name, colour] of line) {
      pen.fillStyle = colour;
      pen.fillRect(at, height + 34 + row * 20, 12, 12);
      pen.fillStyle = themed('--ink');
      pen.fillText(name, at + 17, height + 41 + row * 20);
      at += pen.measureText(name).width + 34;
    }
  });
  return made;
}

// a file name of plain characters
function fileName(title: string): string {
  return `${
    title
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'chart'
  }.png`;
}

export function saveButton(
  canvas: () => HTMLCanvasElement,
  title: () => string,
  legend: () => [string, string][] = () => [],
): HTMLButtonElement {
  return button(
    'Save PNG',
    () => {
      withTitle(canvas(), title(), legend()).toBlob((blob) => {
        if (!blob) return;
        const link = document.createElement('a');
        const address = URL.createObjectURL(blob);
        link.setAttribute('href', address);
        link.setAttribute('download', fileName(title()));
        link.click();
        setTimeout(() => URL.revokeObjectURL(address), 1000);
      }, 'image/png');
    },
    { class: 'small save', title: 'Save this chart as a picture' },
  );
}
