// Time: by module, by phase, in the pipeline, beyond the chip.
function moduleTree() {
  const nodes = D.modules.map(([name, parent, forward, backward, rest, ops], id) =>
    ({ id, name: name || 'all ops and the host', parent, forward, backward, rest, ops, cycles: forward + backward + rest, children: [] }));
  for (const node of nodes) if (node.parent >= 0) nodes[node.parent].children.push(node);
  return nodes;
}

const HUES = ['#7aa6ff', '#f2a65a', '#7fc8a9', '#e58fb1', '#b7a3e3', '#d9c36a', '#76c5d6', '#e08e79'];

function modulesView() {
  const nodes = moduleTree();
  if (!nodes.length) return el('p', { class: 'lead', text: 'This profile has no ops.' });
  const box = el('div', { class: 'chart' });
  let top = nodes[0];
  const path = (node) => (node.parent > 0 ? path(nodes[node.parent]) + '.' : '') + node.name;
  const back = el('button', { type: 'button', text: 'Back to all', onclick: () => zoom(nodes[0]) });
  const draw = () => {
    const width = Math.max(320, box.clientWidth || 900), high = 26;
    let depth = 0;
    const rects = [];
    const place = (node, level, x, w) => {
      if (w < 1.2) return;
      depth = Math.max(depth, level);
      rects.push([node, level, x, w]);
      for (const child of node.children) {
        const part = node.cycles ? w * child.cycles / node.cycles : 0;
        place(child, level + 1, x, part);
        x += part;
      }
    };
    place(top, 0, 0, width);
    const root = svg('svg', { viewBox: `0 0 ${width} ${(depth + 1) * high}`, height: (depth + 1) * high, role: 'img',
      'aria-label': 'Cycles by module; the tree below has the same figures' });
    for (const [node, level, x, w] of rects) {
      const rect = svg('rect', { x, y: level * high, width: w, height: high - 1, fill: node.id ? HUES[node.id % HUES.length] : '#c3cad6',
        class: 'box pick', rx: 2 });
      rect.addEventListener('pointermove', (event) => showTip(event.clientX, event.clientY, node.id ? path(node) : node.name, [
        ['cycles of work', whole(node.cycles)], ['of all', percent(node.cycles, nodes[0].cycles)],
        ['forward', whole(node.forward)], ['backward', whole(node.backward)], ['update, host and rest', whole(node.rest)],
        ['ops', whole(node.ops)]]));
      rect.addEventListener('pointerleave', hideTip);
      rect.addEventListener('click', () => zoom(node));
      root.append(rect);
      const letters = Math.floor((w - 8) / 6.4);
      if (letters > 2) root.append(svg('text', { x: x + 5, y: level * high + 17, class: 'inside' },
        node.name.length > letters ? node.name.slice(0, letters - 1) + '…' : node.name));
    }
    box.replaceChildren(root);
  };
  const zoom = (node) => { top = node; back.disabled = node === nodes[0]; hideTip(); draw(); };
  back.disabled = true;
  onceSized(box, draw);
  return el('div', {},
    card('Cycles of work by module, and of the host', el('div', { class: 'controls' }, back, el('span', { class: 'label', text: 'click a box to enlarge it' })), box),
    card('The same as a tree', el('ul', { class: 'tree', role: 'tree' }, moduleRow(nodes[0], nodes[0].cycles, 1)),
      legend([['forward', '#4ea8de'], ['backward', '#d1495b'], ['update, host and rest', '#e9c46a']])));
}

function treeRow(name, cycles, share, right, parts, kids, open) {
  const list = kids.length ? el('ul', { class: 'tree', role: 'group' }) : null;
  let filled = false;
  const toggle = kids.length ? el('button', { type: 'button', 'aria-label': 'show or hide what is inside ' + name }) : el('span', {});
  const set = (opened) => {
    if (!list) return;
    if (opened && !filled) { list.append(...kids.slice(0, 200).map((kid) => kid())); filled = true; }
    list.hidden = !opened;
    toggle.textContent = opened ? '▾' : '▸';
    toggle.setAttribute('aria-expanded', String(opened));
  };
  if (list) { toggle.addEventListener('click', () => set(list.hidden)); set(open > 0); }
  const bar = svg('svg', { viewBox: '0 0 100 10', height: 10, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  let x = 0;
  for (const [part, color] of parts) {
    bar.append(svg('rect', { x, y: 0, width: Math.max(0, 100 * part), height: 10, fill: color }));
    x += 100 * part;
  }
  return el('li', { role: 'treeitem' }, el('div', { class: 'row' }, toggle, el('span', { text: name }), bar,
    el('span', { class: 'num', text: share }), el('span', { class: 'num label', text: right })), list);
}

function moduleRow(node, all, open) {
  return treeRow(node.name, node.cycles, percent(node.cycles, all), compact(node.cycles) + ' cycles',
    all ? [[node.forward / all, '#4ea8de'], [node.backward / all, '#d1495b'], [node.rest / all, '#e9c46a']] : [],
    [...node.children].sort((a, b) => b.cycles - a.cycles).map((child) => () => moduleRow(child, all, open - 1)), open);
}

function executionView() {
  const phases = D.phases.map(([name, compute, exchange, sync, ops]) => {
    const all = compute + exchange + sync;
    return [name, whole(ops), whole(all), percent(compute, all), percent(exchange, all), percent(sync, all)];
  });
  const transfers = D.transfers.map(([name, kind, cycles, size, why]) => [name, kind, whole(cycles), span(cycles), bytes(size),
    el('details', {}, el('summary', { text: 'why' }), whyBlock(why))]);
  const kids = D.program.map(() => []);
  D.program.forEach(([parent], id) => { if (parent >= 0) kids[parent].push(id); });
  const all = D.program.length ? D.program[0][4] : 0;
  const row = (id, open) => {
    const [, kind, name, repeats, cycles, count] = D.program[id];
    const hidden = count > kids[id].length ? ' (' + whole(count) + ' inside, the largest shown)' : '';
    return treeRow(kind + ': ' + name + hidden, cycles, repeats > 1 ? '× ' + whole(repeats) : '', compact(cycles) + ' cycles',
      [[all ? Math.min(1, cycles / all) : 0, '#4ea8de']], kids[id].map((kid) => () => row(kid, open - 1)), open);
  };
  return el('div', {},
    D.breakdown.length ? card('Where the time of a step goes', shareBar(D.breakdown.map(([name, cycles], index) =>
      [words(name), cycles, pick(D.part_colours, name, index)]), (cycles) => span(cycles))) : null,
    card('Work of ops by phase, all IPUs', table([['phase'], ['ops', true], ['cycles per step', true], ['compute', true],
      ['exchange', true], ['sync', true]], phases)),
    transfers.length ? card('Beyond the chip', table([['what'], ['kind'], ['cycles per step', true], ['time', true], ['bytes', true],
      ['reason']], transfers)) : null,
    D.program.length ? card('Program tree', el('p', { class: 'note', text: 'Cycles are work per run of the parent, added up over IPUs.' }),
      el('ul', { class: 'tree', role: 'tree' }, row(0, 2))) : null);
}

function pipelineView() {
  if (!D.turns.length) {
    return el('p', { class: 'lead', text: 'This program is not a pipeline: its IPUs do not work on several micro-batches at once.' });
  }
  const ipus = [...new Set(D.stages.map((stage) => stage[1]))].sort((a, b) => a - b);
  const box = el('div', { class: 'chart' });
  const end = D.turns.at(-1)[0] + D.turns.at(-1)[1];
  const backward = new Set(D.stages.filter((stage) => stage[5] > stage[3]).map((stage) => stage[0]));
  onceSized(box, () => {
    const width = Math.max(480, box.clientWidth || 900), left = 56, high = 34;
    const height = ipus.length * high + 26;
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, height, role: 'img', 'aria-label': 'First turns of the pipeline' });
    const sx = (cycles) => left + (width - left - 6) * cycles / end;
    ipus.forEach((ipu, index) => root.append(svg('text', { x: 0, y: index * high + 21 }, 'IPU ' + ipu)));
    D.turns.forEach(([start, cycles, work], number) => {
      root.append(svg('line', { x1: sx(start), x2: sx(start), y1: 0, y2: ipus.length * high, class: 'grid' }));
      for (const [ipu, stage, batch, offset, spent] of work) {
        const x = sx(start + offset), w = Math.max(.8, sx(start + offset + spent) - x), y = ipus.indexOf(ipu) * high + 3;
        const rect = svg('rect', { x, y, width: w, height: high - 6, rx: 2, class: 'box',
          fill: backward.has(stage) ? '#e58fa0' : '#7ab8e6' });
        rect.addEventListener('pointermove', (event) => showTip(event.clientX, event.clientY, 'stage ' + stage + ' on IPU ' + ipu,
          [['turn', whole(number)], ['micro-batch', whole(batch)], ['cycles', whole(spent)], ['time', span(spent)]]));
        rect.addEventListener('pointerleave', hideTip);
        root.append(rect);
        if (w > 26) root.append(svg('text', { x: x + 4, y: y + 18, class: 'inside' }, batch));
      }
    });
    for (let k = 0; k <= 4; k++) {
      root.append(svg('text', { x: sx(end * k / 4), y: height - 4, 'text-anchor': k === 4 ? 'end' : k ? 'middle' : 'start' },
        span(end * k / 4)));
    }
    box.replaceChildren(root);
  });
  const rows = D.pipeline.map(([phase, ipu, stage, turns, active, elapsed, busy]) => [phase, whole(ipu), whole(stage), whole(turns),
    whole(active), whole(elapsed), percent(busy, elapsed)]);
  return el('div', {},
    card('The first ' + D.turns.length + ' turns', box,
      legend([['mostly forward', '#7ab8e6'], ['mostly backward', '#e58fa0']]),
      el('p', { class: 'note', text: 'Numbers in boxes are micro-batches. A turn lasts as long as its busiest IPU, then copies. ' +
        'Drawn from the schedule’s rule, not recorded.' })),
    card('Stages', table([['stage', true], ['IPU', true], ['does'], ['forward', true], ['recomputed', true], ['backward', true],
      ['copied', true]], D.stages.map(([stage, ipu, does, forward, again, back, copied]) =>
      [whole(stage), whole(ipu), does.replaceAll(',', ', '), span(forward), span(again), span(back), bytes(copied)]))),
    card('Filling, full, draining', table([['phase'], ['IPU', true], ['stage', true], ['turns', true], ['with work', true],
      ['cycles', true], ['busy', true]], rows)));
}
