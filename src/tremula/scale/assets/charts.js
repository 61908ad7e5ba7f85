// Charts in SVG: stacked areas with a cursor (mouse or arrow keys), bars, boxes.
// round bytes: 1, 2, 4 ... 512 of a unit
function ticks(most, count) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2((most || 1) / count)));
  const found = [];
  for (let value = 0; value <= most * 1.0001; value += step) found.push(value);
  return found;
}

// series: [{name, color, values}]; settings: {height, limit, limitName, mark, markName, x(index), format, label}
function stackedArea(series, settings) {
  const box = el('div', { class: 'chart', tabindex: '0', role: 'img', 'aria-label': settings.label });
  const count = series.length ? series[0].values.length : 0;
  const totals = new Float64Array(count);
  const layers = series.map((each) => {
    const low = Float64Array.from(totals);
    for (let i = 0; i < count; i++) totals[i] += each.values[i];
    return { low, high: Float64Array.from(totals) };
  });
  let most = settings.limit || 0;
  for (const total of totals) most = Math.max(most, total);
  most = (most || 1) * 1.06;
  const draw = () => {
    const width = Math.max(320, box.clientWidth || 900), height = settings.height || 300;
    const left = 66, right = 14, top = 12, bottom = 34;
    const sx = (i) => left + (width - left - right) * (count > 1 ? i / count : 0);
    const sy = (value) => height - bottom - (height - top - bottom) * value / most;
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, height, 'aria-hidden': 'true' });
    for (const value of ticks(most, 5)) {
      root.append(svg('line', { x1: left, x2: width - right, y1: sy(value), y2: sy(value), class: 'grid' }));
      root.append(svg('text', { x: left - 8, y: sy(value) + 4, 'text-anchor': 'end' }, settings.format(value)));
    }
    for (let k = 0; k <= 6 && count; k++) {
      const i = Math.min(count - 1, Math.round(k * (count - 1) / 6));
      root.append(svg('text', { x: sx(i), y: height - bottom + 17, 'text-anchor': k === 6 ? 'end' : k ? 'middle' : 'start' },
        settings.x(i)));
    }
    root.append(svg('text', { x: (left + width - right) / 2, y: height - 2, 'text-anchor': 'middle' }, settings.axis || ''));
    layers.forEach((layer, index) => {
      let path = '';
      for (let i = 0; i < count; i++) {
        const y = sy(layer.high[i]).toFixed(1);
        path += (i ? 'L' : 'M') + sx(i).toFixed(1) + ',' + y + 'L' + sx(i + 1).toFixed(1) + ',' + y;
      }
      for (let i = count - 1; i >= 0; i--) {
        const y = sy(layer.low[i]).toFixed(1);
        path += 'L' + sx(i + 1).toFixed(1) + ',' + y + 'L' + sx(i).toFixed(1) + ',' + y;
      }
      if (path) root.append(svg('path', { d: path + 'Z', fill: series[index].color }));
    });
    if (settings.limit) {
      root.append(svg('line', { x1: left, x2: width - right, y1: sy(settings.limit), y2: sy(settings.limit), class: 'limit' }));
      root.append(svg('text', { x: width - right - 4, y: sy(settings.limit) - 5, 'text-anchor': 'end', class: 'limit' },
        settings.limitName));
    }
    if (settings.mark >= 0) {
      const x = sx(settings.mark + .5);
      root.append(svg('line', { x1: x, x2: x, y1: top, y2: height - bottom, class: 'peak' }));
      root.append(svg('text', { x: x > width / 2 ? x - 6 : x + 6, y: top + 8,
        'text-anchor': x > width / 2 ? 'end' : 'start' }, settings.markName || ''));
    }
    const cursor = svg('line', { y1: top, y2: height - bottom, class: 'cursor', visibility: 'hidden' });
    root.append(cursor);
    box.replaceChildren(root);
    let at = -1;
    const point = (i, x, y) => {
      at = Math.max(0, Math.min(count - 1, i));
      cursor.setAttribute('x1', sx(at + .5)); cursor.setAttribute('x2', sx(at + .5));
      cursor.setAttribute('visibility', 'visible');
      const lines = series.map((each) => [each.name, settings.format(each.values[at]), each.color, each.values[at]])
        .filter((line) => line[3]).reverse();
      showTip(x, y, settings.title(at), [['total', settings.format(totals[at])], ...lines]);
    };
    box.onpointermove = (event) => {
      const area = root.getBoundingClientRect();
      if (count) point(Math.floor(((event.clientX - area.left) * width / area.width - left) / (width - left - right) * count),
        event.clientX, event.clientY);
    };
    box.onpointerleave = box.onblur = () => { cursor.setAttribute('visibility', 'hidden'); hideTip(); };
    box.onkeydown = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50 }[event.key];
      if (!by || !count) return;
      event.preventDefault();
      const area = root.getBoundingClientRect();
      point(at + by, area.left + sx(Math.max(0, at + by)) * area.width / width, area.top + 20);
    };
  };
  onceSized(box, draw);
  return box;
}

const redraws = new Set();
function onceSized(box, draw) {
  requestAnimationFrame(draw);
  redraws.add([box, draw]);
}
let waiting = 0;
addEventListener('resize', () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const entry of redraws) {
      if (entry[0].isConnected) entry[1](); else redraws.delete(entry);
    }
  }, 120);
});

// parts: [name, value, color]; one bar in proportion
function shareBar(parts, format) {
  const total = parts.reduce((sum, part) => sum + part[1], 0);
  const box = el('div', { class: 'chart' });
  onceSized(box, () => {
    const width = Math.max(300, box.clientWidth || 900);
    const root = svg('svg', { viewBox: `0 0 ${width} 34`, height: 34, role: 'img', 'aria-label': 'shares of the total' });
    let x = 0;
    for (const [name, value, color] of parts) {
      const w = total ? width * value / total : 0;
      const rect = svg('rect', { x, y: 0, width: Math.max(0, w), height: 34, fill: color, class: 'box' });
      rect.addEventListener('pointermove', (event) =>
        showTip(event.clientX, event.clientY, name, [['value', format(value)], ['share', percent(value, total)]]));
      rect.addEventListener('pointerleave', hideTip);
      root.append(rect);
      if (w > 24 + 6.4 * (name.length + 7)) root.append(svg('text', { x: x + 8, y: 21, class: 'inside' }, name + ' ' + percent(value, total)));
      x += w;
    }
    box.replaceChildren(root);
  });
  return el('div', {}, box, legend(parts.filter((part) => part[1] > 0).map(([name, value, color]) =>
    [name, color, format(value) + ' (' + percent(value, total) + ')'])));
}
