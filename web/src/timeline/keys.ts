// Keys of a timeline.

export interface KeyActions {
  zoom(factor: number): void;
  /** by a share of the width; more than 0 shows later times */
  pan(share: number): void;
  scroll(pixels: number): void;
  all(): void;
  zoomToPicked(): void;
  selecting(): void;
  find(): void;
  next(by: number): void;
  pin(): void;
  escape(): void;
}

/** True if the key was one of the timeline's. */
export function pressed(event: KeyboardEvent, actions: KeyActions): boolean {
  const step = event.shiftKey ? 0.5 : 0.15;
  switch (event.key) {
    case 'w': case 'W': case '+': case '=': actions.zoom(1 / 1.5); break;
    case 's': case 'S': case '-': case '_': actions.zoom(1.5); break;
    case 'a': case 'A': case 'ArrowLeft': actions.pan(-step); break;
    case 'd': case 'D': case 'ArrowRight': actions.pan(step); break;
    case 'ArrowUp': actions.scroll(-60); break;
    case 'ArrowDown': actions.scroll(60); break;
    case '0': case 'Home': actions.all(); break;
    case 'z': actions.zoomToPicked(); break;
    case 'm': actions.selecting(); break;
    case 'f': actions.find(); break;
    case 'n': actions.next(1); break;
    case 'N': actions.next(-1); break;
    case 'p': actions.pin(); break;
    case 'Escape': actions.escape(); break;
    default: return false;
  }
  return true;
}
