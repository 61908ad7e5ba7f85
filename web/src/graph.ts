// The Graph Analyser: the views of profiles.
import { el } from './elements';
import { Frame } from './frame';
import { openSource } from './source';
import { traceView } from './trace_view';
import type { View } from './view';

const VIEWS: View[] = [traceView];

openSource().then(async (source) => {
  const reports = await source.reports();
  if (!reports.length) throw new Error('There is no report to show.');
  new Frame(source, reports, VIEWS).open();
}).catch((error: unknown) => {
  document.getElementById('view')?.append(el('p', { class: 'bad', role: 'alert', text: error instanceof Error ? error.message : String(error) }));
  console.error(error);
});
