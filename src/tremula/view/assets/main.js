// The frame: summary, help, tabs, theme.
function band(entry, format) {
  return entry && entry[4] ? 'likely ' + format(entry[2]) + ' to ' + format(entry[3]) : '';
}

function big(label, value, note, tone) {
  return el('div', { class: 'card' }, el('div', { class: 'label', text: label }),
    el('div', { class: 'figure' + (tone ? ' ' + tone : ''), text: value }), el('p', { class: 'note', text: note || ' ' }));
}

function whyCard() {
  const pieces = D.advice.map(([title, effect, cause, cost, code]) => el('li', {}, el('b', { text: title }), el('p', { text: effect }),
    cause ? el('p', { class: 'note', text: 'From ' + cause + '.' }) : null, cost ? el('p', { class: 'note', text: 'Cost: ' + cost }) : null,
    code.length ? el('pre', { text: code.join('\n') }) : null));
  return card('Why, and what to do', ...D.verdict.map((text) => el('p', { text })),
    pieces.length ? el('ol', { class: 'advice' }, ...pieces)
      : el('p', { class: 'note', text: 'This profile holds no advice. `tremula estimate run PROGRAM` gives some.' }));
}

function summaryView() {
  const rate = figure('throughput'), step = figure('seconds_per_step'), tile = figure('max_tile_bytes');
  const cards = el('div', { class: 'cards' });
  if (rate) cards.append(big('modelled throughput', compact(rate[0]) + ' samples/s', band(rate, (v) => compact(v))));
  if (step) cards.append(big('modelled time of a step', time(step[0]), band(step, time)));
  if (tile) {
    const room = D.target.tile_memory_bytes, [fits, verdict, probability] = D.fits, over = !fits;
    const sure = probability === null ? '' : ' (' + percent(probability, 1) + ')';
    cards.append(big('fullest tile' + (over ? ': out of memory' : '') + ', fits: ' + verdict + sure, percent(tile[0], room), whole(tile[0]) + ' of ' + whole(room) +
      ' bytes; ' + band(tile, bytes), over ? 'bad' : 'good'));
  }
  const balance = figure('tile_balance');
  if (balance) cards.append(big('tile balance', percent(balance[0], 1), 'mean tile over slowest, in compute'));
  const t = D.target;
  const target = [['chip', t.title], ['system', t.system + ', ' + ipus(t.system_ipus)],
    ['IPUs used', whole(t.replicas * t.ipus_per_replica) + ' (' + whole(t.replicas) + (t.replicas === 1 ? ' replica of ' : ' replicas of ') + whole(t.ipus_per_replica) + ')'],
    ['tiles per IPU', whole(t.tiles_per_ipu)], ['memory per tile', bytes(t.tile_memory_bytes)],
    ['clock', (t.clock_hz / 1e6).toFixed(0) + ' MHz']];
  const figures = Object.entries(D.figures).map(([name, [value, unit, low, high, from]]) => [words(name),
    (Math.abs(value) >= 1000 ? whole(value) : String(Number(value.toPrecision(4)))) + ' ' + unit,
    from ? compact(low) + ' – ' + compact(high) : '']);
  return el('div', {}, cards, whyCard(),
    D.breakdown.length ? card('Where the time of a step goes', shareBar(D.breakdown.map(([name, cycles], index) =>
      [words(name), cycles, pick(D.part_colours, name, index)]), span)) : null,
    el('div', { class: 'columns' },
      card('Target', table([['what'], ['value', true]], target)),
      card('Graph of a replica', table([['what'], ['count', true]], D.graph.map(([name, value]) => [name, whole(value)])))),
    el('div', { class: 'columns' },
      card('Figures', table([['figure'], ['modelled', true], ['likely range', true]], figures)),
      card('Options', table([['section'], ['name'], ['value']], D.options))),
    D.notes.length ? card('Left out', ...D.notes.map((note) => el('p', { class: 'note', text: note }))) : null);
}

function aboutView() {
  const lines = [
    ['What this is', 'What a model of the chip says about one step of a program. No chip was involved: every figure is modelled. ' +
      'Ranges called likely come from published measurements that the model was compared with.'],
    ['Step', 'One weight update when training, one micro-batch for inference. Figures are of one replica unless they say otherwise.'],
    ['Memory by tile', 'Bytes on every tile at the fullest moment of an IPU, stacked by use. The fullest tile decides whether a program ' +
      'fits: the dashed line is what a tile has.'],
    ['Liveness', 'Program steps are ops in the order in which the device runs them. Always live is there for the whole run; tensors ' +
      'and temporaries come and go.'],
    ['Time by module', 'Work of all ops, recomputed ones included, added up over IPUs, and what the host takes of a step; where IPUs ' +
      'work side by side it is more than the time of a step.'],
    ['Operations', 'Click a row, or press Enter on it, for the plan, what was not taken, the formula and its source.'],
    ['Pipeline', 'Drawn from the rule of the schedule. Filling and draining leave stages idle.'],
    ['Keys', 'Up and down change between views. Arrow keys move the cursor of a chart that has the focus.'],
    ['This page', 'It holds all its data and loads nothing. File: ' + D.file + ', schema version ' + D.version + ', written by ' +
      (D.meta.written_by || 'unknown') + ' at ' + (D.meta.written_at || 'unknown') + '.']];
  return el('section', { class: 'card' }, ...lines.flatMap(([title, text]) => [el('h3', { text: title }), el('p', { text })]));
}

const VIEWS = [
  ['summary', 'Summary', 'The program in a few figures.', summaryView],
  ['memory', 'Memory by tile', 'What lies on each tile, by use.', memoryView],
  ['liveness', 'Liveness', 'What is in memory at which point of a step.', livenessView],
  ['modules', 'Time by module', 'Which of your modules the work belongs to.', modulesView],
  ['operations', 'Operations', 'Every op with its plan, its reasons and your line of code.', operationsView],
  ['pipeline', 'Pipeline', 'How micro-batches pass through the stages.', pipelineView],
  ['execution', 'Execution', 'Phases of a step, traffic beyond the chip, the program tree.', executionView],
  ['about', 'How to read this', 'Words and limits.', aboutView]];

const tabs = document.getElementById('tabs'), view = document.getElementById('view');
const buttons = VIEWS.map(([key, title], index) => el('button', { type: 'button', role: 'tab', id: 'tab-' + key, text: title,
  'aria-controls': 'view', onclick: () => open(index) }));
function open(index) {
  const [key, title, lead, make] = VIEWS[index];
  buttons.forEach((button, at) => {
    button.setAttribute('aria-selected', String(at === index));
    button.tabIndex = at === index ? 0 : -1;
  });
  hideTip();
  view.setAttribute('aria-labelledby', 'tab-' + key);
  view.replaceChildren(el('h2', { text: title }), el('p', { class: 'lead', text: lead }), make());
  if (location.hash !== '#' + key) location.hash = key;
}
tabs.append(...buttons);
tabs.addEventListener('keydown', (event) => {
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const at = (buttons.indexOf(document.activeElement) + by + VIEWS.length) % VIEWS.length;
  open(at);
  buttons[at].focus();
});
const wanted = () => Math.max(0, VIEWS.findIndex(([key]) => '#' + key === location.hash));
addEventListener('hashchange', () => { if (buttons[wanted()].getAttribute('aria-selected') !== 'true') open(wanted()); });

document.getElementById('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme === 'dark' ||
    (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
});

const run = D.options.filter(([section]) => section === 'run').map(([, name, value]) => [name, value]);
const named = run.find(([name]) => name === 'model') || run.find(([name]) => name === 'kind') || ['', D.file];
document.getElementById('title').textContent = named[1];
document.getElementById('subtitle').textContent = D.target.title + ', ' + ipus(D.target.replicas * D.target.ipus_per_replica);
const rateBand = figure('throughput'), tileBand = figure('max_tile_bytes');
document.getElementById('banner').textContent = 'Modelled, not measured. Error band of times: ' +
  (rateBand && rateBand[4] ? 'throughput ' + rateBand[4] : 'unknown') + '; of memory: ' + (tileBand && tileBand[4] ? tileBand[4] : 'unknown') + '.';
open(wanted());
