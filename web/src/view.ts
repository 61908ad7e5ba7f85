// What a view is, and what it is given.
import type { FrameData, Params, ReportInfo, Source } from './source';
import type { State } from './state';

export interface Context {
  readonly source: Source;
  readonly state: State;
  readonly reports: ReportInfo[];
  readonly report: ReportInfo;
  readonly other: ReportInfo | null; // compared with: `report` is before, `other` is after
  // answers for the report that is shown; and for both, the second null when nothing is compared
  json(what: string, params?: Params): Promise<any>;
  both(what: string, params?: Params): Promise<[any, any | null]>;
  frame(name: string, columns: string[], first?: number, rows?: number): Promise<FrameData>;
  go(view: string, values?: Record<string, string | number>): void; // show another view
  redraw(draw: () => void): void; // called now, and when the size or the theme changes while the view is shown
  onkey(handler: (event: KeyboardEvent) => boolean): void; // keys while the view is shown; true: it was for the view
  onclose(handler: () => void): void; // when another view takes its place
}

export interface View {
  readonly id: string;
  readonly title: string;
  readonly lead: string;
  readonly key: string; // the letter that opens it
  render(host: HTMLElement, context: Context): void | Promise<void>;
}
