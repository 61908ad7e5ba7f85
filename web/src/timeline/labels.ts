// Names of the rows that are on screen, with buttons to fold and to pin them.
import type { Placed } from './layout';
import { plain } from './text';

interface Label {
  node: HTMLElement;
  fold: HTMLButtonElement;
  pin: HTMLButtonElement;
}

function small(name: string, click: () => void): HTMLButtonElement {
  const node = document.createElement('button');
  node.type = 'button';
  node.className = name;
  node.addEventListener('click', click);
  return node;
}

export class Labels {
  readonly node = document.createElement('div');
  private readonly pinned = document.createElement('div');
  private readonly scrolled = document.createElement('div');
  private readonly known = new Map<string, Label>();

  constructor(
    private readonly fold: (id: string) => void,
    private readonly pin: (id: string) => void,
  ) {
    this.node.className = 'tl-labels';
    this.pinned.className = 'tl-labels-pinned';
    this.scrolled.className = 'tl-labels-rows';
    this.node.append(this.pinned, this.scrolled);
  }

  private made(placed: Placed): Label {
    const { row } = placed;
    const node = document.createElement('div');
    node.dataset.row = row.id;
    const text = document.createElement('span');
    text.className = 'tl-name';
    text.textContent = plain(row.name);
    node.title = plain(row.name) + (row.note ? '\n' + plain(row.note) : '');
    const fold = small('tl-fold', () => this.fold(row.id));
    const pin = small('tl-pin', () => this.pin(row.id));
    if (row.foldable) node.append(fold);
    node.append(text);
    if (row.note && (row.heading || placed.height >= 36)) {
      const note = document.createElement('span');
      note.className = 'tl-note';
      note.textContent = plain(row.note);
      text.append(note);
    }
    if (!row.heading) node.append(pin);
    return { node, fold, pin };
  }

  /** Forget the rows: others have come. */
  clear(): void {
    this.known.clear();
    this.pinned.replaceChildren();
    this.scrolled.replaceChildren();
  }

  draw(ruler: number, pinned: Placed[], pinnedHeight: number, scrolled: Placed[], scroll: number): void {
    this.pinned.style.top = `${ruler}px`;
    this.pinned.style.height = `${pinnedHeight}px`;
    this.scrolled.style.top = `${ruler + pinnedHeight}px`;
    const seen = new Set<string>();
    for (const [list, into, by] of [[pinned, this.pinned, 0], [scrolled, this.scrolled, scroll]] as const) {
      for (const placed of list) {
        const { row } = placed;
        seen.add(row.id);
        let label = this.known.get(row.id);
        if (!label) {
          label = this.made(placed);
          this.known.set(row.id, label);
        }
        const { node, fold, pin } = label;
        if (node.parentNode !== into) into.append(node);
        node.className = 'tl-label' + (row.heading ? ' tl-heading' : '') + (placed.pinned ? ' tl-pinned' : '') + (placed.height < 20 ? ' tl-thin' : '');
        node.style.top = `${placed.top - by}px`;
        node.style.height = `${placed.height}px`;
        node.style.paddingLeft = `${4 + 10 * Math.max(0, placed.level - 1)}px`;
        fold.textContent = placed.folded ? '▸' : '▾';
        fold.setAttribute('aria-expanded', String(!placed.folded));
        fold.setAttribute('aria-label', `${placed.folded ? 'unfold' : 'fold'} ${plain(row.name)}`);
        pin.textContent = placed.pinned ? '★' : '☆';
        pin.setAttribute('aria-pressed', String(placed.pinned));
        pin.setAttribute('aria-label', `${placed.pinned ? 'unpin' : 'pin to the top'}: ${plain(row.name)}`);
        pin.title = placed.pinned ? 'Unpin' : 'Pin to the top';
      }
    }
    for (const [id, label] of this.known) {
      if (seen.has(id)) continue;
      label.node.remove();
      this.known.delete(id);
    }
  }
}
