// One bar in proportion, with a legend.
import { el, hideTip, legend, showTip } from './elements';
import { percent } from './format';

export function shareBar(parts: [string, number, string][], format: (value: number) => string): HTMLElement {
  const total = parts.reduce((sum, part) => sum + part[1], 0);
  const bar = el('div', { class: 'share', role: 'img', 'aria-label': 'shares of the total' });
  for (const [name, value, colour] of parts) {
    if (value <= 0 || !total) continue;
    const piece = el('div', {}, value > 0.12 * total ? el('span', { text: `${name} ${percent(value, total)}` }) : null);
    piece.style.flexGrow = String(value / total);
    piece.style.background = colour;
    piece.addEventListener('pointermove', (event) =>
      showTip(event.clientX, event.clientY, name, [
        ['value', format(value)],
        ['share', percent(value, total)],
      ]),
    );
    piece.addEventListener('pointerleave', hideTip);
    bar.append(piece);
  }
  return el(
    'div',
    {},
    bar,
    legend(
      parts
        .filter((part) => part[1] > 0)
        .map(([name, value, colour]): [string, string, string] => [
          name,
          colour,
          `${format(value)} (${percent(value, total)})`,
        ]),
    ),
  );
}
