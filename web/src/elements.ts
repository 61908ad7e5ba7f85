// Elements. Every text goes through textContent; nothing is ever parsed as markup.
export type Child = Node | string | null | undefined | false;
type Handler = (event: never) => void;
export type Properties = Record<string, string | number | boolean | Handler | null | undefined>;

const SVG = 'http://www.w3.org/2000/svg';

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties?: Properties | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'text') node.textContent = String(value);
    else if (name === 'class') node.className = String(value);
    else if (typeof value === 'function') {
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value as EventListener);
    } else if (name.startsWith('on'))
      continue; // no handler is made from a text
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children) if (child) node.append(child);
  return node;
}

export function svg(tag: string, attributes?: Record<string, string | number>, text?: string): SVGElement {
  const node = document.createElementNS(SVG, tag) as SVGElement;
  for (const [name, value] of Object.entries(attributes ?? {})) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  return node;
}

export function button(text: string, onclick: () => void, properties: Properties = {}): HTMLButtonElement {
  return el('button', { type: 'button', text, onclick, ...properties });
}

export function swatch(colour: string): HTMLElement {
  const node = el('span', { class: 'swatch', 'aria-hidden': 'true' });
  node.style.background = colour;
  return node;
}

export function legend(entries: [string, string, string?][]): HTMLElement {
  return el(
    'ul',
    { class: 'legend' },
    ...entries.map(([name, colour, value]) =>
      el(
        'li',
        {},
        swatch(colour),
        el('span', { text: name }),
        value ? el('span', { class: 'label', text: value }) : null,
      ),
    ),
  );
}

export function card(title: string, ...children: Child[]): HTMLElement {
  return el('section', { class: 'card' }, title ? el('h3', { text: title }) : null, ...children);
}

export function choice(
  label: string,
  names: string[],
  chosen: number,
  onchange: (index: number) => void,
): HTMLLabelElement {
  const select = el(
    'select',
    { 'aria-label': label },
    ...names.map((name, index) => el('option', { value: index, text: name })),
  );
  select.value = String(chosen);
  select.addEventListener('change', () => onchange(Number(select.value)));
  return el('label', { class: 'choice' }, el('span', { text: label }), select);
}

// a row of buttons of which one is pressed
export function toggles(
  label: string,
  names: string[],
  chosen: number,
  onchange: (index: number) => void,
): HTMLElement {
  const buttons = names.map((name, index) =>
    button(
      name,
      () => {
        buttons.forEach((each, at) => each.setAttribute('aria-pressed', String(at === index)));
        onchange(index);
      },
      { 'aria-pressed': String(index === chosen) },
    ),
  );
  return el(
    'div',
    { class: 'toggles', role: 'group', 'aria-label': label },
    el('span', { class: 'label', text: label }),
    ...buttons,
  );
}

export function note(text: string): HTMLElement {
  return el('p', { class: 'note', text });
}

export type TipLine = [string, string, string?];

function tipBox(): HTMLElement | null {
  return document.getElementById('tip');
}

export function showTip(x: number, y: number, title: string, lines: TipLine[]): void {
  const tip = tipBox();
  if (!tip) return;
  tip.replaceChildren(
    el('b', { text: title }),
    ...lines.map(([name, value, colour]) =>
      el('div', {}, el('span', {}, colour ? swatch(colour) : null, name), el('span', { text: value })),
    ),
  );
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 8))}px`;
}

export function hideTip(): void {
  const tip = tipBox();
  if (tip) tip.hidden = true;
}
