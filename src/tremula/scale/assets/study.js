// The frame: header, picker, and the sections that hold for all series.
const listed = (lines) => el('ul', { class: 'plain' }, ...lines.map((text) => el('li', { text })));
const section = (id, title, ...children) => { const node = card(title, ...children); node.id = id; return node; };

function measuredCard() {
  const measured = D.measured;
  if (!measured) return null;
  const rows = measured.runs.map((run) => {
    const tone = run.instances < 2 || run.equivalent === null ? '' : run.equivalent ? 'good' : 'bad';
    const distance = (value) => (run.instances < 2 || value === null ? '–' : value ? value.toExponential(1) : '0');
    return line([[whole(run.instances), '', true], [time(run.seconds), '', true], [amount(run.rate), '', true],
      [whole(run.steps) + ' × ' + whole(run.samples), '', true], [distance(run.spread), '', true], [distance(run.deviation), '', true],
      [run.tolerance.toExponential(0), '', true], [el('span', { class: tone, text: run.verdict }), run.note]]);
  });
  const columns = [['processes', true], ['time of a step', true], ['samples/s', true], ['steps × samples', true],
    ['weights between them', true], ['gradient from one', true], ['rounding is up to', true], ['verdict']];
  const threads = measured.threads ? [whole(measured.threads) + (measured.threads === 1 ? ' thread' : ' threads') + ' to a process.'] : [];
  return section('measured', 'Replicas on this host: measured', el('p', { class: 'lead', text: measured.about }),
    rows.length ? captioned('Processes that trained together; weights between them, and their summed gradient beside that of one', columns, rows) : null,
    listed([...(measured.program ? ['The program was run with: ' + measured.program] : []), ...threads, ...measured.problems]));
}

function build() {
  const shown = el('div', { id: 'series', 'aria-live': 'off' });
  let mode = 0, target = 0;
  const show = () => {
    hideTip();
    const series = D.series.find((each) => each.mode === modes[mode] && each.target === targets[target]);
    shown.replaceChildren(...(series ? [el('h2', { text: series.title }), el('p', { class: 'lead', text: series.lead }),
      cardsOf(series), chartsOf(series)]
      : [el('p', { class: 'empty', text: 'This study has no such series.' })]));
  };
  const button = (name, text, index, set) => {
    const input = el('input', { type: 'radio', name, value: index, onchange: () => { set(index); show(); } });
    input.checked = index === 0;
    return el('label', {}, input, el('span', { text }));
  };
  const group = (name, title, names, set) => (names.length > 1
    ? el('fieldset', {}, el('legend', { text: title }), ...names.map((text, index) => button(name, text, index, set))) : null);
  show();
  view.append(
    el('p', { class: 'command' }, el('code', { text: D.command })),
    el('div', { class: 'picker', role: 'group', 'aria-label': 'Series that is shown' },
      group('mode', 'Scaling', modes, (index) => { mode = index; }),
      group('target', 'Target', targets, (index) => { target = index; })),
    shown,
    section('sizes', 'All sizes and their layouts', D.series.length
      ? captioned('Modelled figures with their likely ranges. The arrow opens the layouts that were tried.', COLUMNS,
        D.series.flatMap(sizeRows))
      : el('p', { class: 'empty', text: 'This study has no rows.' })),
    section('data-limit', 'Where loading data becomes the limit',
      listed(D.limits.length ? D.limits : ['Nothing was measured or given: loading is taken to keep up.']),
      D.data ? el('p', { class: 'note', text: D.data.about }) : null),
    measuredCard() || section('measured', 'Replicas on this host', listed(['Nothing was measured on this host.'])),
    D.assumptions.length ? section('assumptions', 'Assumptions and error bands', listed(D.assumptions)) : '',
    section('words', 'How to read this', listed([
      'Layout: replicas × IPUs of one replica. Batch: samples per ' + D.per + ', from micro-batch × ' + D.turns + ' × replicas.',
      'Step: one ' + D.step + '.',
      'fits: yes and no hold over the whole likely range of memory, likely and unlikely do not.',
      'Charts that have the focus are read with the arrow keys, Home and End; Escape hides what they say.',
      'This page holds all its data and loads nothing.',
      'Tremula ' + D.tremula + ', chip model ' + D.model + ', made on ' + D.date + '.'])));
}

document.getElementById('title').textContent = D.name;
document.getElementById('subtitle').textContent = 'scaling study: ' + D.headline + '; ' + D.date;
document.getElementById('banner').textContent = D.banner;
document.getElementById('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme === 'dark' ||
    (!document.documentElement.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
});
build();
