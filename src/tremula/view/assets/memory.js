// Memory by tile, and what is alive when.
const fullestIpu = () => D.ipus.reduce((best, ipu, n) => (ipu.max > D.ipus[best].max ? n : best), 0);

function memoryView() {
  const box = el('div', {});
  if (!D.ipus.length) return el('p', { class: 'lead', text: 'This profile has no memory part.' });
  const drawn = el('div', {});
  const show = (number) => {
    const ipu = D.ipus[number];
    const series = ipu.tiles.map(([category, values], index) => ({
      name: D.categories[category][0], color: pick(USES, D.categories[category][0], index), values: sums(values) }));
    const room = D.target.tile_memory_bytes;
    const group = ipu.tileGroup;
    const total = (values) => values.reduce((sum, value) => sum + value, 0);
    drawn.replaceChildren(
      card('Bytes on each tile of IPU ' + number + ' at its fullest moment',
        stackedArea(series, { height: 340, limit: room, limitName: 'tile memory ' + bytes(room), format: bytes, axis: 'tile',
          mark: Math.floor(ipu.fullest / group), markName: 'fullest: tile ' + ipu.fullest,
          x: (i) => whole(i * group), label: 'Bytes on each tile by use',
          title: (i) => (group > 1 ? 'tiles ' + whole(i * group) + ' to ' + whole((i + 1) * group - 1) : 'tile ' + whole(i)) }),
        legend(series.map((each) => [each.name, each.color])),
        el('p', { class: 'note', text: (ipu.over ? whole(ipu.over) + ' tiles do not have the room. ' : 'Every tile has room. ') +
          'Fullest at ' + ipu.peakOp + ' (' + ipu.peakPhase + '): ' + whole(ipu.max) + ' of ' + whole(room) + ' bytes.' +
          (group > 1 ? ' Each column is the fullest of ' + group + ' tiles.' : '') })),
      el('div', { class: 'columns' },
        card('By use', table([['use'], ['kept'], ['IPU ' + number, true], ['fullest tile', true]], series.map((each, index) => [
          el('span', {}, swatch(each.color), ' ' + each.name), D.categories[ipu.tiles[index][0]][1] ? 'always' : 'at the peak',
          group === 1 ? bytes(total(each.values)) : '-', bytes(each.values[Math.floor(ipu.fullest / group)])]))),
        card('What takes most', table([['module or tensor'], ['use'], ['bytes', true]], ipu.contributors.map(
          ([category, name, size]) => [name, D.categories[category] ? D.categories[category][0] : '', bytes(size)])))));
  };
  box.append(el('div', { class: 'controls' }, choice('IPU', D.ipus.map((_, n) => String(n)), show, fullestIpu())), drawn);
  show(fullestIpu());
  return box;
}

function livenessView() {
  if (!D.ipus.some((ipu) => ipu.live.length)) return el('p', { class: 'lead', text: 'This profile has no liveness.' });
  const drawn = el('div', {});
  const show = (number) => {
    const ipu = D.ipus[number];
    const live = sums(ipu.live), temporary = sums(ipu.temporary);
    const step = ipu.stepGroup, room = D.target.tiles_per_ipu * D.target.tile_memory_bytes;
    const series = [
      { name: 'always live', color: USES.weights, values: live.map(() => ipu.always) },
      { name: 'tensors', color: USES.activations, values: live },
      { name: 'temporaries', color: USES.temporaries, values: temporary }];
    const first = (at) => Math.max(0, Math.floor(at / step));
    drawn.replaceChildren(
      card('Memory of IPU ' + number + ' over the program steps of a step',
        stackedArea(series, { height: 300, limit: room, limitName: 'memory of the IPU ' + bytes(room), format: bytes, axis: 'program step', x: (i) => whole(i * step),
          mark: first(ipu.peakStep), markName: 'fullest: ' + ipu.peakOp, label: 'Live bytes by program step',
          title: (i) => 'program step ' + whole(i * step) + (step > 1 ? ' to ' + whole((i + 1) * step - 1) : '') }),
        legend(series.map((each) => [each.name, each.color])),
        el('p', { class: 'note', text: 'All tiles together; gaps between tensors are not counted. A program may need more than one tile has long before ' +
          'it reaches the line.' +
          (step > 1 ? ' Each column is the largest of ' + step + ' program steps.' : '') })),
      card('Largest tensors that come and go', lifeBars(ipu)));
  };
  show(fullestIpu());
  return el('div', {}, el('div', { class: 'controls' }, choice('IPU', D.ipus.map((_, n) => String(n)), show, fullestIpu())), drawn);
}

function lifeBars(ipu) {
  const rows = ipu.lifetimes.map(([name, module, size, first, last]) => {
    const root = svg('svg', { viewBox: '0 0 300 12', height: 12, preserveAspectRatio: 'none', role: 'img',
      'aria-label': 'alive from program step ' + first + ' to ' + last });
    const alive = first <= ipu.peakStep && ipu.peakStep <= last;
    root.append(svg('rect', { x: 0, y: 5.5, width: 300, height: 1, fill: 'currentColor', opacity: .15 }));
    root.append(svg('rect', { x: 300 * first / Math.max(1, ipu.steps), y: 1,
      width: Math.max(1.5, 300 * (last - first + 1) / Math.max(1, ipu.steps)), height: 10,
      fill: alive ? USES.activations : USES.buffers }));
    return [name, module, bytes(size), whole(first) + ' – ' + whole(last), root];
  });
  return el('div', {}, table([['tensor'], ['module'], ['bytes', true], ['program steps', true], ['life over the step']], rows),
    legend([['alive at the fullest moment', USES.activations], ['not alive then', USES.buffers]]));
}
