// What a timeline shows as a PNG, with the names of the rows beside it.
import { RULER } from './ruler';
import { fitted } from './text';
import type { Theme } from './theme';

export function saveImage(plot: HTMLCanvasElement, labels: HTMLElement, theme: Theme, file: string): void {
  const ratio = plot.width / Math.max(1, plot.clientWidth);
  const gutter = labels.offsetWidth;
  const picture = document.createElement('canvas');
  picture.width = plot.width + Math.round(gutter * ratio);
  picture.height = plot.height;
  const context = picture.getContext('2d');
  if (!context) return;
  context.fillStyle = theme.ground;
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(plot, Math.round(gutter * ratio), 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.textBaseline = 'middle';
  const box = labels.getBoundingClientRect();
  for (const node of labels.querySelectorAll<HTMLElement>('.tl-label')) {
    const place = node.getBoundingClientRect();
    const y = (place.top + place.bottom) / 2 - box.top;
    if (y < RULER || y > picture.height / ratio) continue;
    context.font = node.classList.contains('tl-heading') ? '600 12px system-ui, sans-serif' : '12px system-ui, sans-serif';
    context.fillStyle = theme.ink;
    context.fillText(fitted(node.querySelector('.tl-name')?.firstChild?.textContent ?? '', gutter - 12), 8, y);
  }
  picture.toBlob((blob) => {
    if (!blob) return;
    const address = URL.createObjectURL(blob);
    const link = document.createElement('a');
    link.href = address;
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  });
}
