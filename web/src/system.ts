// The System Analyser: host traces on one clock.
import { el } from './elements';

document.getElementById('view')?.append(el('p', { class: 'note', text: 'There is nothing to show yet.' }));
