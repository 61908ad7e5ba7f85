// The Graph Analyser: the views of profiles.
import { el } from './elements';
import { Frame } from './frame';
import { openSource } from './source';
import { insightsView } from './insights_view';
import { livenessView } from './liveness_view';
import { memoryView } from './memory_view';
import { operationsView } from './operations_view';
import { pipelineView } from './pipeline_view';
import { programView } from './program_view';
import { summaryView } from './summary_view';
import { traceView } from './trace_view';
import type { View } from './view';

const VIEWS: View[] = [
  summaryView,
  insightsView,
  memoryView,
  livenessView,
  programView,
  operationsView,
  traceView,
  pipelineView,
];

openSource()
  .then(async (source) => {
    const every = await source.reports();
    const reports = every.filter((report) => report.kind === 'profile');
    if (!reports.length) throw new Error('There is no report to show.');
    new Frame(source, reports, VIEWS).open();
    if (source.served && every.length > reports.length) {
      document.getElementById('actions')?.prepend(el('a', { class: 'link', href: '/system', text: 'Host traces' }));
    }
  })
  .catch((error: unknown) => {
    document
      .getElementById('view')
      ?.append(el('p', { class: 'bad', role: 'alert', text: error instanceof Error ? error.message : String(error) }));
    console.error(error);
  });
