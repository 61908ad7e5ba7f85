// Charts over the number of IPUs: lines with their ranges, and stacked bars. The cursor follows mouse, finger and arrow keys.
const energy = (joules) => {
  for (const [unit, size] of [['J', 1], ['mJ', 1e-3], ['µJ', 1e-6]]) {
    if (joules >= size) return Number((joules / size).toPrecision(3)).toLocaleString('en-US') + ' ' + unit;
  }
  return Number(joules.toPrecision(2)) + ' J';
};
const amount = (value) => (value >= 100 ? whole(value) : String(Number(value.toPrecision(3))));
const share = (value) => (value > 0 && value < .0001 ? '<0.01' : value < .1 ? Number((100 * value).toPrecision(2)) : Math.round(100 * value)) + ' %';

// round numbers from 0 up to most
function evenTicks(most, count) {
  const rough = (most || 1) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((each) => each * power >= rough * .999);
  const found = [];
  for (let k = 0; k * step <= most * 1.0001; k++) found.push(k * step);
  return found;
}
function logTicks(low, high) {
  const found = [];
  for (const steps of [[1, 2, 5], [1], [1e-300]]) {
    found.length = 0;
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const step of steps) if (step * 10 ** power >= low && step * 10 ** power <= high) found.push(step * 10 ** power);
    }
    if (found.length <= 9) break;
  }
  return found;
}

// settings: {label, height, axis, ticks, format, place(value): 0 to 1, even, tip(index): title and lines}; paint(root, where) draws
function sizesChart(sizes, settings, paint) {
  const box = el('div', { class: 'chart', tabindex: '0', role: 'img', 'aria-label': settings.label + ' Arrow keys move between sizes.' });
  let at = -1;
  const draw = () => {
    const width = Math.max(260, box.clientWidth || 600), height = settings.height || 300;
    const left = 62, right = 12, top = 26, bottom = 38, pad = settings.even ? 0 : 22;
    const first = Math.log2(sizes[0]), last = Math.log2(sizes.at(-1)), step = (width - left - right) / sizes.length;
    const sx = (i) => (settings.even || first === last ? left + step * (i + .5)
      : left + pad + (width - left - right - 2 * pad) * (Math.log2(sizes[i]) - first) / (last - first));
    const sy = (value) => height - bottom - (height - top - bottom) * settings.place(value);
    const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, height, 'aria-hidden': 'true' });
    for (const value of settings.ticks) {
      root.append(svg('line', { x1: left, x2: width - right, y1: sy(value), y2: sy(value), class: 'grid' }));
      root.append(svg('text', { x: left - 8, y: sy(value) + 4, 'text-anchor': 'end' }, settings.format(value)));
    }
    let written = -99;
    sizes.forEach((size, i) => {
      if (sx(i) - written < 24) return;
      written = sx(i);
      root.append(svg('text', { x: sx(i), y: height - bottom + 17, 'text-anchor': 'middle' }, whole(size)));
    });
    root.append(svg('text', { x: (left + width - right) / 2, y: height - 3, 'text-anchor': 'middle' }, 'IPUs'));
    root.append(svg('text', { x: 0, y: 11 }, settings.axis));
    root.append(svg('line', { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: 'axis' }));
    const here = svg('rect', { y: top, height: height - top - bottom, width: Math.min(46, step), class: 'here', visibility: 'hidden' });
    root.append(here);
    paint(root, { sx, sy, left, right: width - right, top, bottom: height - bottom, step });
    box.replaceChildren(root);
    const point = (i, x, y) => {
      at = Math.max(0, Math.min(sizes.length - 1, i));
      here.setAttribute('x', sx(at) - Math.min(46, step) / 2);
      here.setAttribute('visibility', 'visible');
      showTip(x, y, ...settings.tip(at));
    };
    box.onpointermove = box.onpointerdown = (event) => {
      const area = root.getBoundingClientRect(), x = (event.clientX - area.left) * width / area.width;
      let near = 0;
      sizes.forEach((_, i) => { if (Math.abs(sx(i) - x) < Math.abs(sx(near) - x)) near = i; });
      point(near, event.clientX, event.clientY);
    };
    box.onpointerleave = box.onblur = () => { here.setAttribute('visibility', 'hidden'); hideTip(); };
    box.onkeydown = (event) => {
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: sizes.length - 1 }[event.key];
      if (event.key === 'Escape') box.onblur();
      if (to === undefined) return;
      event.preventDefault();
      const area = root.getBoundingClientRect(), i = Math.max(0, Math.min(sizes.length - 1, to));
      point(i, area.left + sx(i) * area.width / width, area.top + 30);
    };
  };
  onceSized(box, draw);
  return box;
}

// lines: [{name, at (colour), main, rows}]; settings: {figure, format, axis, label, log, ideal, limit, limitName, supplies}
function lineChart(lines, settings) {
  const value = (row) => (Object.hasOwn(row.figures, settings.figure) ? row.figures[settings.figure] : null);
  const known = lines.map((line) => ({ ...line, rows: line.rows.filter((row) => value(row) && value(row)[0] > 0) }));
  const sizes = [...new Set(lines.flatMap((line) => line.rows.map((row) => row.ipus)))].sort((a, b) => a - b);
  if (!known.some((line) => line.main && line.rows.length)) return el('p', { class: 'empty', text: 'No figures for this series.' });
  const ideals = known.map((line) => {
    const base = settings.ideal ? line.rows.find((row) => row.runs) : null;
    return base ? (size) => value(base)[0] * size / base.ipus : null;
  });
  const shown = known.flatMap((line) => line.rows.flatMap((row) => value(row).slice(0, line.main ? 3 : 1)));
  known.forEach((line, k) => { if (line.main && ideals[k]) shown.push(ideals[k](line.rows.at(-1).ipus)); });
  for (const supply of settings.supplies || []) shown.push(supply.rate);
  if (settings.limit) shown.push(settings.limit);
  const positive = shown.filter((each) => each > 0);
  const least = Math.min(...positive) / 1.25, most = Math.max(...positive) * (settings.log ? 1.25 : 1.06);
  const place = settings.log ? (v) => (Math.log(Math.max(v, least)) - Math.log(least)) / (Math.log(most) - Math.log(least))
    : (v) => v / most;
  const tip = (i) => [ipus(sizes[i]), known.flatMap((line) => {
    const row = line.rows.find((each) => each.ipus === sizes[i]);
    if (!row) return line.main ? [[line.name, 'no figure', `var(--s${line.at})`]] : [];
    const [middle, low, high] = value(row);
    const lines = [[line.name + (row.runs ? '' : ' (does not fit)'), settings.format(middle), `var(--s${line.at})`]];
    if (line.main && low !== high) lines.push(['likely', settings.format(low) + ' – ' + settings.format(high)]);
    const fed = line.main && settings.ideal ? row.figures.fed_throughput : null;
    if (fed) lines.push(['with the host’s data', settings.format(fed[0])]);
    if (line.main) lines.push(['layout', row.layout]);
    return lines;
  })];
  return sizesChart(sizes, { ...settings, place, tip, ticks: settings.log ? logTicks(least, most) : evenTicks(most, 7) },
    (root, { sx, sy, left, right }) => {
      const x = (row) => sx(sizes.indexOf(row.ipus)).toFixed(1), y = (v) => sy(v).toFixed(1);
      if (settings.limit) {
        root.append(svg('line', { x1: left, x2: right, y1: sy(settings.limit), y2: sy(settings.limit),
          class: settings.limitName ? 'limit' : 'even' }));
        root.append(svg('text', { x: right - 4, y: sy(settings.limit) - 7, 'text-anchor': 'end', class: 'limit' }, settings.limitName));
      }
      // points of rows by the value, or by an end of its range
      const path = (rows, end) => rows.map((row) => x(row) + ',' + y(value(row)[end]));
      for (const line of known.filter((each) => each.main)) {
        const runs = line.rows.filter((row) => row.runs);
        if (runs.length > 1) root.append(svg('path', { class: `band s${line.at}`,
          d: 'M' + [...path(runs, 2), ...path(runs, 1).reverse()].join('L') + 'Z' }));
      }
      for (const line of [...known].reverse().sort((a, b) => a.main - b.main)) {
        const group = svg('g', { class: `s${line.at}` + (line.main ? '' : ' faint') }), runs = line.rows.filter((row) => row.runs);
        const ideal = ideals[known.indexOf(line)];
        if (line.main && ideal && runs.length > 1) group.append(svg('path', { class: 'ideal', d: 'M' +
          [runs[0], runs.at(-1)].map((row) => x(row) + ',' + y(ideal(row.ipus))).join('L') }));
        if (runs.length > 1) group.append(svg('path', { class: 'line', d: 'M' + path(runs, 0).join('L') }));
        for (const row of line.rows) {
          if (line.main && (!row.runs || runs.length === 1)) group.append(svg('line', { x1: x(row), x2: x(row),
            y1: y(value(row)[1]), y2: y(value(row)[2]), class: 'whisker' }));
          group.append(svg('circle', { cx: x(row), cy: y(value(row)[0]), r: line.main ? 4.6 : 3.4, class: row.runs ? 'dot' : 'hollow' }));
        }
        root.append(group);
      }
      (settings.supplies || []).forEach((supply, k) => {
        const at = supply.sizes.map((size) => sx(sizes.indexOf(size)));
        const from = Math.max(left, Math.min(...at) - 18), to = Math.min(right, Math.max(...at) + 18);
        root.append(svg('line', { x1: from, x2: to, y1: sy(supply.rate), y2: sy(supply.rate), class: 'supply' }));
        root.append(svg('text', { x: k ? from - 5 : from + 4, y: sy(supply.rate) + (k ? 4 : -6),
          'text-anchor': k ? 'end' : 'start', class: 'supply' }, supply.name));
      });
    });
}

// a size as it would be if data were always there in time
function fedInTime(row) {
  const step = has(row, 'step_seconds');
  if (!step || !(row.parts.data > 0)) return row;
  return { ...row, parts: { ...row.parts, data: 0 }, total: step[0], totalLow: step[1], totalHigh: step[2] };
}

// rows with parts, stacked; settings: {shares, label}
function partBars(rows, settings) {
  const known = rows.filter((row) => row.total > 0);
  if (!known.length) return el('p', { class: 'empty', text: 'No figures for this series.' });
  const sizes = known.map((row) => row.ipus), part = (row, key) => (Object.hasOwn(row.parts, key) ? Math.max(0, row.parts[key]) : 0);
  const most = settings.shares ? 1 : Math.max(...known.map((row) => Math.max(row.total, row.totalHigh))) * 1.09;
  const tip = (i) => [ipus(sizes[i]) + (known[i].runs ? '' : ', does not fit'), [['time of a step', time(known[i].total)],
    ['likely', time(known[i].totalLow) + ' – ' + time(known[i].totalHigh)],
    ...D.parts.filter(([key]) => part(known[i], key) > 0).map(([key, title, color]) =>
      [title, time(part(known[i], key)) + ', ' + share(part(known[i], key) / known[i].total), color]).reverse()]];
  return sizesChart(sizes, { even: true, height: 320, axis: settings.shares ? 'share of the step' : 'time of a step',
    label: settings.label, format: settings.shares ? share : (value) => (value ? time(value) : '0'),
    ticks: evenTicks(most, 5), place: (value) => value / most, tip },
    (root, { sx, sy, step }) => known.forEach((row, i) => {
      const wide = Math.min(64, step * .7), scale = settings.shares ? 1 / row.total : 1;
      let low = 0;
      for (const [key, , color] of D.parts) {
        const high = low + part(row, key) * scale, tall = sy(low) - sy(high);
        if (tall > .05) root.append(svg('rect', { x: sx(i) - wide / 2, width: wide, y: sy(high), height: tall, fill: color,
          class: row.runs ? 'box' : 'box nofit' }));
        const light = ['compute', 'inter_ipu', 'data'].includes(key) ? ' light' : '';
        if (settings.shares && row.runs && tall > 15 && wide > 30) root.append(svg('text', { x: sx(i), y: sy(high) + tall / 2 + 4,
          'text-anchor': 'middle', class: 'inside' + light }, Math.round(100 * (high - low)) + ' %'));
        low = high;
      }
      if (!row.runs) root.append(svg('text', { x: sx(i), y: sy(0) - 6, 'text-anchor': 'middle', class: 'nofit' },
        step > 62 ? 'does not fit' : 'no fit'));
      if (settings.shares) return;
      const { totalLow, totalHigh } = row;
      for (const [y1, y2, half] of [[totalLow, totalHigh, 0], [totalLow, totalLow, 4], [totalHigh, totalHigh, 4]]) {
        root.append(svg('line', { x1: sx(i) - half, x2: sx(i) + half, y1: sy(y1), y2: sy(y2), class: 'spread' }));
      }
      if (step > 44) root.append(svg('text', { x: sx(i), y: sy(Math.max(row.total, row.totalHigh)) - 5, 'text-anchor': 'middle',
        class: 'total' }, time(row.total)));
    }));
}
