// Wheel, drag, pinch: what the pointers do becomes zoom, pan, scroll, pick or an area.

export interface Actions {
  /** zoom by a factor (under 1 is closer) at a place of the plot */
  zoom(factor: number, x: number): void;
  /** move by pixels: to the right shows earlier times */
  pan(dx: number): void;
  scroll(dy: number): void;
  hover(x: number, y: number, pointer: { clientX: number; clientY: number }): void;
  leave(): void;
  click(x: number, y: number): void;
  open(x: number, y: number): void;
  /** an area from one corner to the other; `done` when it is let go */
  area(x0: number, y0: number, x1: number, y1: number, done: boolean): void;
  /** whether a drag without Shift makes an area */
  selects(): boolean;
}

interface Down {
  x: number;
  y: number;
  startX: number;
  startY: number;
}

const CLICK = 4;

export function listen(plot: HTMLElement, actions: Actions): void {
  const pointers = new Map<number, Down>();
  let mode: 'none' | 'press' | 'pan' | 'area' | 'pinch' = 'none';
  let selecting = false;
  const place = (event: MouseEvent): [number, number] => {
    const box = plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  plot.addEventListener(
    'wheel',
    (event) => {
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      event.preventDefault();
      if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) return actions.pan(-(Math.abs(dx) > Math.abs(dy) ? dx : dy));
      // a pinch on a touchpad comes as a wheel with Ctrl, in small steps
      actions.zoom(Math.exp(Math.max(-240, Math.min(240, dy)) * (event.ctrlKey ? 0.01 : 0.002)), place(event)[0]);
    },
    { passive: false },
  );

  plot.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 && event.button !== 1) return;
    const [x, y] = place(event);
    pointers.set(event.pointerId, { x, y, startX: x, startY: y });
    try {
      plot.setPointerCapture(event.pointerId);
    } catch {
      // a pointer that is already gone
    }
    if (pointers.size === 2) mode = 'pinch';
    else {
      mode = 'press';
      selecting = event.shiftKey || actions.selects();
    }
    actions.leave();
  });

  plot.addEventListener('pointermove', (event) => {
    const [x, y] = place(event);
    const down = pointers.get(event.pointerId);
    if (!down) return actions.hover(x, y, event);
    const [dx, dy] = [x - down.x, y - down.y];
    if (mode === 'pinch') {
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const before = Math.max(10, Math.abs(down.x - other.x));
        const after = Math.max(10, Math.abs(x - other.x));
        actions.zoom(before / after, (x + other.x) / 2);
        actions.pan(dx / 2);
      }
    } else {
      if (mode === 'press' && Math.hypot(x - down.startX, y - down.startY) > CLICK) mode = selecting ? 'area' : 'pan';
      if (mode === 'pan') {
        actions.pan(dx);
        if (event.pointerType === 'mouse') actions.scroll(-dy);
      }
      if (mode === 'area') actions.area(down.startX, down.startY, x, y, false);
    }
    down.x = x;
    down.y = y;
  });

  const up = (event: PointerEvent, kept: boolean) => {
    const down = pointers.get(event.pointerId);
    if (!down) return;
    pointers.delete(event.pointerId);
    if (kept && mode === 'press') actions.click(down.x, down.y);
    if (mode === 'area') actions.area(down.startX, down.startY, down.x, down.y, true);
    if (mode === 'pinch' && pointers.size) return;
    mode = 'none';
  };
  plot.addEventListener('pointerup', (event) => up(event, true));
  plot.addEventListener('pointercancel', (event) => up(event, false));
  plot.addEventListener('pointerleave', () => actions.leave());
  plot.addEventListener('dblclick', (event) => actions.open(...place(event)));
}
