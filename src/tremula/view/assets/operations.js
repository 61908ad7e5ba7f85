// The table of ops: search, sort, and the plan with its reasons below a row.
function operationsView() {
  const ops = D.ops, texts = ops.texts;
  const count = ops.name.length;
  const cycles = ops.name.map((_, i) => ops.compute[i] + ops.exchange[i] + ops.sync[i]);
  const all = D.modules.length ? D.modules[0][2] + D.modules[0][3] + D.modules[0][4] : 1;
  const columns = [
    ['op', (i) => ops.name[i].slice(ops.name[i].lastIndexOf('/') + 1)], ['kind', (i) => texts[ops.target[i]], 'short'], ['phase', (i) => texts[ops.phase[i]], 'short'],
    ['module', (i) => texts[ops.module[i]], 'short'],
    ['source', (i) => texts[ops.source[i]].replace(/^.*[\\/]/, ''), 'short'], ['IPU', (i) => ops.ipu[i], true, whole],
    ['cycles per step', (i) => cycles[i], true, whole], ['share', (i) => cycles[i], true, (value) => percent(value, all)],
    ['exchange', (i) => (cycles[i] ? ops.exchange[i] / cycles[i] : 0), true, (value) => percent(value, 1)]];
  let order = [...Array(count).keys()], by = 6, up = false, shown = 150, wanted = '';
  const body = el('tbody', {});
  const state = el('span', { class: 'label', role: 'status' });
  const more = el('button', { type: 'button', text: 'Show more', onclick: () => { shown += 500; fill(); } });
  const search = el('input', { type: 'search', placeholder: 'name, kind, module, file', 'aria-label': 'Search in ops' });
  search.addEventListener('input', () => { wanted = search.value.toLowerCase(); shown = 150; fill(); });
  const heads = columns.map(([title, , number], index) => {
    const head = el('th', number === true ? { class: 'number', scope: 'col' } : { scope: 'col' }, el('button', { type: 'button', text: title,
      onclick: () => { up = by === index ? !up : number !== true; by = index; sort(); fill(); } }));
    return head;
  });
  const sort = () => {
    const value = columns[by][1], sign = up ? 1 : -1;
    order.sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : a - b) * sign; });
    heads.forEach((head, index) => head.setAttribute('aria-sort', index === by ? (up ? 'ascending' : 'descending') : 'none'));
  };
  const fits = (i) => !wanted || [ops.name[i], texts[ops.target[i]], texts[ops.module[i]], texts[ops.source[i]], texts[ops.phase[i]]]
    .some((text) => text.toLowerCase().includes(wanted));
  const fill = () => {
    const found = order.filter(fits);
    body.replaceChildren(...found.slice(0, shown).map((i) => {
      const row = el('tr', { class: 'pick', tabindex: '0', 'aria-expanded': 'false' }, ...columns.map(([, value, number, format]) =>
        el('td', { class: number === true ? 'number' : number || 'name', text: format ? format(value(i)) : value(i) })));
      const open = () => {
        const next = row.nextSibling;
        if (next && next.classList.contains('detail')) { next.remove(); row.setAttribute('aria-expanded', 'false'); return; }
        row.after(el('tr', { class: 'detail' }, el('td', { colspan: columns.length }, detail(i))));
        row.setAttribute('aria-expanded', 'true');
      };
      row.addEventListener('click', open);
      row.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); open(); } });
      return row;
    }));
    state.textContent = whole(found.length) + ' of ' + whole(count) + ' ops' + (found.length > shown ? ', ' + whole(shown) + ' shown' : '');
    more.hidden = found.length <= shown;
  };
  const detail = (i) => {
    const plan = Object.hasOwn(D.plans, ops.plan_id[i]) ? D.plans[ops.plan_id[i]] : null;
    const source = texts[ops.source[i]];
    return el('div', {},
      el('p', {}, el('b', { text: ops.name[i] }), ' ' + texts[ops.target[i]] + ', stage ' + ops.stage[i] + ', ' +
        whole(ops.runs[i]) + ' runs per step: compute ' + whole(ops.compute[i]) + ', exchange ' + whole(ops.exchange[i]) + ', sync ' +
        whole(ops.sync[i]) + ' cycles, ' + compact(ops.flops[i]) + 'FLOP, ' + bytes(ops.temporary_bytes[i]) + ' of temporaries on the fullest tile'),
      source ? el('p', {}, el('code', { text: source + ' in ' + texts[ops.function[i]] })) : null,
      ops.unknown[i] ? el('p', { class: 'bad', text: 'No planner knows this op; a fallback costed it.' }) : null,
      plan ? whyBlock(plan.why) : el('p', { class: 'note', text: 'Its plan is in the file, not on this page: tremula view FILE --op NAME' }),
      plan && plan.steps.length ? table([['superstep'], ['times', true], ['slowest tile', true], ['mean tile', true], ['exchange', true],
        ['sync', true], ['tiles that compute', true], ['that wait', true]], plan.steps.map(([name, ...numbers]) =>
        [name, ...numbers.map(whole)])) : null);
  };
  sort();
  fill();
  return el('section', { class: 'card' }, el('div', { class: 'controls' }, search, state),
    el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body)), more);
}
