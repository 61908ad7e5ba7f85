// Execution Trace: what each IPU does when.
import { el } from './elements';
import type { View } from './view';

export const traceView: View = {
  id: 'trace',
  title: 'Execution Trace',
  lead: 'What each IPU does when.',
  key: 't',
  render(host) {
    host.append(el('p', { class: 'note', text: 'There is nothing to show yet.' }));
  },
};
