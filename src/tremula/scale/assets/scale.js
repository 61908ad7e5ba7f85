// The page: which series is shown, its figures and charts, all sizes with their layouts, and what stands beside.
const view = document.getElementById('view');
const has = (row, name) => (Object.hasOwn(row.figures, name) ? row.figures[name] : null);
const likely = (figure, format) => (figure[1] === figure[2] ? '' : 'likely ' + format(figure[1]) + ' – ' + format(figure[2]));
const modes = [...new Set(D.series.map((series) => series.mode))], targets = [...new Set(D.series.map((series) => series.target))];
const colour = (target) => targets.indexOf(target) % 8;

for (const series of D.series) {
  for (const row of series.rows) {
    row.total = Object.values(row.parts).reduce((sum, seconds) => sum + seconds, 0);
    const step = has(row, 'step_seconds'), rate = has(row, 'throughput'), fed = has(row, 'fed_throughput');
    // where data is waited for, it is the data that sets the range
    [row.totalLow, row.totalHigh] = step && rate && fed && fed[1] > 0 ? [step[0] * rate[0] / fed[2], step[0] * rate[0] / fed[1]]
      : step ? [step[1], step[2]] : [row.total, row.total];
    row.layout = whole(row.replicas) + ' × ' + whole(row.stages);
  }
}

// a table with a caption; columns: [title, isNumber]; bodies: arrays of tr
function captioned(caption, columns, rows) {
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption }, el('table', {}, el('caption',
    { text: caption }),
    el('thead', {}, el('tr', {}, ...columns.map(([title, number]) => el('th', { scope: 'col', class: number ? 'number' : '',
      text: title })))),
    el('tbody', {}, ...rows)));
}
const cell = (value, below, number) => el('td', { class: number ? 'number' : '' }, value instanceof Node ? value : String(value),
  below ? el('small', { text: below }) : null);
const line = (cells) => el('tr', {}, ...cells.map((each) => cell(...each)));
const verdict = (fits) => el('span', { class: 'fit ' + (['yes', 'likely', 'unlikely', 'no'].includes(fits) ? fits : ''),
  text: fits || '–' });

function figureCell(row, name, format) {
  const figure = has(row, name);
  return figure ? cell(format(figure[0]), figure[1] === figure[2] ? '' : format(figure[1]) + ' – ' + format(figure[2]),
    true) : cell('–', '', true);
}

function big(label, value, note, tone) {
  return el('div', { class: 'card' }, el('div', { class: 'label', text: label }),
    el('div', { class: 'figure' + (tone ? ' ' + tone : ''), text: value }), el('p', { class: 'note', text: note || ' ' }));
}

function cardsOf(series) {
  const row = series.rows.findLast((each) => each.runs);
  if (!row) {
    const known = series.rows.some((each) => has(each, 'tile_share'));
    return el('div', { class: 'cards' }, big(known ? 'fits' : 'figures', known ? 'at no size' : 'for no size',
      'see the table below', 'bad'));
  }
  const rate = has(row, 'throughput'), gain = has(row, 'efficiency'), step = has(row, 'step_seconds'), tile = has(row, 'tile_share');
  const used = has(row, 'energy_per_sample'), memory = has(row, 'ipu_bytes'), fed = has(row, 'fed_throughput');
  const short = fed && rate && fed[0] < rate[0];
  return el('div', { class: 'cards' },
    rate ? big('throughput of ' + ipus(row.ipus), amount(rate[0]) + '/s',
      likely(rate, amount) + (short ? '; the host’s data allows ' + amount(fed[0]) : '')) : null,
    gain ? big('efficiency of ' + ipus(row.ipus), share(gain[0]), likely(gain, share) + '; ' + gain[3]) : null,
    step ? big('time of a step', time(step[0]), likely(step, time) + (short ? '; without waiting for data' : '')) : null,
    big('best layout', row.layout, 'replicas × IPUs of one; batch ' + row.batch[0]),
    tile ? big('fullest tile', share(tile[0]), likely(tile, share) + (memory ? '; ' + bytes(memory[0]) + ' per IPU' : ''),
      tile[0] > 1 ? 'bad' : '') : null,
    used ? big('energy of a sample', energy(used[0]), likely(used, energy)) : null,
    D.data ? big('data becomes the limit', series.limit === null ? 'at no size' : 'at ' + ipus(series.limit),
      'a host has ' + amount(D.data.rate) + ' samples/s ready') : null);
}

function key(kind, text, at) {
  const root = svg('svg', { viewBox: '0 0 24 12', class: 'key s' + at, 'aria-hidden': 'true' });
  if (kind === 'band') root.append(svg('rect', { x: 0, y: 1, width: 24, height: 10, class: 'band' }));
  else if (kind === 'hollow') root.append(svg('circle', { cx: 12, cy: 6, r: 4.4, class: 'hollow' }));
  else root.append(svg('line', { x1: 0, x2: 24, y1: 6, y2: 6, class: kind }));
  return el('li', {}, root, el('span', { text }));
}

function chartsOf(series) {
  const beside = D.series.filter((each) => each.mode === series.mode);
  const lines = beside.map((each) => ({ name: each.target, at: colour(each.target), main: each === series, rows: each.rows }));
  const at = colour(series.target);
  const keys = (figure, more) => el('ul', { class: 'legend' }, ...lines.filter((each) => each.rows.some((row) => has(row, figure)))
    .sort((a, b) => b.main - a.main).map((each) => key('line', each.name + (each.main ? '' : ' (for comparison)'), each.at)),
  key('band', 'likely range', at), ...more,
  series.rows.some((row) => !row.runs && has(row, figure)) ? key('hollow', 'does not fit', at) : null);
  const hosts = [...new Set(series.rows.map((row) => row.hosts))].sort((a, b) => a - b);
  const supplies = D.data ? hosts.map((count) => ({ rate: D.data.rate * count,
    sizes: series.rows.filter((row) => row.hosts === count).map((row) => row.ipus),
    name: whole(count) + (count === 1 ? ' host: data for ' : ' hosts: data for ') + amount(D.data.rate * count) + '/s' })) : [];
  const chart = (title, note, figure, format, more, ...legends) => (series.rows.some((row) => has(row, figure))
    ? card(title, lineChart(lines, { figure, format, label: title + ' over IPUs, ' + series.title + '.', ...more }),
      keys(figure, legends), el('p', { class: 'note', text: note })) : null);
  const holder = el('div', {});
  const waits = series.rows.some((row) => row.parts.data > 0);
  const ways = waits ? [['time, if data keep up', true], ['shares, if data keep up', true, true], ['time with waiting for data', false]]
    : [['time', true], ['shares of the step', true, true]];
  const bars = (how) => holder.replaceChildren(partBars(ways[how][1] ? series.rows.map(fedInTime) : series.rows,
    { shares: Boolean(ways[how][2]), label: 'Time of a step by part, ' + series.title + '.' }));
  bars(0);
  const used = D.parts.filter(([name]) => series.rows.some((row) => row.parts[name] > 0));
  const timeCard = card('Where the time of a step goes',
    el('div', { class: 'controls' }, choice('show', ways.map((way) => way[0]), bars, 0)), holder,
    legend(used.map(([, title, color]) => [title, color])),
    el('p', { class: 'note', text: 'Bars with ends: the likely range of the whole step. Waiting for data follows from what a host loads.' }));
  timeCard.classList.add('full');
  timeCard.hidden = !used.length;
  return el('div', { class: 'charts' },
    chart('Throughput', 'Samples per second, both axes logarithmic. Dashed: as if every IPU added as much as the first that fit.',
      'throughput', amount, { log: true, ideal: true, supplies, axis: 'samples/s' },
      key('ideal', 'ideal', at), D.data ? key('supply', 'what hosts can load', at) : null),
    chart('Efficiency', 'Samples per second and IPU, over those of the size that has most of them. Waiting for data is not in it.',
      'efficiency', share, { limit: 1, limitName: '', axis: 'of the size with most samples/s per IPU' }),
    timeCard,
    chart('Memory of the fullest tile', 'A layout fits if its fullest tile does.', 'tile_share', share,
      { limit: 1, limitName: 'all that a tile has', axis: 'of a tile’s memory' }),
    chart('Energy of a sample', 'The power of the machines over the modelled time; hosts are not counted.', 'energy_per_sample',
      energy, { axis: 'per sample' }));
}

function layoutsOf(row) {
  const parts = [];
  if (!row.layouts.length) parts.push(el('p', { class: 'note', text: 'No layout was tried.' }));
  else {
    const columns = [['replicas × IPUs'], [D.turns, true], ['fits'], ['fullest tile', true], ['samples/s', true], ['stages begin at']];
    parts.push(captioned('Layouts tried for ' + ipus(row.ipus), columns, row.layouts.map((each) => {
      const node = line([
        [whole(each.replicas) + ' × ' + whole(each.stages), each.chosen ? 'taken' : ''],
        [each.turns ? whole(each.turns) : '–', '', true],
        [verdict(each.fits)],
        [each.tile === null ? '–' : share(each.tile), '', true],
        [each.rate === null ? '–' : amount(each.rate), '', true],
        [each.problem || each.begins.join(', ') || (each.own ? 'where the program has them' : '–')]]);
      if (each.chosen) node.classList.add('chosen');
      return node;
    })));
  }
  for (const note of row.notes) parts.push(el('p', { class: 'note', text: note }));
  return el('div', {}, ...parts);
}

const COLUMNS = [[''], ['IPUs', true], ['layout'], ['batch', true], ['fits'], ['time of a step', true], ['samples/s', true],
  ...(D.data ? [['with data', true]] : []), ['efficiency', true], ['fullest tile', true], ['memory per IPU', true],
  ['energy/sample', true], ['where the time goes']];

// the parts of a step as one thin bar; its words are read out, and shown on hovering
function minibar(given) {
  const row = fedInTime(given);
  const shares = D.parts.map(([part, title, color]) => [title, row.parts[part] / row.total, color]).filter((each) => each[1] >= .005);
  const words = shares.map(([title, value]) => title + ' ' + share(value));
  return el('span', { class: 'minibar' + (row.runs ? '' : ' nofit'), role: 'img', 'aria-label': words.join(', '), title: words.join('\n') },
    ...shares.map(([, value, color]) => {
      const piece = el('span');
      piece.style.background = color;
      piece.style.flex = String(value);
      return piece;
    }));
}

function sizeRows(series, number) {
  return [el('tr', { class: 'group' }, el('th', { scope: 'colgroup', colspan: COLUMNS.length, text: series.title })),
    ...series.rows.flatMap((row, index) => {
      const id = 'layouts-' + number + '-' + index;
      const more = el('tr', { class: 'detail', id, hidden: '' }, el('td', { colspan: COLUMNS.length }));
      const button = el('button', { type: 'button', class: 'more', text: '▸', 'aria-expanded': 'false', 'aria-controls': id,
        'aria-label': 'layouts tried for ' + ipus(row.ipus) + ', ' + series.title, onclick: () => {
          if (!more.firstChild.childNodes.length) more.firstChild.append(layoutsOf(row));
          more.hidden = !more.hidden;
          button.textContent = more.hidden ? '▸' : '▾';
          button.setAttribute('aria-expanded', String(!more.hidden));
        } });
      const head = [cell(button), cell(whole(row.ipus), '', true)];
      if (!Object.keys(row.figures).length) {
        return [el('tr', {}, ...head,
          el('td', { class: 'bad', colspan: COLUMNS.length - head.length, text: 'no figures: ' + row.problem })), more];
      }
      return [el('tr', {}, ...head, cell(row.layout, row.system), cell(row.batch[0], row.batch[1], true), cell(verdict(row.fits)),
        figureCell(row, 'step_seconds', time), figureCell(row, 'throughput', amount),
        ...(D.data ? [figureCell(row, 'fed_throughput', amount)] : []),
        figureCell(row, 'efficiency', share), figureCell(row, 'tile_share', share), figureCell(row, 'ipu_bytes', bytes),
        figureCell(row, 'energy_per_sample', energy), cell(row.total > 0 ? minibar(row) : '–')), more];
    })];
}
