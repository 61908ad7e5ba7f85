// Elements and numbers. Every text of the profile goes through textContent; nothing is ever parsed as markup.
const D = JSON.parse(document.getElementById('data').textContent);
const SVG = 'http://www.w3.org/2000/svg';

function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === 'text') node.textContent = value;
    else if (name === 'class') node.className = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

const ipus = (count) => whole(count) + (count === 1 ? ' IPU' : ' IPUs');
const whole = (value) => Math.round(value).toLocaleString('en-US');
const percent = (part, all) => (all ? (100 * part / all).toFixed(1) : '0.0') + ' %';
function bytes(value) {
  for (const [unit, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
    if (Math.abs(value) >= size) return (value / size).toFixed(value >= 100 * size ? 0 : 1) + ' ' + unit;
  }
  return whole(value) + ' B';
}
function time(seconds) {
  for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['µs', 1e-6]]) {
    if (seconds >= size) return Number((seconds / size).toPrecision(3)).toLocaleString('en-US') + ' ' + unit;
  }
  return Number((seconds / 1e-9).toPrecision(3)) + ' ns';
}
const span = (cycles) => time(cycles / D.target.clock_hz);
function compact(value) {
  for (const [unit, size] of [['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]]) {
    if (Math.abs(value) >= size) return Number((value / size).toPrecision(3)) + ' ' + unit;
  }
  return String(Number(value.toPrecision(3)));
}
const figure = (name) => (Object.hasOwn(D.figures, name) ? D.figures[name] : null);
const words = (name) => name.replaceAll('_', ' ');

const USES = { weights: '#3d6fd9', buffers: '#6d96ec', 'optimizer state': '#7a5cc7', 'gradient accumulators': '#a98be8',
  'pipeline stashes': '#2a9d8f', constants: '#66c2a5', 'host I/O buffers': '#9bd3c1', 'vertex code': '#8a6d3b',
  'vertex state': '#b79257', 'exchange code': '#d8b878', 'control code': '#e6d3a3', stacks: '#c9c2b2',
  activations: '#d1495b', temporaries: '#f08a6b', gaps: '#aeb6c2' };
const SPARE = ['#5b8c5a', '#c06c84', '#6c5b7b', '#355c7d', '#99b898'];
const pick = (table, name, index) => (Object.hasOwn(table, name) ? table[name] : SPARE[index % SPARE.length]);

function swatch(color) {
  const node = el('span', { class: 'swatch', 'aria-hidden': 'true' });
  node.style.background = color;
  return node;
}

function legend(entries) {
  return el('ul', { class: 'legend' }, ...entries.map(([name, color, value]) =>
    el('li', {}, swatch(color), el('span', { text: name }), value ? el('span', { class: 'label', text: value }) : null)));
}

// columns: [title, isNumber]; cells: texts or elements
function table(columns, rows) {
  const line = (cells, tag) => el('tr', {}, ...cells.map((cell, index) => {
    const node = el(tag, columns[index][1] ? { class: 'number' } : {});
    node.append(cell instanceof Node ? cell : String(cell));
    return node;
  }));
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, line(columns.map((column) => column[0]), 'th')), el('tbody', {}, ...rows.map((row) => line(row, 'td')))));
}

function choice(label, names, onchange, chosen) {
  const select = el('select', {}, ...names.map((name, index) => el('option', { value: index, text: name })));
  select.value = chosen;
  select.addEventListener('change', () => onchange(Number(select.value)));
  return el('label', { text: label + ' ' }, select);
}

function card(title, ...children) {
  return el('section', { class: 'card wide' }, title ? el('h3', { text: title }) : null, ...children);
}

const tip = document.getElementById('tip');
function showTip(x, y, title, lines) {
  tip.replaceChildren(el('b', { text: title }), ...lines.map(([name, value, color]) =>
    el('div', {}, el('span', {}, color ? swatch(color) : '', ' ' + name), el('span', { text: value }))));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
  tip.style.top = Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + 'px';
}
function hideTip() { tip.hidden = true; }

function sums(differences) {
  let total = 0;
  return differences.map((difference) => (total += difference));
}

function whyBlock(why) {
  const line = (key, value) => (value ? el('p', {}, el('span', { class: 'key', text: key }), value) : null);
  const figures = why.figures.map(([name, value]) => name + ' ' + compact(value)).join(', ');
  return el('div', { class: 'why' }, line('', why.plan), line('= ', why.formula), line('with ', figures),
    line('source: ', why.source),
    ...why.rejected.map(([plan, cycles, reason]) => line('not taken: ', plan + ': ' + whole(cycles) + ' cycles, ' + reason)),
    ...why.parts.map(whyBlock));
}
