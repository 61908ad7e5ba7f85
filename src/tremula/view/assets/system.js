// made from web/src by "make web"; sources sha256:6be1cf29518ff5f62c8c7e7a933e74a352314db977b70df809c8fb6edc247dc4
"use strict";
(() => {
  // src/elements.ts
  function el(tag, properties, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties ?? {})) {
      if (value === null || value === void 0 || value === false) continue;
      if (name === "text") node.textContent = String(value);
      else if (name === "class") node.className = String(value);
      else if (typeof value === "function") {
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      } else if (name.startsWith("on"))
        continue;
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children) if (child) node.append(child);
    return node;
  }
  function button(text, onclick, properties = {}) {
    return el("button", { type: "button", text, onclick, ...properties });
  }
  function swatch(colour) {
    const node = el("span", { class: "swatch", "aria-hidden": "true" });
    node.style.background = colour;
    return node;
  }
  function card(title, ...children) {
    return el("section", { class: "card" }, title ? el("h3", { text: title }) : null, ...children);
  }
  function choice(label, names, chosen, onchange) {
    const select = el(
      "select",
      { "aria-label": label },
      ...names.map((name, index) => el("option", { value: index, text: name }))
    );
    select.value = String(chosen);
    select.addEventListener("change", () => onchange(Number(select.value)));
    return el("label", { class: "choice" }, el("span", { text: label }), select);
  }
  function toggles(label, names, chosen, onchange) {
    const buttons = names.map(
      (name, index) => button(
        name,
        () => {
          buttons.forEach((each, at) => each.setAttribute("aria-pressed", String(at === index)));
          onchange(index);
        },
        { "aria-pressed": String(index === chosen) }
      )
    );
    return el(
      "div",
      { class: "toggles", role: "group", "aria-label": label },
      el("span", { class: "label", text: label }),
      ...buttons
    );
  }
  function note(text) {
    return el("p", { class: "note", text });
  }
  function tipBox() {
    return document.getElementById("tip");
  }
  function showTip(x, y, title, lines) {
    const tip = tipBox();
    if (!tip) return;
    tip.replaceChildren(
      el("b", { text: title }),
      ...lines.map(
        ([name, value, colour]) => el("div", {}, el("span", {}, colour ? swatch(colour) : null, name), el("span", { text: value }))
      )
    );
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 14, innerHeight - box.height - 8))}px`;
  }
  function hideTip() {
    const tip = tipBox();
    if (tip) tip.hidden = true;
  }

  // src/format.ts
  function whole(value) {
    return Math.round(value).toLocaleString("en-US");
  }
  function percent(part, all) {
    return `${(all ? 100 * part / all : 0).toFixed(1)}%`;
  }
  function plural(count, one, many = one + "s") {
    return `${whole(count)} ${count === 1 ? one : many}`;
  }

  // src/source.ts
  var Missing = class extends Error {
  };
  function bytesOf(text) {
    const binary = atob(text);
    const found = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) found[i] = binary.charCodeAt(i);
    return found;
  }
  function numbers(packed2) {
    if (Array.isArray(packed2)) return Float64Array.from(packed2);
    if (packed2.f8 !== void 0) return new Float64Array(bytesOf(packed2.f8).buffer);
    return Float64Array.from(new Int32Array(bytesOf(packed2.i4 ?? "").buffer));
  }
  function column(packed2) {
    if (packed2.strings) return packed2.strings;
    const texts = packed2.texts;
    if (texts) return Array.from(numbers({ i4: packed2.at ?? "" }), (at) => texts[at] ?? "");
    return numbers(packed2);
  }
  function unpacked(frame, wanted) {
    const columns = {};
    for (const name of wanted) {
      const packed2 = Object.hasOwn(frame.columns, name) ? frame.columns[name] : void 0;
      if (!packed2) throw new Missing(`the column ${name} is not here`);
      columns[name] = column(packed2);
    }
    return { first: frame.first, rows: frame.rows, total: frame.total, columns };
  }
  function address(what, params = {}) {
    const parts = Object.keys(params).sort().map((name) => `${name}=${params[name]}`);
    return parts.length ? `${what}?${parts.join("&")}` : what;
  }
  var InlineSource = class {
    constructor(data) {
      this.data = data;
      this.compared = data.compared ?? "";
    }
    data;
    served = false;
    compared;
    reports() {
      return Promise.resolve(this.data.reports);
    }
    json(report, what, params) {
      const key = `${report}/${address(what, params)}`;
      if (!Object.hasOwn(this.data.answers, key)) return Promise.reject(new Missing(`${what} is not on this page`));
      return Promise.resolve(this.data.answers[key]);
    }
    // what the page keeps of a frame, whatever rows were asked for: see `total`
    frame(report, name, columns, first = 0, rows) {
      const key = `${report}/${name}`;
      const frame = Object.hasOwn(this.data.frames, key) ? this.data.frames[key] : void 0;
      if (!frame) return Promise.reject(new Missing(`${name} is not on this page`));
      try {
        const whole2 = unpacked(frame, columns);
        if (first === 0 && (rows === void 0 || rows >= whole2.rows)) return Promise.resolve(whole2);
        const end = rows === void 0 ? whole2.rows : Math.min(whole2.rows, first + rows);
        for (const each of columns) whole2.columns[each] = whole2.columns[each].slice(first, end);
        return Promise.resolve({ ...whole2, first, rows: Math.max(0, end - first) });
      } catch (error) {
        return Promise.reject(error);
      }
    }
  };
  var KEPT_ANSWERS = 64;
  var FetchSource = class {
    constructor(base, token, compared = "") {
      this.base = base;
      this.token = token;
      this.compared = compared;
    }
    base;
    token;
    compared;
    served = true;
    kept = /* @__PURE__ */ new Map();
    get(path) {
      const known = this.kept.get(path);
      if (known) return known;
      const asked2 = fetch(this.base + path, {
        headers: this.token ? { Authorization: `Bearer ${this.token}` } : {},
        cache: "no-store"
      }).then(async (answer) => {
        if (answer.ok) return answer.json();
        const said = await answer.json().catch(() => ({}));
        throw new Missing(typeof said.error === "string" ? said.error : `the server says ${answer.status}`);
      });
      this.kept.set(path, asked2);
      asked2.catch(() => this.kept.delete(path));
      for (const old of this.kept.keys()) {
        if (this.kept.size <= KEPT_ANSWERS) break;
        this.kept.delete(old);
      }
      return asked2;
    }
    async reports() {
      return (await this.get("/reports")).reports;
    }
    json(report, what, params = {}) {
      const query = new URLSearchParams(Object.entries(params).map(([name, value]) => [name, String(value)])).toString();
      return this.get(`/r/${report}/${what}${query ? "?" + query : ""}`);
    }
    async frame(report, name, columns, first = 0, rows) {
      const query = new URLSearchParams({ columns: columns.join(","), first: String(first) });
      if (rows !== void 0) query.set("rows", String(rows));
      return unpacked(await this.get(`/r/${report}/frame/${name}?${query.toString()}`), columns);
    }
  };
  async function openSource() {
    const block = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
    if (block.api !== void 0) return new FetchSource(block.api, block.token ?? "", block.compared ?? "");
    if (block.inline) return new InlineSource(block.inline);
    const stream = new Blob([bytesOf(block.gzip ?? "")]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new InlineSource(JSON.parse(await new Response(stream).text()));
  }

  // src/state.ts
  var State = class {
    constructor(first) {
      this.first = first;
      this.view = first;
      this.values = new URLSearchParams();
      this.read();
      addEventListener("hashchange", () => {
        const before = this.text();
        this.read();
        if (this.text() !== before) for (const listener of this.listeners) listener();
      });
    }
    first;
    view;
    values;
    listeners = /* @__PURE__ */ new Set();
    read() {
      const [view = "", query = ""] = location.hash.slice(1).split("?", 2);
      this.view = /^[a-z_]{1,40}$/.test(view) ? view : this.first;
      this.values = new URLSearchParams(query);
    }
    text() {
      const query = this.values.toString();
      return "#" + this.view + (query ? "?" + query : "");
    }
    // called when the address changes by other means than `set`
    onchange(listener) {
      this.listeners.add(listener);
    }
    get(name, missing = "") {
      return this.values.get(name) ?? missing;
    }
    number(name, missing, low = -Infinity, high = Infinity) {
      const text = this.values.get(name);
      const value = text === null || text === "" ? NaN : Number(text);
      return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : missing;
    }
    // an empty text or null takes a value away; `visit` makes a step of the browser's history
    set(changes, visit = false) {
      for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "") this.values.delete(name);
        else this.values.set(name, String(value));
      }
      this.write(visit);
    }
    // another view; what belongs to the reports stays, what belonged to the view goes
    go(view, values = {}) {
      this.view = view;
      for (const name of [...this.values.keys()]) if (name !== "report" && name !== "compare") this.values.delete(name);
      for (const [name, value] of Object.entries(values)) this.values.set(name, String(value));
      this.write(true);
    }
    write(visit) {
      const text = this.text();
      if (location.hash === text) return;
      if (visit) history.pushState(null, "", text);
      else history.replaceState(null, "", text);
    }
  };

  // src/system_data.ts
  function unpackedColumns(packed2, names) {
    const found = { count: packed2.count };
    for (const name of names) found[name] = numbers(packed2[name]);
    return found;
  }
  function unpackedWindow(answer) {
    return {
      start: answer.start,
      end: answer.end,
      labels: answer.labels,
      cut: answer.cut,
      unfinished: new Set(answer.unfinished),
      rects: unpackedColumns(answer.rects, ["row", "depth", "start", "end", "label", "channel", "events", "busy", "event"]),
      instants: unpackedColumns(answer.instants, ["row", "time", "label", "channel", "events", "event"])
    };
  }
  function unpackedSeries(answer) {
    return answer.series.map((line) => ({ id: line.id, time: numbers(line.time), low: numbers(line.low), high: numbers(line.high), last: numbers(line.last) }));
  }
  function unpackedHeat(answer) {
    return { time: numbers(answer.time), width: numbers(answer.width), counts: numbers(answer.counts), bins: answer.bins, most: answer.most };
  }
  var most = (pixels) => Math.max(1, Math.min(4096, Math.ceil(pixels)));
  var ServedTrace = class {
    constructor(source, report) {
      this.source = source;
      this.report = report;
    }
    source;
    report;
    served = true;
    ask(what, params = {}) {
      return this.source.json(this.report, what, params);
    }
    overview() {
      return this.ask("trace_overview");
    }
    async events(start2, end, pixels, channel) {
      return unpackedWindow(await this.ask("trace_events", { start: start2, end, pixels: most(pixels), ...channel >= 0 ? { channels: channel } : {} }));
    }
    async counters(start2, end, pixels) {
      return unpackedSeries(await this.ask("trace_counters", { start: start2, end, pixels: most(pixels) }));
    }
    async heatmap(id, start2, end, pixels) {
      return unpackedHeat(await this.ask("trace_heatmap", { id, start: start2, end, pixels: most(pixels) }));
    }
    event(id) {
      return this.ask("trace_event", { id });
    }
    selection(start2, end, rows) {
      return this.ask("trace_selection", { start: start2, end, ...rows ? { rows: rows.join(",") } : {} });
    }
    async callTree(id) {
      return (await this.ask("trace_call_tree", { id })).nodes;
    }
    async search(text, wanted) {
      const found = { total: 0, rows: [] };
      do {
        const answer = await this.ask("trace_search", { text, first: found.rows.length });
        const hits = unpackedColumns(answer.hits, ["event", "row", "start", "end", "depth", "label"]);
        found.total = answer.total;
        for (let at = 0; at < hits.count; at++)
          found.rows.push({ event: hits.event[at], row: hits.row[at], start: hits.start[at], end: hits.end[at], depth: hits.depth[at], label: answer.labels[hits.label[at]] ?? "" });
        if (!hits.count) break;
      } while (found.rows.length < Math.min(found.total, wanted, 1e3));
      return found;
    }
  };

  // src/system_local.ts
  var HeldTrace = class {
    constructor(source, report) {
      this.source = source;
      this.report = report;
    }
    source;
    report;
    served = false;
    whole = null;
    texts = null;
    overview() {
      return this.source.json(this.report, "trace_overview");
    }
    all() {
      this.whole ??= this.source.json(this.report, "trace_events").then(unpackedWindow);
      return this.whole;
    }
    // the labels of the whole trace, of a page that does not hold every event
    labels() {
      return this.source.json(this.report, "trace_selection").catch(() => null);
    }
    metadata() {
      this.texts ??= this.source.json(this.report, "trace_metadata").catch(() => ({}));
      return this.texts;
    }
    async events(_start, _end, _pixels, channel) {
      const all = await this.all();
      return channel < 0 ? all : { ...all, rects: kept(all.rects, channel), instants: kept(all.instants, channel) };
    }
    async counters() {
      return unpackedSeries(await this.source.json(this.report, "trace_counters"));
    }
    async heatmap(id) {
      return unpackedHeat(await this.source.json(this.report, "trace_heatmap", { id }));
    }
    async search(text, most2) {
      const { rects, instants, labels } = await this.all();
      const wanted = labels.map((label) => label.toLowerCase().includes(text));
      const rows = [];
      for (let at = 0; at < rects.count; at++)
        if (wanted[rects.label[at]]) rows.push({ event: rects.event[at], row: rects.row[at], start: rects.start[at], end: rects.end[at], depth: rects.depth[at], label: labels[rects.label[at]] ?? "" });
      for (let at = 0; at < instants.count; at++)
        if (wanted[instants.label[at]]) rows.push({ event: instants.event[at], row: instants.row[at], start: instants.time[at], end: instants.time[at], depth: -1, label: labels[instants.label[at]] ?? "" });
      rows.sort((one, other) => one.start - other.start);
      return { total: rows.length, rows: rows.slice(0, most2) };
    }
    // places of the spans directly inside another, in order
    inside(all, place) {
      const { rects } = all, found = [];
      for (let at = 0; at < rects.count; at++)
        if (rects.row[at] === rects.row[place] && rects.depth[at] === rects.depth[place] + 1 && rects.start[at] >= rects.start[place] && rects.end[at] <= rects.end[place]) found.push(at);
      return found;
    }
    async event(id) {
      const all = await this.all(), { rects, instants, labels } = all;
      const place = rects.event.indexOf(id), flag = place < 0 ? instants.event.indexOf(id) : -1;
      if (place < 0 && flag < 0) throw new Missing("this event is not on this page");
      const metadata = (await this.metadata())[String(id)] ?? null;
      const none = { parent: -1, stack: [], children: [], children_total: 0, previous: -1, next: -1, modelled: false, process: -1 };
      if (flag >= 0) {
        const time = instants.time[flag], label = labels[instants.label[flag]] ?? "";
        return { ...none, id, kind: "instant", label, channel: instants.channel[flag], row: instants.row[flag], start: time, end: time, duration: 0, depth: -1, unfinished: false, metadata, self: 0, same_label: { count: 0, total: 0, least: 0, most: 0, mean: 0 } };
      }
      const same = [], stack = [];
      const [start2, end, depth] = [rects.start[place], rects.end[place], rects.depth[place]];
      for (let at = 0; at < rects.count; at++) {
        if (rects.label[at] === rects.label[place]) same.push(at);
        if (rects.row[at] === rects.row[place] && rects.depth[at] < depth && rects.start[at] <= start2 && rects.end[at] >= end) stack.push({ id: rects.event[at], label: labels[rects.label[at]] ?? "" });
      }
      same.sort((one, other) => rects.start[one] - rects.start[other]);
      const lengths = same.map((at) => rects.end[at] - rects.start[at]), total = lengths.reduce((sum, value) => sum + value, 0);
      const mine = same.indexOf(place), children = this.inside(all, place);
      const together = rects.events[place];
      const whole2 = (await this.labels())?.labels.find((row) => row.label === labels[rects.label[place]] && row.channel === rects.channel[place]);
      return {
        ...together > 1 ? { together } : {},
        ...none,
        id,
        kind: "event",
        label: labels[rects.label[place]] ?? "",
        channel: rects.channel[place],
        row: rects.row[place],
        start: start2,
        end,
        duration: end - start2,
        depth,
        unfinished: all.unfinished.has(id),
        metadata,
        stack,
        parent: stack.at(-1)?.id ?? -1,
        children: children.slice(0, 500).map((at) => ({ id: rects.event[at], label: labels[rects.label[at]] ?? "", start: rects.start[at], end: rects.end[at] })),
        children_total: children.length,
        self: end - start2 - children.reduce((sum, at) => sum + rects.end[at] - rects.start[at], 0),
        same_label: whole2 ? { count: whole2.count, total: whole2.total, least: NaN, most: whole2.most, mean: whole2.total / Math.max(1, whole2.count) } : { count: same.length, total, least: Math.min(...lengths.slice(0, 1e5)), most: Math.max(...lengths.slice(0, 1e5)), mean: total / Math.max(1, same.length) },
        previous: mine > 0 ? rects.event[same[mine - 1]] : -1,
        next: mine + 1 < same.length ? rects.event[same[mine + 1]] : -1
      };
    }
    async selection(start2, end, rows) {
      const exact = await this.labels();
      if (exact && !rows && start2 <= exact.start && end >= exact.end) return exact;
      const { rects, labels } = await this.all();
      const found = /* @__PURE__ */ new Map();
      let rough = false;
      const open = [];
      const entry = (at) => {
        const key = `${rects.label[at]} ${rects.channel[at]}`;
        const known = found.get(key) ?? { label: labels[rects.label[at]] ?? "", channel: rects.channel[at], count: 0, total: 0, self: 0, most: 0 };
        found.set(key, known);
        return known;
      };
      const order = Array.from({ length: rects.count }, (_, at) => at).filter((at) => !rows || rows.includes(rects.row[at]));
      order.sort((one, other) => rects.row[one] - rects.row[other] || rects.start[one] - rects.start[other] || rects.depth[one] - rects.depth[other]);
      for (const at of order) {
        const share = rects.events[at] > 1 ? rects.busy[at] / Math.max(1e-9, rects.end[at] - rects.start[at]) : 1;
        const inside = (Math.min(end, rects.end[at]) - Math.max(start2, rects.start[at])) * share;
        if (rects.end[at] < start2 || rects.start[at] > end || inside < 0) continue;
        while (open.length && (open.at(-1).row !== rects.row[at] || open.at(-1).depth >= rects.depth[at])) open.pop();
        const mine = entry(at), outer = open.at(-1);
        rough ||= rects.events[at] > 1;
        mine.count += rects.events[at];
        mine.total += inside;
        mine.self += inside;
        mine.most = Math.max(mine.most, rects.events[at] > 1 ? 0 : inside);
        if (outer) entry(outer.place).self -= inside;
        open.push({ place: at, end: rects.end[at], depth: rects.depth[at], row: rects.row[at] });
      }
      const ranked = [...found.values()].sort((one, other) => other.total - one.total);
      return { start: start2, end, labels: ranked.slice(0, 500), total: ranked.length, rough };
    }
    async callTree(id) {
      const all = await this.all(), { rects, labels } = all;
      const place = rects.event.indexOf(id);
      const nodes = [];
      if (place < 0) return nodes;
      const add = (parent, places, depth) => {
        const byLabel = /* @__PURE__ */ new Map();
        for (const at of places) byLabel.set(rects.label[at], [...byLabel.get(rects.label[at]) ?? [], at]);
        for (const [label, list] of byLabel) {
          if (nodes.length >= 300 || depth > 24) return;
          const total = list.reduce((sum, at) => sum + rects.end[at] - rects.start[at], 0);
          const below = list.slice(0, 200).flatMap((at) => this.inside(all, at));
          const node = { parent, label: labels[label] ?? "", count: list.length, total, self: total - below.reduce((sum, at) => sum + rects.end[at] - rects.start[at], 0) };
          nodes.push(node);
          add(nodes.length - 1, below, depth + 1);
        }
      };
      add(-1, [place], 0);
      return nodes;
    }
  };
  function kept(columns, channel) {
    const places = Array.from(columns.channel.keys()).filter((at) => columns.channel[at] === channel);
    const found = { count: places.length };
    for (const [name, values] of Object.entries(columns)) if (values instanceof Float64Array) found[name] = Float64Array.from(places, (at) => values[at] ?? 0);
    return found;
  }

  // src/csv.ts
  function field(value) {
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  function csv(titles, rows) {
    const lines = [titles.map(field).join(",")];
    for (const row of rows) lines.push(row.map(field).join(","));
    return lines.join("\n") + "\n";
  }
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      const done = document.execCommand("copy");
      box.remove();
      return done;
    }
  }
  function copyButton(make) {
    const made3 = button(
      "Copy CSV",
      () => {
        const text = make();
        made3.dispatchEvent(new CustomEvent("csv", { detail: text, bubbles: true }));
        void copy(text).then((done) => {
          made3.textContent = done ? "Copied" : "Not copied";
          setTimeout(() => {
            made3.textContent = "Copy CSV";
          }, 1200);
        });
      },
      { class: "small copy", title: "Copy this table as CSV" }
    );
    return made3;
  }

  // src/table.ts
  var ROW = 30;
  var AROUND = 8;
  var DataTable = class {
    constructor(columns, options) {
      this.columns = columns;
      this.options = options;
      this.by = (options.sort ?? 0) < 0 ? columns.length + (options.sort ?? 0) : options.sort ?? 0;
      this.up = options.up ?? !columns[this.by]?.number;
      this.wanted = (options.wanted ?? "").toLowerCase();
      this.heads = columns.map(
        (column2, index) => el(
          "div",
          { role: "columnheader", class: column2.number ? "number" : "", title: column2.hint },
          el("button", { type: "button", text: column2.title, onclick: () => this.sortBy(index) })
        )
      );
      this.body = el("div", { class: "rows", role: "rowgroup" });
      this.space = el("div", { class: "space", role: "presentation" }, this.body);
      this.scroll = el(
        "div",
        { class: "grid", tabindex: "0", role: options.pick ? "grid" : "table", "aria-label": options.name },
        el("div", { class: "grid-head", role: "row" }, ...this.heads),
        this.space
      );
      const tracks = columns.map((column2) => column2.width ?? (column2.number ? "6.5rem" : "minmax(7rem, 1fr)"));
      this.scroll.style.setProperty("--tracks", tracks.join(" "));
      const least = tracks.reduce((sum, track) => sum + Number(/([\d.]+)rem/.exec(track)?.[1] ?? 6) + 0.7, 0.6);
      this.scroll.style.setProperty("--least", `${least.toFixed(1)}rem`);
      this.scroll.style.maxHeight = `${options.height ?? 520}px`;
      this.scroll.addEventListener("scroll", () => this.draw());
      this.scroll.addEventListener("keydown", (event) => this.key(event));
      const bar = el("div", { class: "controls" });
      if (options.filter) {
        const input = el("input", {
          type: "search",
          placeholder: options.placeholder ?? "Filter (f)",
          "aria-label": `Filter ${options.name}`,
          value: options.wanted ?? ""
        });
        input.addEventListener("input", () => {
          this.wanted = input.value.trim().toLowerCase();
          this.options.onfilter?.(input.value.trim());
          this.fill();
        });
        bar.append(input);
      }
      bar.append(
        ...(options.extra ?? []).filter((child) => Boolean(child)),
        this.status,
        el("span", { class: "spring" }),
        copyButton(() => this.csv())
      );
      this.element = el("div", { class: "table" }, bar, this.scroll);
      if (typeof ResizeObserver !== "undefined") new ResizeObserver(() => this.draw()).observe(this.scroll);
    }
    columns;
    options;
    element;
    rows = [];
    shown = [];
    chosen = null;
    by;
    up;
    wanted;
    heads;
    scroll;
    space;
    body;
    status = el("span", { class: "label", role: "status" });
    setRows(rows) {
      this.rows = rows;
      this.fill();
      return this;
    }
    get selected() {
      return this.chosen;
    }
    csv() {
      return csv(
        this.columns.map((column2) => column2.title),
        this.shown.map((row) => this.columns.map((column2) => column2.value(row)))
      );
    }
    sortBy(index) {
      this.up = this.by === index ? !this.up : !this.columns[index]?.number;
      this.by = index;
      this.options.onsort?.(index, this.up);
      this.fill();
    }
    // choose a row, and scroll to it
    choose(row, show = true) {
      this.chosen = row;
      const at = row === null ? -1 : this.shown.indexOf(row);
      if (show && at >= 0) {
        const top = at * ROW, view = this.scroll.clientHeight - ROW;
        if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
        else if (top + ROW > this.scroll.scrollTop + view) this.scroll.scrollTop = top + ROW - view;
      }
      this.draw();
    }
    fill() {
      const wanted = this.wanted, filter = this.options.filter;
      this.shown = wanted && filter ? this.rows.filter((row) => filter(row).includes(wanted)) : this.rows.slice();
      const column2 = this.columns[this.by], sign = this.up ? 1 : -1;
      if (column2) {
        const keys = /* @__PURE__ */ new Map();
        for (const row of this.shown) keys.set(row, column2.value(row));
        const places = new Map(this.shown.map((row, place) => [row, place]));
        this.shown.sort((a, b) => {
          const x = keys.get(a), y = keys.get(b);
          return (x < y ? -1 : x > y ? 1 : 0) * sign || places.get(a) - places.get(b);
        });
      }
      this.heads.forEach(
        (head, index) => head.setAttribute("aria-sort", index === this.by ? this.up ? "ascending" : "descending" : "none")
      );
      this.status.textContent = (this.shown.length < this.rows.length ? `${whole(this.shown.length)} of ` : "") + `${whole(this.rows.length)} ${this.options.name}${this.options.note ? ` (${this.options.note})` : ""}`;
      this.scroll.setAttribute("aria-rowcount", String(this.shown.length));
      this.space.style.height = `${this.shown.length * ROW}px`;
      this.scroll.scrollTop = Math.min(this.scroll.scrollTop, this.shown.length * ROW);
      this.draw();
    }
    draw() {
      const height = this.scroll.clientHeight || this.options.height || 520;
      const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW) - AROUND);
      const last = Math.min(this.shown.length, Math.ceil((this.scroll.scrollTop + height) / ROW) + AROUND);
      this.body.style.transform = `translateY(${first * ROW}px)`;
      this.body.replaceChildren(
        ...this.shown.slice(first, last).map((row, offset) => {
          const line = el(
            "div",
            {
              role: "row",
              class: `grid-row${this.options.pick ? " pick" : ""}${row === this.chosen ? " chosen" : ""}`,
              "aria-rowindex": first + offset + 1,
              "aria-selected": this.options.pick ? String(row === this.chosen) : null
            },
            ...this.columns.map((column2) => {
              const text = column2.text ? column2.text(row) : String(column2.value(row));
              const cell = el("div", {
                role: this.options.pick ? "gridcell" : "cell",
                class: column2.number ? "number" : "",
                title: column2.cell ? null : text.slice(0, 400)
              });
              if (column2.cell) cell.append(column2.cell(row));
              else cell.textContent = text;
              return cell;
            })
          );
          if (this.options.pick) line.addEventListener("click", () => this.pick(row));
          return line;
        })
      );
    }
    pick(row) {
      this.choose(row, false);
      this.options.pick?.(row);
    }
    key(event) {
      if (!this.options.pick || event.target !== this.scroll) return;
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity }[event.key];
      if (by !== void 0) {
        const at = this.chosen === null ? -1 : this.shown.indexOf(this.chosen);
        const next = this.shown[Math.max(0, Math.min(this.shown.length - 1, at + by))];
        if (next !== void 0) this.choose(next);
      } else if (event.key === "Enter" && this.chosen !== null) this.pick(this.chosen);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }
  };

  // src/timeline/clock.ts
  var round = (value, digits) => Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 6 });
  function microseconds(value) {
    const size = Math.abs(value);
    if (size >= 12e7) {
      const seconds = Math.round(value / 1e6);
      const minutes = Math.trunc(seconds / 60);
      return Math.abs(minutes) >= 60 ? `${Math.trunc(minutes / 60)} h ${Math.abs(minutes % 60)} min` : `${minutes} min ${Math.abs(seconds % 60)} s`;
    }
    if (size >= 1e6) return round(value / 1e6, 4) + " s";
    if (size >= 1e3) return round(value / 1e3, 4) + " ms";
    if (size >= 1 || size === 0) return round(value, 4) + " \xB5s";
    return round(value * 1e3, 3) + " ns";
  }
  var UNITS = { ns: 1e-3, us: 1, \u00B5s: 1, \u03BCs: 1, ms: 1e3, s: 1e6, min: 6e7, h: 36e8 };
  function parseTime(text) {
    const found = /^\s*([\d.,]+(?:e[+-]?\d+)?)\s*(ns|us|µs|μs|ms|s|min|h)\s*$/i.exec(text);
    if (!found) return NaN;
    const unit = UNITS[(found[2] ?? "").toLowerCase()];
    return unit === void 0 ? NaN : Number((found[1] ?? "").replaceAll(",", "")) * unit;
  }
  function decimalTick(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
    for (const factor of [1, 2, 5, 10]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
  }
  var decimals = (step) => Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
  function moment(time, step) {
    const [unit, size] = step >= 1e6 ? ["s", 1e6] : step >= 1e3 ? ["ms", 1e3] : step >= 1 ? ["\xB5s", 1] : ["ns", 1e-3];
    const value = time / size;
    const most2 = Math.abs(time);
    if (unit !== "s" && most2 >= 1e6) return (time / 1e6).toFixed(decimals(step / 1e6)) + " s";
    if ((unit === "\xB5s" || unit === "ns") && most2 >= 1e4) return (time / 1e3).toFixed(decimals(step / 1e3)) + " ms";
    return value.toLocaleString("en-US", { maximumFractionDigits: 3 }) + " " + unit;
  }
  var relativeClock = { moment, span: microseconds, parse: parseTime, tick: decimalTick };
  var ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((seconds) => seconds * 1e6);
  function wallClock(origin) {
    return {
      moment(time, step) {
        const all = origin + time;
        const seconds = Math.floor(all / 1e6);
        const date = new Date(seconds * 1e3);
        if (Number.isNaN(date.getTime())) return moment(time, step);
        const digits = step >= 1e6 ? 0 : Math.min(6, decimals(step / 1e6));
        const rest = all / 1e6 - seconds;
        return date.toISOString().slice(11, 19) + (digits ? Math.min(rest, 1 - 10 ** -digits).toFixed(digits).slice(1) : "");
      },
      span: microseconds,
      parse: parseTime,
      tick: (least) => least < 1e6 ? decimalTick(least) : ROUND.find((value) => value >= least) ?? decimalTick(least)
    };
  }

  // src/system_panels.ts
  var DEEP = 12;
  function metadataNode(value, depth = 0) {
    if (value === null || typeof value !== "object") return el("code", { text: typeof value === "string" ? value : JSON.stringify(value) ?? "" });
    const entries = Object.entries(value).slice(0, 200);
    if (depth >= DEEP) return el("code", { text: "\u2026" });
    return el("dl", { class: "facts" }, ...entries.flatMap(([name, each]) => [el("dt", { text: name }), el("dd", {}, metadataNode(each, depth + 1))]));
  }
  function callTree(nodes) {
    const all = nodes[0]?.total || 1;
    const depths = [];
    const body = nodes.map((node, at) => {
      const depth = node.parent >= 0 && node.parent < at ? (depths[node.parent] ?? 0) + 1 : 0;
      depths.push(depth);
      const name = el("td", { class: "name", text: node.label });
      name.style.paddingLeft = `${0.4 + 1.1 * Math.min(depth, 30)}rem`;
      const bar = el("div", { class: "tree-bar" });
      bar.style.width = `${Math.max(0, Math.min(100, 100 * node.total / all))}%`;
      return el(
        "tr",
        {},
        name,
        el("td", { class: "number", text: whole(node.count) }),
        el("td", { class: "number", text: microseconds(node.total) }),
        el("td", { class: "number", text: percent(node.total, all) }),
        el("td", { class: "number", text: microseconds(node.self) }),
        el("td", { class: "bar-cell" }, bar)
      );
    });
    const head = ["label", "count", "total", "share", "self", ""].map((text, at) => el("th", { class: at && text ? "number" : "", scope: "col", text }));
    return el("div", { class: "scroll" }, el("table", { "aria-label": "call tree" }, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)));
  }
  function eventCard(event, tree, overview, moment2, open) {
    const row = overview.rows.find((each) => each.id === event.row), channel = overview.channels.find((each) => each.id === event.channel);
    const link = (text, id) => button(text, () => open(id), { class: "link" });
    const stack = el("span", {});
    event.stack.forEach((each) => stack.append(link(each.label, each.id), " \u203A "));
    stack.append(event.label);
    const same = event.same_label;
    const around = el(
      "span",
      { class: "controls around" },
      button("\u2039 before", () => open(event.previous), { class: "small", disabled: event.previous < 0 }),
      button("next \u203A", () => open(event.next), { class: "small", disabled: event.next < 0 })
    );
    const lines = [
      ["events", event.together ? `${plural(event.together, "event")} as one block; the label is that of the longest` : null],
      [event.together ? "from first to last" : "duration", event.kind === "instant" ? "instant event" : `${microseconds(event.duration)}${event.unfinished ? ", not finished when the file was written" : ""}${event.modelled ? ", modelled" : ""}`],
      ["own time", event.kind === "instant" || event.together ? null : `${microseconds(event.self)}, ${percent(event.self, event.duration)}`],
      ["at", moment2(event.start)],
      ["thread", row ? row.kind === "device" ? "IPU, modelled" : row.name || `thread ${row.tid}` : null],
      ["channel", channel?.name ?? null],
      ["inside", event.stack.length ? stack : null],
      ["same label", same.count > 1 ? el("span", {}, `${plural(same.count, "event")}, ${microseconds(same.total)} in total; ${Number.isNaN(same.least) ? "up to" : `${microseconds(same.least)} to`} ${microseconds(same.most)}, ${microseconds(same.mean)} on average  `, around) : null],
      ["metadata", event.metadata === null || event.metadata === void 0 ? null : metadataNode(event.metadata)]
    ];
    return card(
      event.label || "(no label)",
      el("dl", { class: "facts" }, ...lines.flatMap(([name, value]) => value ? [el("dt", { text: name }), el("dd", {}, value)] : [])),
      tree.length > 1 ? el("h3", { text: "Call tree", class: "gap" }) : null,
      tree.length > 1 ? callTree(tree) : null,
      event.children_total > event.children.length ? note(`The first ${whole(event.children.length)} of ${whole(event.children_total)} inner events are listed.`) : null
    );
  }
  function labelTable(found, overview, find) {
    const channel = (id) => overview.channels.find((each) => each.id === id)?.name ?? "";
    const all = Math.max(1e-9, found.end - found.start);
    const table = new DataTable([
      { title: "label", value: (row) => row.label, width: "minmax(9rem, 3fr)" },
      { title: "channel", value: (row) => channel(row.channel), width: "minmax(5rem, 1fr)" },
      { title: "count", number: true, value: (row) => row.count, text: (row) => whole(row.count) },
      { title: "total", number: true, value: (row) => row.total, text: (row) => microseconds(row.total), hint: "the sum of the durations of all events with this label" },
      { title: "of the time", number: true, value: (row) => row.total / all, text: (row) => percent(row.total, all), hint: "more than 100% if several threads work at once" },
      { title: "self", number: true, value: (row) => row.self, text: (row) => microseconds(row.self), hint: "without the events inside" },
      { title: "mean", number: true, value: (row) => row.total / Math.max(1, row.count), text: (row) => microseconds(row.total / Math.max(1, row.count)) },
      { title: "longest", number: true, value: (row) => row.most, text: (row) => microseconds(row.most) }
    ], {
      name: "labels",
      sort: 3,
      height: 420,
      filter: (row) => row.label.toLowerCase(),
      pick: (row) => find(row.label),
      ...found.total > found.labels.length ? { note: `the longest of ${whole(found.total)}` } : {}
    });
    table.setRows(found.labels);
    if (!found.rough) return table.element;
    return el("div", {}, note("Approximate: this page holds part of the area as blocks of several events, which count as events of their longest label. \u201Ctremula view --serve\u201D gives exact figures."), table.element);
  }

  // src/timeline/model.ts
  function clamp(value, low, high) {
    return value < low ? low : value > high ? high : value;
  }

  // src/timeline/raster.ts
  function packed(red, green, blue) {
    return (4278190080 | blue << 16 | green << 8 | red) >>> 0;
  }
  function mixed(under, over, share) {
    const part = share <= 0 ? 0 : share >= 1 ? 1 : share;
    const rest = 1 - part;
    const red = (under & 255) * rest + (over & 255) * part;
    const green = (under >>> 8 & 255) * rest + (over >>> 8 & 255) * part;
    const blue = (under >>> 16 & 255) * rest + (over >>> 16 & 255) * part;
    return packed(Math.round(red), Math.round(green), Math.round(blue));
  }
  var Raster = class {
    width = 0;
    height = 0;
    clipTop = 0;
    clipBottom = 0;
    pixels = new Uint32Array(0);
    image = null;
    /** Device pixels. */
    resize(width, height) {
      if (width === this.width && height === this.height && this.image) return;
      this.width = width;
      this.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.clip(0, height);
    }
    clear(colour) {
      this.pixels.fill(colour);
    }
    clip(top, bottom) {
      this.clipTop = Math.max(0, Math.min(this.height, Math.round(top)));
      this.clipBottom = Math.max(this.clipTop, Math.min(this.height, Math.round(bottom)));
    }
    /** Fill a box; its edges are whole device pixels. */
    box(left, top, right, bottom, colour) {
      const x0 = left < 0 ? 0 : left;
      const x1 = right > this.width ? this.width : right;
      if (x1 <= x0) return;
      const y0 = top < this.clipTop ? this.clipTop : top;
      const y1 = bottom > this.clipBottom ? this.clipBottom : bottom;
      const { pixels, width } = this;
      if (x1 - x0 === 1) {
        for (let at = y0 * width + x0, y = y0; y < y1; y++, at += width) pixels[at] = colour;
        return;
      }
      for (let at = y0 * width, y = y0; y < y1; y++, at += width) pixels.fill(colour, at + x0, at + x1);
    }
    show(context) {
      if (this.image) context.putImageData(this.image, 0, 0);
    }
  };

  // src/timeline/theme.ts
  var HUES = [
    "#8fb3f5",
    "#f0b072",
    "#8bcfae",
    "#e79ab9",
    "#bfaee8",
    "#dfca74",
    "#83cbdb",
    "#e59a85",
    "#a9c77d",
    "#c9a58f",
    "#9fb4c9",
    "#d7a8e0"
  ];
  var LINES = ["#3d6fd9", "#d1495b", "#2a9d6f", "#b7791f", "#7a5cc7", "#1f8fa6", "#c0568f", "#6b7280"];
  var LINES_DARK = ["#7ea6ff", "#ff8b98", "#63d3a2", "#f2c76b", "#b79cf5", "#5fd0e4", "#f08fc0", "#a7b0bf"];
  function pixel(colour) {
    const text = colour.trim();
    if (/^#[0-9a-f]{6}$/i.test(text)) {
      const value = parseInt(text.slice(1), 16);
      return packed(value >> 16, value >> 8 & 255, value & 255);
    }
    if (/^#[0-9a-f]{3}$/i.test(text)) {
      const [r, g, b] = [...text.slice(1)].map((digit) => parseInt(digit + digit, 16));
      return packed(r ?? 0, g ?? 0, b ?? 0);
    }
    const parts = /^rgba?\(\s*(\d+)[ ,]+(\d+)[ ,]+(\d+)/.exec(text);
    return parts ? packed(Number(parts[1]), Number(parts[2]), Number(parts[3])) : packed(128, 128, 128);
  }
  function readTheme(node) {
    const style = getComputedStyle(node);
    const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    const ground = read("--card", "#ffffff");
    const value = pixel(ground);
    return {
      dark: (value & 255) + (value >>> 8 & 255) + (value >>> 16 & 255) < 384,
      ground,
      ink: read("--ink", "#1c2330"),
      soft: read("--soft", "#5b6575"),
      line: read("--line", "#dfe3ea"),
      grid: read("--grid", "#e9ecf1"),
      accent: read("--accent", "#2f5fd0"),
      bad: read("--bad", "#b3261e"),
      groundPixel: value,
      band: pixel(read("--ground", "#f6f7f9"))
    };
  }
  function onThemeChange(change) {
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", change);
    const observer = new MutationObserver(change);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme", "class"] });
    return () => {
      media.removeEventListener("change", change);
      observer.disconnect();
    };
  }
  function hue(text) {
    let hash = 2166136261;
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
    return (hash >>> 0) % HUES.length;
  }

  // src/timeline/counter_row.ts
  var FAN = 16;
  var Bounds = class {
    low = [];
    high = [];
    constructor(value) {
      this.low.push(value);
      this.high.push(value);
      while (this.low[this.low.length - 1].length > FAN) {
        const below = this.low[this.low.length - 1];
        const above = this.high[this.high.length - 1];
        const count = Math.ceil(below.length / FAN);
        const low = new Float64Array(count).fill(Infinity);
        const high = new Float64Array(count).fill(-Infinity);
        for (let at = 0; at < below.length; at++) {
          const into = Math.floor(at / FAN);
          if (below[at] < low[into]) low[into] = below[at];
          if (above[at] > high[into]) high[into] = above[at];
        }
        this.low.push(low);
        this.high.push(high);
      }
    }
    /** Of the values from `first` up to, not including, `last`. */
    of(first, last) {
      let low = Infinity;
      let high = -Infinity;
      let level = 0;
      while (first < last) {
        const lows = this.low[level];
        const highs = this.high[level];
        const top = level === this.low.length - 1;
        while (first < last && (top || first % FAN !== 0)) {
          if (lows[first] < low) low = lows[first];
          if (highs[first] > high) high = highs[first];
          first++;
        }
        while (first < last && last % FAN !== 0) {
          last--;
          if (lows[last] < low) low = lows[last];
          if (highs[last] > high) high = highs[last];
        }
        first /= FAN;
        last /= FAN;
        level++;
      }
      return [low, high];
    }
  };
  function firstAfter(times, time) {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  function figure(value) {
    if (!Number.isFinite(value)) return String(value);
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
    return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
  }
  var CounterRow = class {
    constructor(id, name, unit, series, more = {}) {
      this.id = id;
      this.name = name;
      this.unit = unit;
      this.series = series;
      if (more.parent !== void 0) this.parent = more.parent;
      if (more.note !== void 0) this.note = more.note;
      this.bounds = series.map((line) => new Bounds(line.value));
      series.forEach((line, at) => {
        const [low, high] = this.bounds[at].of(0, line.value.length);
        this.low = Math.min(this.low, low);
        this.high = Math.max(this.high, high);
      });
      if (!(this.low <= this.high)) [this.low, this.high] = [0, 1];
      if (this.low > 0 && this.low < this.high * 0.8) this.low = 0;
      if (this.low === this.high) this.high = this.low + (Math.abs(this.low) || 1);
    }
    id;
    name;
    unit;
    series;
    foldable = true;
    note;
    parent;
    filled = false;
    bounds;
    low = Infinity;
    high = -Infinity;
    height(folded) {
      return folded ? 24 : 84;
    }
    extent() {
      let from = Infinity;
      let to = -Infinity;
      for (const line of this.series) {
        if (!line.time.length) continue;
        from = Math.min(from, line.time[0]);
        to = Math.max(to, line.time[line.time.length - 1]);
      }
      return from <= to ? { from, to } : null;
    }
    paint() {
    }
    colour(at, dark) {
      const table = dark ? LINES_DARK : LINES;
      return table[at % table.length];
    }
    y(value, pane) {
      const inside = pane.height - 10;
      return pane.top + pane.height - 5 - inside * (clamp(value, this.low, this.high) - this.low) / (this.high - this.low);
    }
    draw(pane) {
      const { context, from, to, scale, theme: theme2, width, ratio } = pane;
      const columns = Math.ceil(width * ratio);
      this.series.forEach((line, number) => {
        const first = Math.max(0, firstAfter(line.time, from) - 1);
        const last = Math.min(line.time.length, firstAfter(line.time, to) + 1);
        if (last <= first) return;
        const path = new Path2D();
        const under = new Path2D();
        const x = (time) => (time - from) * scale;
        const ground = pane.top + pane.height - 5;
        if (last - first <= columns * 2) {
          path.moveTo(x(line.time[first]), this.y(line.value[first], pane));
          under.moveTo(x(line.time[first]), ground);
          for (let at = first; at < last; at++) {
            path.lineTo(x(line.time[at]), this.y(line.value[at], pane));
            under.lineTo(x(line.time[at]), this.y(line.value[at], pane));
          }
          under.lineTo(x(line.time[last - 1]), ground);
        } else {
          let begin = first;
          under.moveTo(Math.max(0, x(line.time[first])), ground);
          let edge = 0;
          for (let column2 = 0; column2 < columns && begin < last; column2++) {
            edge = (column2 + 1) / ratio;
            const end = Math.min(last, Math.max(begin, firstAfter(line.time, from + edge / scale)));
            if (end <= begin) continue;
            const [low, high] = this.bounds[number].of(begin, end);
            path.lineTo(edge, this.y(low, pane));
            path.lineTo(edge, this.y(high, pane));
            under.lineTo(edge, this.y(high, pane));
            begin = end;
          }
          under.lineTo(edge, ground);
        }
        const colour = this.colour(number, theme2.dark);
        if (this.filled) {
          context.globalAlpha = 0.28;
          context.fillStyle = colour;
          context.fill(under);
          context.globalAlpha = 1;
        }
        context.strokeStyle = colour;
        context.lineWidth = 1.3;
        context.lineJoin = "round";
        context.stroke(path);
        if (last - first <= 60) {
          context.fillStyle = colour;
          for (let at = first; at < last; at++) context.fillRect(x(line.time[at]) - 1.5, this.y(line.value[at], pane) - 1.5, 3, 3);
        }
      });
      if (pane.folded) return;
      context.font = "10.5px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (const [value, y] of [[this.high, pane.top + 8], [this.low, pane.top + pane.height - 9]]) {
        const text = figure(value) + (this.unit ? " " + this.unit : "");
        context.globalAlpha = 0.8;
        context.fillStyle = theme2.ground;
        context.fillRect(2, y - 7, text.length * 6 + 4, 14);
        context.globalAlpha = 1;
        context.fillStyle = theme2.soft;
        context.fillText(text, 4, y);
      }
    }
    at(time, _y, reach) {
      let near = Infinity;
      let moment2 = time;
      const lines = [];
      this.series.forEach((line, number) => {
        const after = firstAfter(line.time, time);
        const before = after - 1;
        const left = before >= 0 ? time - line.time[before] : Infinity;
        const right = after < line.time.length ? line.time[after] - time : Infinity;
        if (Math.min(left, right) === Infinity) return;
        const index = left <= right || right > reach ? before >= 0 ? before : after : after;
        const off = Math.abs(line.time[index] - time);
        if (before < 0 && off > reach) return;
        if (off < near) {
          near = off;
          moment2 = line.time[index];
        }
        lines.push([line.name, figure(line.value[index]) + (this.unit ? " " + this.unit : ""), this.colour(number, false)]);
      });
      if (!lines.length) return null;
      const title = this.name;
      return { row: this.id, key: String(moment2), from: moment2, to: moment2, top: 0, height: 0, tip: () => ({ title, lines }) };
    }
  };

  // src/timeline/text.ts
  var letter = 6.6;
  var calibrated = false;
  function calibrate(context) {
    if (calibrated) return;
    calibrated = true;
    context.font = "11px system-ui, sans-serif";
    const sample = "net.layer12/attention/Convolve_0 micro-batch";
    letter = Math.max(4, context.measureText(sample).width / sample.length * 1.06);
  }
  function fitted(text, width) {
    const letters = Math.floor(width / letter);
    if (letters < 2) return "";
    const clean = plain(text);
    if (clean.length <= letters) return clean;
    return letters < 4 ? clean.slice(0, letters) : clean.slice(0, letters - 1) + "\u2026";
  }
  function plain(text) {
    const short = text.length > 300 ? text.slice(0, 299) + "\u2026" : text;
    return short.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\uFFFD");
  }

  // src/timeline/flag_row.ts
  var APART = 7;
  var FlagRow = class {
    constructor(id, name, events, tipOf, more = {}) {
      this.id = id;
      this.name = name;
      this.events = events;
      this.tipOf = tipOf;
      if (more.parent !== void 0) this.parent = more.parent;
      if (more.note !== void 0) this.note = more.note;
    }
    id;
    name;
    events;
    tipOf;
    note;
    parent;
    matched = null;
    needle = "";
    height() {
      return 26;
    }
    extent() {
      const { time } = this.events;
      return time.length ? { from: time[0], to: time[time.length - 1] } : null;
    }
    paint() {
    }
    after(time) {
      const times = this.events.time;
      let low = 0;
      let high = times.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (times[middle] < time) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    draw(pane) {
      const { context, from, to, scale, theme: theme2 } = pane;
      const { time, label, labels } = this.events;
      context.font = "10.5px system-ui, sans-serif";
      context.textBaseline = "middle";
      let at = this.after(from - APART / scale);
      while (at < time.length && time[at] <= to) {
        const x = (time[at] - from) * scale;
        const next = Math.max(at + 1, this.after(time[at] + APART / scale));
        const room = (next < time.length ? (time[next] - from) * scale : pane.width) - x;
        let wanted = at;
        if (this.matched) {
          for (let seen = at; seen < Math.min(next, at + 64); seen++) if (this.matched[label[seen]]) wanted = seen;
        }
        const dim = this.matched !== null && !this.matched[label[wanted]];
        context.globalAlpha = dim ? 0.3 : 1;
        context.strokeStyle = theme2.soft;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, pane.top + 8);
        context.lineTo(x, pane.top + 24);
        context.stroke();
        context.fillStyle = HUES[hue(labels[label[wanted]] ?? "")];
        context.beginPath();
        context.moveTo(x - 5, pane.top + 7);
        context.lineTo(x, pane.top + 2);
        context.lineTo(x + 5, pane.top + 7);
        context.lineTo(x, pane.top + 12);
        context.closePath();
        context.fill();
        context.stroke();
        let count = 0;
        for (let seen = at; seen < next; seen++) count += this.events.events ? this.events.events[seen] : 1;
        const words = count > 1 ? `${count.toLocaleString("en-US")} events` : labels[label[at]] ?? "";
        const text = room > 40 ? fitted(words, room - 14) : "";
        if (text) {
          context.fillStyle = theme2.ink;
          context.fillText(text, x + 8, pane.top + 10);
        }
        context.globalAlpha = 1;
        at = next;
      }
    }
    made(event) {
      const time = this.events.time[event];
      return { row: this.id, key: String(this.events.id ? this.events.id[event] : event), from: time, to: time, top: 1, height: 24, tip: () => this.tipOf(event) };
    }
    at(time, _y, reach) {
      const { time: times } = this.events;
      const after = this.after(time);
      const left = after > 0 ? time - times[after - 1] : Infinity;
      const right = after < times.length ? times[after] - time : Infinity;
      if (Math.min(left, right) > 2 * reach) return null;
      return this.made(left < right ? after - 1 : after);
    }
    item(key) {
      const id = Number(key);
      const event = this.events.id ? Array.prototype.indexOf.call(this.events.id, id) : id;
      return Number.isInteger(event) && event >= 0 && event < this.events.time.length ? this.made(event) : null;
    }
    /** Other events: those of a part of the time, more exact. */
    show(events) {
      this.events = events;
      this.mark(this.needle);
    }
    mark(needle) {
      this.needle = needle;
      this.matched = needle ? Uint8Array.from(this.events.labels, (text) => text.toLowerCase().includes(needle) ? 1 : 0) : null;
    }
    find(needle, most2) {
      if (!needle) return { matches: [], total: 0 };
      const { labels, label, time } = this.events;
      const matched = labels.map((text) => text.toLowerCase().includes(needle));
      const matches = [];
      let total = 0;
      for (let at = 0; at < time.length; at++) {
        if (!matched[label[at]]) continue;
        total++;
        if (matches.length < most2)
          matches.push({ row: this.id, from: time[at], to: time[at], key: String(this.events.id ? this.events.id[at] : at), text: labels[label[at]] ?? "" });
      }
      return { matches, total };
    }
  };

  // src/timeline/span_tree.ts
  var FAN2 = 16;
  var SpanTree = class {
    /** Starts ascend; `items` are the numbers that callers know the spans by. */
    constructor(items, start2, end) {
      this.items = items;
      this.start = start2;
      this.end = end;
      const count = items.length;
      const busy = new Float64Array(count);
      for (let at = 0; at < count; at++) busy[at] = Math.max(0, end[at] - start2[at]);
      let below = { start: start2, end, busy, top: Int32Array.from({ length: count }, (_, at) => at) };
      this.levels.push(below);
      while (below.start.length > FAN2) {
        below = joined(below, busy);
        this.levels.push(below);
      }
    }
    items;
    start;
    end;
    levels = [];
    /** Visit what overlaps the range: `single` for spans wider than `least` of time or without neighbours, `many` for the rest. */
    visit(from, to, least, single, many) {
      const walk = (level, first, last) => {
        const { start: start2, end, busy, top: top2 } = this.levels[level];
        for (let at = first; at < last; at++) {
          const low = start2[at];
          const high = end[at];
          if (low > to) return;
          if (high < from) continue;
          if (level === 0) single(at, low, high);
          else if (high - low <= least) many(low, high, busy[at], top2[at]);
          else walk(level - 1, at * FAN2, Math.min(at * FAN2 + FAN2, this.levels[level - 1].start.length));
        }
      };
      const top = this.levels.length - 1;
      walk(top, 0, this.levels[top].start.length);
    }
    /** The span at a time, or the nearest within reach; -1 if there is none. */
    at(time, reach) {
      let low = 0;
      let high = this.start.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.start[middle] <= time) low = middle + 1;
        else high = middle;
      }
      const before = low - 1;
      if (before >= 0 && this.end[before] >= time) return before;
      const left = before >= 0 ? time - this.end[before] : Infinity;
      const right = low < this.start.length ? this.start[low] - time : Infinity;
      if (Math.min(left, right) > reach) return -1;
      return left <= right ? before : low;
    }
  };
  function joined(below, lengths) {
    const count = Math.ceil(below.start.length / FAN2);
    const level = {
      start: new Float64Array(count),
      end: new Float64Array(count),
      busy: new Float64Array(count),
      top: new Int32Array(count)
    };
    for (let at = 0; at < count; at++) {
      const first = at * FAN2;
      const last = Math.min(first + FAN2, below.start.length);
      let end = -Infinity;
      let busy = 0;
      let top = below.top[first];
      for (let child = first; child < last; child++) {
        if (below.end[child] > end) end = below.end[child];
        busy += below.busy[child];
        const candidate = below.top[child];
        if (lengths[candidate] > lengths[top]) top = candidate;
      }
      level.start[at] = below.start[first];
      level.end[at] = end;
      level.busy[at] = busy;
      level.top[at] = top;
    }
    return level;
  }

  // src/timeline/span_set.ts
  var SpanSet = class {
    constructor(spans) {
      this.spans = spans;
      const count = spans.start.length;
      const sizes = [];
      const depthOf = (at) => spans.depth ? spans.depth[at] : 0;
      for (let at = 0; at < count; at++) sizes[depthOf(at)] = (sizes[depthOf(at)] ?? 0) + 1;
      this.depths = Math.max(1, sizes.length);
      const items = Array.from({ length: this.depths }, (_, depth) => new Int32Array(sizes[depth] ?? 0));
      const filled = new Int32Array(this.depths);
      for (let at = 0; at < count; at++) {
        const depth = depthOf(at);
        items[depth][filled[depth]++] = at;
      }
      for (const list of items) {
        const start2 = new Float64Array(list.length);
        const end = new Float64Array(list.length);
        for (let at = 0; at < list.length; at++) {
          start2[at] = spans.start[list[at]];
          end[at] = spans.end[list[at]];
        }
        this.trees.push(new SpanTree(list, start2, end));
      }
      if (spans.colour && spans.colours) {
        this.pixels = Uint32Array.from(spans.colours, pixel);
        this.colourOf = spans.colour;
      } else {
        this.pixels = Uint32Array.from(HUES, pixel);
        const table = spans.labels.map(hue);
        this.colourOf = Int32Array.from({ length: count }, (_, at) => table[spans.label[at]] ?? 0);
      }
    }
    spans;
    depths;
    trees = [];
    pixels;
    colourOf;
    label(span) {
      return this.spans.labels[this.spans.label[span]] ?? "";
    }
    id(span) {
      return this.spans.id ? this.spans.id[span] : span;
    }
    depth(span) {
      return this.spans.depth ? this.spans.depth[span] : 0;
    }
    events(span) {
      return this.spans.events ? this.spans.events[span] : 1;
    }
    /** How much of it is covered, 0 to 1: less than 1 only for blocks of several events. */
    dense(span) {
      if (!this.spans.busy || this.events(span) <= 1) return 1;
      const length = this.spans.end[span] - this.spans.start[span];
      return length > 0 ? Math.min(1, this.spans.busy[span] / length) : 1;
    }
    range() {
      let from = Infinity;
      let to = -Infinity;
      for (const tree of this.trees) {
        const level = tree.levels[tree.levels.length - 1];
        for (let at = 0; at < level.start.length; at++) {
          from = Math.min(from, level.start[at]);
          to = Math.max(to, level.end[at]);
        }
      }
      return [from, to];
    }
  };

  // src/timeline/flame_row.ts
  var FlameRow = class {
    constructor(spans, options) {
      this.options = options;
      this.id = options.id;
      this.name = options.name;
      if (options.note !== void 0) this.note = options.note;
      if (options.parent !== void 0) this.parent = options.parent;
      this.sketched = options.sketched ?? true;
      this.band = options.band ?? 18;
      this.base = new SpanSet(spans);
    }
    options;
    id;
    name;
    note;
    parent;
    sketched;
    base;
    detail = null;
    band;
    needle = "";
    marks = /* @__PURE__ */ new WeakMap();
    /** Spans of a part of the time, more exact than those of the whole. */
    show(spans, from, to) {
      this.detail = { set: new SpanSet(spans), from, to };
    }
    get depths() {
      return this.options.depths ?? this.base.depths;
    }
    get foldable() {
      return this.depths > 1;
    }
    height(folded) {
      return (folded ? 1 : this.depths) * this.band + 4;
    }
    extent() {
      const [from, to] = this.base.range();
      return from <= to ? { from, to } : null;
    }
    set(from, to) {
      return this.detail && this.detail.from <= from && this.detail.to >= to ? this.detail.set : this.base;
    }
    marked(set) {
      if (!this.needle) return null;
      let found = this.marks.get(set);
      if (!found) {
        found = Uint8Array.from(set.spans.labels, (text) => text.toLowerCase().includes(this.needle) ? 1 : 0);
        this.marks.set(set, found);
      }
      return found;
    }
    paint(pane) {
      const { raster, ratio, from, to } = pane;
      const ground = pane.theme.groundPixel;
      const set = this.set(from, to);
      const marked = this.marked(set);
      const scale = pane.scale * ratio;
      const width = raster.width;
      const busy = new Float64Array(width);
      const widest = new Float64Array(width);
      const colour = new Uint32Array(width);
      const band = pane.folded ? Math.max(1, pane.height - 3) : this.band;
      const shade = (item) => {
        const own = set.pixels[set.colourOf[item]] ?? ground;
        return marked && !marked[set.spans.label[item]] ? mixed(ground, own, 0.22) : own;
      };
      for (let depth = 0; depth < Math.min(pane.folded ? 1 : this.depths, set.depths); depth++) {
        const top = Math.round((pane.top + 2 + depth * band) * ratio);
        const bottom = Math.max(top + 1, Math.round((pane.top + 1 + (depth + 1) * band) * ratio));
        if (bottom < raster.clipTop || top > raster.clipBottom) continue;
        busy.fill(0);
        widest.fill(0);
        const tree = set.trees[depth];
        const small2 = (start2, end, time, item) => {
          const first = clamp(Math.floor((start2 - from) * scale), 0, width - 1);
          const last = clamp(Math.floor((end - from) * scale), first, width - 1);
          const share = time * scale / (last - first + 1);
          for (let x = first; x <= last; x++) {
            busy[x] += share;
            if (time >= widest[x]) {
              widest[x] = Math.max(time, Number.MIN_VALUE);
              colour[x] = shade(item);
            }
          }
        };
        tree.visit(
          from,
          to,
          1.5 / scale,
          (at, start2, end) => {
            const item = tree.items[at];
            const left = Math.round((Math.max(start2, from) - from) * scale);
            const right = Math.round((Math.min(end, to) - from) * scale);
            const dense = set.dense(item);
            if (right - left < 2) return small2(start2, end, (end - start2) * dense, item);
            const own = dense < 1 ? mixed(ground, shade(item), 0.35 + 0.65 * dense) : shade(item);
            raster.box(left, top, right - left > 3 ? right - 1 : right, bottom, own);
          },
          (start2, end, time, longest) => small2(start2, end, time, tree.items[longest])
        );
        for (let x = 0; x < width; x++)
          if (widest[x] > 0) raster.box(x, top, x + 1, bottom, mixed(ground, colour[x], 0.35 + 0.65 * Math.min(1, busy[x])));
      }
    }
    draw(pane) {
      const { context, from, to, scale } = pane;
      const set = this.set(from, to);
      const marked = this.marked(set);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      for (let depth = 0; depth < Math.min(pane.folded ? 1 : this.depths, set.depths); depth++) {
        const top = pane.top + 2 + depth * this.band;
        if (top + this.band < pane.clipTop || top > pane.clipBottom) continue;
        const tree = set.trees[depth];
        tree.visit(
          from,
          to,
          26 / scale,
          (at, start2, end) => {
            const left = (Math.max(start2, from) - from) * scale;
            const right = (Math.min(end, to) - from) * scale;
            if (right - left < 26) return;
            const item = tree.items[at];
            const count = set.events(item);
            const words = this.options.words?.(set, item) ?? (count > 1 ? `${count.toLocaleString("en-US")} \xD7 ${set.label(item)} \u2026` : set.label(item));
            const text = fitted(words, right - left - 8);
            if (!text) return;
            const dim = marked && !marked[set.spans.label[item]];
            context.globalAlpha = dim ? 0.5 : 1;
            context.fillStyle = dim ? pane.theme.ink : "#161b24";
            context.fillText(text, left + 4, top + this.band / 2, right - left - 6);
          },
          () => void 0
        );
        context.globalAlpha = 1;
      }
    }
    made(set, span) {
      return {
        row: this.id,
        key: String(set.id(span)),
        from: set.spans.start[span],
        to: set.spans.end[span],
        top: 2 + set.depth(span) * this.band,
        height: this.band - 1,
        tip: () => this.options.tip(set, span)
      };
    }
    at(time, y, reach, folded) {
      const set = this.set(time, time);
      const depth = Math.floor((y - 2) / this.band);
      const tree = depth >= 0 && depth < (folded ? 1 : this.depths) ? set.trees[depth] : void 0;
      const found = tree ? tree.at(time, reach) : -1;
      return tree && found >= 0 ? this.made(set, tree.items[found]) : null;
    }
    item(key) {
      const id = Number(key);
      for (const set of [this.detail?.set, this.base]) {
        if (!set || !Number.isInteger(id)) continue;
        const span = set.spans.id ? Array.prototype.indexOf.call(set.spans.id, id) : id;
        if (span >= 0 && span < set.spans.start.length) return this.made(set, span);
      }
      return null;
    }
    mark(needle) {
      if (needle !== this.needle) this.marks = /* @__PURE__ */ new WeakMap();
      this.needle = needle;
    }
    find(needle, most2) {
      const matches = [];
      let total = 0;
      if (!needle) return { matches, total };
      const { labels, label, start: start2, end } = this.base.spans;
      const wanted = labels.map((text) => text.toLowerCase().includes(needle));
      for (let at = 0; at < start2.length; at++) {
        if (!wanted[label[at]]) continue;
        total++;
        if (matches.length < most2)
          matches.push({ row: this.id, from: start2[at], to: end[at], key: String(this.base.id(at)), text: labels[label[at]] ?? "" });
      }
      return { matches, total };
    }
  };

  // src/timeline/heading_row.ts
  var HeadingRow = class {
    constructor(id, name, note2, parent) {
      this.id = id;
      this.name = name;
      if (note2 !== void 0) this.note = note2;
      if (parent !== void 0) this.parent = parent;
    }
    id;
    name;
    heading = true;
    foldable = true;
    note;
    parent;
    height() {
      return 26;
    }
    extent() {
      return null;
    }
    paint(pane) {
      const { raster, ratio } = pane;
      raster.box(0, Math.round(pane.top * ratio), raster.width, Math.round((pane.top + pane.height) * ratio), pane.theme.band);
    }
    draw(pane) {
      if (!this.note) return;
      const { context } = pane;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillStyle = pane.theme.soft;
      context.fillText(fitted(this.note, pane.width - 16), 8, pane.top + pane.height / 2);
    }
    at() {
      return null;
    }
  };

  // src/timeline/heat_row.ts
  var HOT = [packed(59, 82, 165), packed(86, 160, 178), packed(233, 196, 106), packed(230, 120, 70), packed(178, 38, 60)];
  function warm(share) {
    const place = clamp(share, 0, 1) * (HOT.length - 1);
    const below = Math.min(HOT.length - 2, Math.floor(place));
    return mixed(HOT[below], HOT[below + 1], place - below);
  }
  var HeatRow = class {
    /** `count` has the bins of the first moment, then those of the second; `edges` is one longer than the bins. */
    constructor(id, name, unit, time, edges, count, more = {}) {
      this.id = id;
      this.name = name;
      this.unit = unit;
      this.time = time;
      this.edges = edges;
      this.count = count;
      if (more.parent !== void 0) this.parent = more.parent;
      if (more.note !== void 0) this.note = more.note;
      this.bins = Math.max(1, edges.length - 1);
      for (let at = 0; at < count.length; at++) this.most = Math.max(this.most, count[at]);
    }
    id;
    name;
    unit;
    time;
    edges;
    count;
    foldable = true;
    note;
    parent;
    most = 0;
    bins;
    height(folded) {
      return folded ? 24 : clamp(this.bins * 6, 60, 132);
    }
    extent() {
      return this.time.length ? { from: this.time[0], to: this.time[this.time.length - 1] } : null;
    }
    after(time) {
      let low = 0;
      let high = this.time.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.time[middle] <= time) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    /** A moment holds until the next; the last for as long as the one before it. */
    until(at) {
      if (at + 1 < this.time.length) return this.time[at + 1];
      return this.time[at] + (at > 0 ? this.time[at] - this.time[at - 1] : 1);
    }
    paint(pane) {
      const { raster, ratio, from, to } = pane;
      const scale = pane.scale * ratio;
      const top = (pane.top + 2) * ratio;
      const high = (pane.height - 4) * ratio;
      const sums = new Float64Array(this.bins);
      const last = Math.min(this.time.length, this.after(to));
      let at = Math.max(0, this.after(from) - 1);
      while (at < last) {
        const left = Math.round((this.time[at] - from) * scale);
        sums.fill(0);
        let right = left;
        do {
          for (let bin = 0; bin < this.bins; bin++) sums[bin] = Math.max(sums[bin], this.count[at * this.bins + bin] ?? 0);
          right = Math.round((this.until(at) - from) * scale);
          at++;
        } while (at < last && right <= left);
        for (let bin = 0; bin < this.bins; bin++) {
          if (sums[bin] <= 0) continue;
          const y0 = Math.round(top + high * (this.bins - 1 - bin) / this.bins);
          const y1 = Math.round(top + high * (this.bins - bin) / this.bins);
          raster.box(left, y0, Math.max(right, left + 1), Math.max(y1, y0 + 1), warm(Math.log1p(sums[bin]) / Math.log1p(this.most)));
        }
      }
    }
    draw(pane) {
      if (pane.folded) return;
      const { context, theme: theme2 } = pane;
      context.font = "10.5px system-ui, sans-serif";
      context.textBaseline = "middle";
      const ends = [[this.edges[this.bins] ?? 0, pane.top + 9], [this.edges[0] ?? 0, pane.top + pane.height - 9]];
      for (const [value, y] of ends) {
        const text = figure(value) + (this.unit ? " " + this.unit : "");
        context.globalAlpha = 0.8;
        context.fillStyle = theme2.ground;
        context.fillRect(2, y - 7, text.length * 6 + 4, 14);
        context.globalAlpha = 1;
        context.fillStyle = theme2.ink;
        context.fillText(text, 4, y);
      }
    }
    at(time, y, _reach, folded) {
      const at = this.after(time) - 1;
      if (at < 0 || time > this.until(at)) return null;
      const high = this.height(folded) - 4;
      const bin = clamp(this.bins - 1 - Math.floor((y - 2) / high * this.bins), 0, this.bins - 1);
      const count = this.count[at * this.bins + bin] ?? 0;
      let all = 0;
      for (let other = 0; other < this.bins; other++) all += this.count[at * this.bins + other] ?? 0;
      const unit = this.unit ? " " + this.unit : "";
      const lines = [
        ["between", `${figure(this.edges[bin] ?? 0)} and ${figure(this.edges[bin + 1] ?? 0)}${unit}`],
        ["values", figure(count)],
        ["of", figure(all)]
      ];
      return {
        row: this.id,
        key: `${at}.${bin}`,
        from: this.time[at],
        to: this.until(at),
        top: 2 + high * (this.bins - 1 - bin) / this.bins,
        height: high / this.bins,
        tip: () => ({ title: this.name, lines })
      };
    }
  };

  // src/system_rows.ts
  function partition(row) {
    const found = /* @__PURE__ */ new Map();
    for (let at = 0; at < row.length; ) {
      let end = at + 1;
      while (end < row.length && row[end] === row[at]) end++;
      found.set(row[at], [at, end]);
      at = end;
    }
    return found;
  }
  var shifted = (values, by) => by ? values.map((value) => value - by) : values.slice();
  var SystemRows = class {
    // `shift` moves a process so that it begins at 0, when times are relative
    constructor(overview, whole_, series, heat, shift, colour) {
      this.overview = overview;
      this.shift = shift;
      this.colour = colour;
      this.devices = new Set(overview.rows.filter((row) => row.kind === "device").map((row) => row.id));
      const spans = this.spans(whole_), instants = this.instants(whole_);
      const lines = new Map(series.map((line) => [line.id, line]));
      for (const process of overview.processes) {
        const parent = `p${process.id}`;
        const where = [process.instance >= 0 ? `instance ${process.instance}` : "", process.host, `pid ${process.pid}`].filter(Boolean).join(", ");
        const which = overview.processes.length < 2 ? "" : process.instance >= 0 ? ` (instance ${process.instance})` : ` (pid ${process.pid})`;
        this.rows.push(new HeadingRow(parent, process.name + which, `${where}, ${plural(process.events, "event")}`));
        const mine = overview.rows.filter((row) => row.process === process.id);
        for (const row of mine.filter((each) => each.kind !== "device")) this.thread(row, parent, spans, instants);
        for (const counter of overview.counters.filter((each) => each.process === process.id)) {
          const data = counter.series.flatMap((each) => {
            const line = lines.get(each.id);
            return line ? [{ name: each.name, ...drawn(line, this.shift(process.id)) }] : [];
          });
          const made3 = new CounterRow(`c${counter.id}`, counter.graph, counter.unit, data, { parent, note: counter.series.map((each) => each.name).join(", ") });
          this.counters.push(made3);
          this.rows.push(made3);
        }
        for (const map of overview.heatmaps.filter((each) => each.process === process.id)) {
          const data = heat.get(map.id);
          if (data) this.rows.push(new HeatRow(`h${map.id}`, map.name, map.unit, shifted(data.time, this.shift(process.id)), map.edges, data.counts, { parent, note: "how often each value was seen" }));
        }
        for (const row of mine.filter((each) => each.kind === "device")) this.thread(row, parent, spans, instants);
      }
    }
    overview;
    shift;
    colour;
    rows = [];
    flames = /* @__PURE__ */ new Map();
    flags = /* @__PURE__ */ new Map();
    counters = [];
    devices;
    set filled(on) {
      for (const row of this.counters) row.filled = on;
    }
    // events of a part of the time, more exact
    show(part) {
      const spans = this.spans(part), instants = this.instants(part);
      const none = { start: new Float64Array(0), end: new Float64Array(0), label: [], labels: [] };
      for (const row of this.overview.rows) {
        const by = this.shift(row.process);
        this.flames.get(row.id)?.show(spans.get(row.id) ?? none, part.start - by, part.end - by);
        const found = instants.get(row.id);
        if (found) this.flags.get(row.id)?.show(found);
      }
    }
    thread(row, parent, spans, instants) {
      const device = row.kind === "device";
      const name = device ? "IPU, modelled" : row.name || `thread ${row.tid}`;
      const note2 = device ? "modelled activity of the IPU" : `tid ${row.tid}, ${plural(row.events, "event")}`;
      const found = instants.get(row.id);
      if (row.instants && found) {
        const made4 = new FlagRow(`i${row.id}`, `${name}: flags`, found, (at) => this.flagTip(found, at, name), { parent, note: plural(row.instants, "instant event") });
        this.flags.set(row.id, made4);
        this.rows.push(made4);
      }
      const mine = spans.get(row.id);
      if (!row.events || !mine) return;
      const made3 = new FlameRow(mine, {
        id: `r${row.id}`,
        name,
        note: note2,
        parent,
        depths: Math.max(1, Math.min(64, row.depths)),
        tip: (set, span) => {
          const count = set.events(span), length = set.spans.end[span] - set.spans.start[span];
          return count > 1 ? { title: `${plural(count, "event")}, the longest ${set.label(span)}`, lines: [["from first to last", microseconds(length)], ["covered", microseconds(set.spans.busy?.[span] ?? length)], ["on", name], ["", "zoom in to see them"]] } : { title: set.label(span), lines: [["duration", length < 1 ? `< 1 \xB5s (${microseconds(length)})` : microseconds(length)], ["on", name], ...device ? [["", "modelled"]] : []] };
        }
      });
      this.flames.set(row.id, made3);
      this.rows.push(made3);
    }
    flagTip(events, at, name) {
      const count = events.events?.[at] ?? 1;
      return { title: count > 1 ? `${whole(count)} events` : events.labels[events.label[at]] ?? "", lines: [["on", name], ["", "instant event"]] };
    }
    processOf = /* @__PURE__ */ new Map();
    by(row) {
      if (!this.processOf.size) for (const each of this.overview.rows) this.processOf.set(each.id, each.process);
      return this.shift(this.processOf.get(row) ?? -1);
    }
    spans({ rects, labels }) {
      const found = /* @__PURE__ */ new Map();
      for (const [row, [from, to]] of partition(rects.row)) {
        const by = this.by(row), part = (values) => values.subarray(from, to);
        found.set(row, {
          start: shifted(part(rects.start), by),
          end: shifted(part(rects.end), by),
          depth: part(rects.depth),
          label: part(rects.label),
          labels,
          id: part(rects.event),
          events: part(rects.events),
          busy: part(rects.busy),
          // what is modelled looks different from what was measured
          ...this.devices.has(row) ? { colour: new Uint8Array(to - from), colours: ["#ea7684"] } : this.colour === "channel" ? { colour: part(rects.channel).map((channel) => channel % HUES.length), colours: HUES } : {}
        });
      }
      return found;
    }
    instants({ instants, labels }) {
      const found = /* @__PURE__ */ new Map();
      for (const [row, [from, to]] of partition(instants.row)) {
        const part = (values) => values.subarray(from, to);
        found.set(row, { time: shifted(part(instants.time), this.by(row)), label: part(instants.label), labels, id: part(instants.event), events: part(instants.events) });
      }
      return found;
    }
  };
  function drawn(line, by) {
    const time = [], value = [];
    for (let at = 0; at < line.time.length; at++) {
      const moment2 = line.time[at] - by;
      if (line.low[at] !== line.high[at]) {
        time.push(moment2, moment2);
        value.push(line.low[at], line.high[at]);
      }
      time.push(moment2);
      value.push(line.last[at]);
    }
    return { time: Float64Array.from(time), value: Float64Array.from(value) };
  }

  // src/timeline_state.ts
  var MOST = 40;
  var written = (value) => String(Number(value.toPrecision(15)));
  function writeState(state, shown) {
    state.set({
      t: `${written(shown.from)},${written(shown.to)}`,
      pins: shown.pins.slice(0, MOST).join(",") || null,
      folded: shown.folded.slice(0, MOST).join(",") || null,
      area: shown.area ? [written(shown.area.from), written(shown.area.to), ...shown.area.rows.slice(0, 2 * MOST)].join(",") : null,
      pick: shown.picked ? `${shown.picked.row},${shown.picked.key}` : null
    });
  }
  function readState(state) {
    const list = (name) => state.get(name).split(",").filter(Boolean);
    const found = { pins: list("pins"), folded: list("folded") };
    const [from, to] = list("t").map(Number);
    if (from !== void 0 && to !== void 0 && to > from) Object.assign(found, { from, to });
    const [begin, end, ...rows] = list("area");
    if (begin !== void 0 && end !== void 0 && Number(end) > Number(begin)) found.area = { from: Number(begin), to: Number(end), rows };
    const [row, key] = list("pick");
    if (row !== void 0 && key !== void 0) found.picked = { row, key };
    return found;
  }

  // src/timeline/input.ts
  var CLICK = 4;
  function listen(plot, actions) {
    const pointers = /* @__PURE__ */ new Map();
    let mode = "none";
    let selecting = false;
    const place = (event) => {
      const box = plot.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    plot.addEventListener(
      "wheel",
      (event) => {
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
        const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
        event.preventDefault();
        if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) return actions.pan(-(Math.abs(dx) > Math.abs(dy) ? dx : dy));
        actions.zoom(Math.exp(Math.max(-240, Math.min(240, dy)) * (event.ctrlKey ? 0.01 : 2e-3)), place(event)[0]);
      },
      { passive: false }
    );
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 && event.button !== 1) return;
      const [x, y] = place(event);
      pointers.set(event.pointerId, { x, y, startX: x, startY: y });
      try {
        plot.setPointerCapture(event.pointerId);
      } catch {
      }
      if (pointers.size === 2) mode = "pinch";
      else {
        mode = "press";
        selecting = event.shiftKey || actions.selects();
      }
      actions.leave();
    });
    plot.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      const down = pointers.get(event.pointerId);
      if (!down) return actions.hover(x, y, event);
      const [dx, dy] = [x - down.x, y - down.y];
      if (mode === "pinch") {
        const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
        if (other) {
          const before = Math.max(10, Math.abs(down.x - other.x));
          const after = Math.max(10, Math.abs(x - other.x));
          actions.zoom(before / after, (x + other.x) / 2);
          actions.pan(dx / 2);
        }
      } else {
        if (mode === "press" && Math.hypot(x - down.startX, y - down.startY) > CLICK) mode = selecting ? "area" : "pan";
        if (mode === "pan") {
          actions.pan(dx);
          if (event.pointerType === "mouse") actions.scroll(-dy);
        }
        if (mode === "area") actions.area(down.startX, down.startY, x, y, false);
      }
      down.x = x;
      down.y = y;
    });
    const up = (event, kept2) => {
      const down = pointers.get(event.pointerId);
      if (!down) return;
      pointers.delete(event.pointerId);
      if (kept2 && mode === "press") actions.click(down.x, down.y);
      if (mode === "area") actions.area(down.startX, down.startY, down.x, down.y, true);
      if (mode === "pinch" && pointers.size) return;
      mode = "none";
    };
    plot.addEventListener("pointerup", (event) => up(event, true));
    plot.addEventListener("pointercancel", (event) => up(event, false));
    plot.addEventListener("pointerleave", () => actions.leave());
    plot.addEventListener("dblclick", (event) => actions.open(...place(event)));
  }

  // src/timeline/keys.ts
  function pressed(event, actions) {
    const step = event.shiftKey ? 0.5 : 0.15;
    switch (event.key) {
      case "w":
      case "W":
      case "+":
      case "=":
        actions.zoom(1 / 1.5);
        break;
      case "s":
      case "S":
      case "-":
      case "_":
        actions.zoom(1.5);
        break;
      case "a":
      case "A":
      case "ArrowLeft":
        actions.pan(-step);
        break;
      case "d":
      case "D":
      case "ArrowRight":
        actions.pan(step);
        break;
      case "ArrowUp":
        actions.scroll(-60);
        break;
      case "ArrowDown":
        actions.scroll(60);
        break;
      case "0":
      case "Home":
        actions.all();
        break;
      case "z":
        actions.zoomToPicked();
        break;
      case "m":
        actions.selecting();
        break;
      case "f":
        actions.find();
        break;
      case "n":
        actions.next(1);
        break;
      case "N":
        actions.next(-1);
        break;
      case "p":
        actions.pin();
        break;
      case "Escape":
        actions.escape();
        break;
      default:
        return false;
    }
    return true;
  }

  // src/timeline/labels.ts
  function small(name, click) {
    const node = document.createElement("button");
    node.type = "button";
    node.className = name;
    node.addEventListener("click", click);
    return node;
  }
  var Labels = class {
    constructor(fold, pin) {
      this.fold = fold;
      this.pin = pin;
      this.node.className = "tl-labels";
      this.pinned.className = "tl-labels-pinned";
      this.scrolled.className = "tl-labels-rows";
      this.node.append(this.pinned, this.scrolled);
    }
    fold;
    pin;
    node = document.createElement("div");
    pinned = document.createElement("div");
    scrolled = document.createElement("div");
    known = /* @__PURE__ */ new Map();
    made(placed) {
      const { row } = placed;
      const node = document.createElement("div");
      node.dataset.row = row.id;
      const text = document.createElement("span");
      text.className = "tl-name";
      text.textContent = plain(row.name);
      node.title = plain(row.name) + (row.note ? "\n" + plain(row.note) : "");
      const fold = small("tl-fold", () => this.fold(row.id));
      const pin = small("tl-pin", () => this.pin(row.id));
      if (row.foldable) node.append(fold);
      node.append(text);
      if (row.note && (row.heading || placed.height >= 36)) {
        const note2 = document.createElement("span");
        note2.className = "tl-note";
        note2.textContent = plain(row.note);
        text.append(note2);
      }
      if (!row.heading) node.append(pin);
      return { node, fold, pin };
    }
    /** Forget the rows: others have come. */
    clear() {
      this.known.clear();
      this.pinned.replaceChildren();
      this.scrolled.replaceChildren();
    }
    draw(ruler, pinned, pinnedHeight, scrolled, scroll) {
      this.pinned.style.top = `${ruler}px`;
      this.pinned.style.height = `${pinnedHeight}px`;
      this.scrolled.style.top = `${ruler + pinnedHeight}px`;
      const seen = /* @__PURE__ */ new Set();
      for (const [list, into, by] of [[pinned, this.pinned, 0], [scrolled, this.scrolled, scroll]]) {
        for (const placed of list) {
          const { row } = placed;
          seen.add(row.id);
          let label = this.known.get(row.id);
          if (!label) {
            label = this.made(placed);
            this.known.set(row.id, label);
          }
          const { node, fold, pin } = label;
          if (node.parentNode !== into) into.append(node);
          node.className = "tl-label" + (row.heading ? " tl-heading" : "") + (placed.pinned ? " tl-pinned" : "") + (placed.height < 20 ? " tl-thin" : "");
          node.style.top = `${placed.top - by}px`;
          node.style.height = `${placed.height}px`;
          node.style.paddingLeft = `${4 + 10 * Math.max(0, placed.level - 1)}px`;
          fold.textContent = placed.folded ? "\u25B8" : "\u25BE";
          fold.setAttribute("aria-expanded", String(!placed.folded));
          fold.setAttribute("aria-label", `${placed.folded ? "unfold" : "fold"} ${plain(row.name)}`);
          pin.textContent = placed.pinned ? "\u2605" : "\u2606";
          pin.setAttribute("aria-pressed", String(placed.pinned));
          pin.setAttribute("aria-label", `${placed.pinned ? "unpin" : "pin to the top"}: ${plain(row.name)}`);
          pin.title = placed.pinned ? "Unpin" : "Pin to the top";
        }
      }
      for (const [id, label] of this.known) {
        if (seen.has(id)) continue;
        label.node.remove();
        this.known.delete(id);
      }
    }
  };

  // src/timeline/layout.ts
  var Layout = class {
    pins = [];
    folded = /* @__PURE__ */ new Set();
    pinned = [];
    scrolled = [];
    pinnedHeight = 0;
    height = 0;
    rows = [];
    byId = /* @__PURE__ */ new Map();
    set(rows) {
      this.rows = rows;
      this.byId = new Map(rows.map((row) => [row.id, row]));
      this.place();
    }
    get all() {
      return this.rows;
    }
    get(id) {
      return this.byId.get(id);
    }
    level(row) {
      let level = 0;
      for (let up = row.parent; up !== void 0 && level < 8; up = this.byId.get(up)?.parent) level++;
      return level;
    }
    hidden(row) {
      let steps = 0;
      for (let up = row.parent; up !== void 0 && steps < 8; up = this.byId.get(up)?.parent, steps++) if (this.folded.has(up)) return true;
      return false;
    }
    place() {
      this.pinned = [];
      this.scrolled = [];
      this.pinnedHeight = this.height = 0;
      for (const id of this.pins) {
        const row = this.byId.get(id);
        if (!row) continue;
        const folded = !row.heading && this.folded.has(id);
        const height = row.height(folded);
        this.pinned.push({ row, top: this.pinnedHeight, height, folded, pinned: true, level: 0 });
        this.pinnedHeight += height;
      }
      for (const row of this.rows) {
        if (this.pins.includes(row.id) || this.hidden(row)) continue;
        const folded = this.folded.has(row.id);
        const height = row.height(folded);
        this.scrolled.push({ row, top: this.height, height, folded, pinned: false, level: this.level(row) });
        this.height += height;
      }
    }
    pin(id) {
      const at = this.pins.indexOf(id);
      if (at >= 0) this.pins.splice(at, 1);
      else if (this.byId.has(id)) this.pins.push(id);
      this.place();
    }
    fold(id) {
      if (!this.folded.delete(id)) this.folded.add(id);
      this.place();
    }
    /** Unfold whatever hides a row. */
    reveal(id) {
      const row = this.byId.get(id);
      let steps = 0;
      for (let up = row?.parent; up !== void 0 && steps < 8; up = this.byId.get(up)?.parent, steps++) this.folded.delete(up);
      this.place();
    }
    find(id) {
      return this.pinned.find((placed) => placed.row.id === id) ?? this.scrolled.find((placed) => placed.row.id === id);
    }
  };

  // src/timeline/ruler.ts
  var RULER = 24;
  function drawRuler(context, theme2, clock, from, to, step, width) {
    context.fillStyle = theme2.ground;
    context.fillRect(0, 0, width, RULER);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const scale = width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale);
      context.fillStyle = theme2.line;
      context.fillRect(x, RULER - 6, 1, 6);
      context.fillStyle = theme2.soft;
      const text = clock.moment(mark * step, step);
      const wide = context.measureText(text).width;
      if (x + 4 + wide < width) context.fillText(text, x + 4, 11);
    }
    context.fillStyle = theme2.line;
    context.fillRect(0, RULER - 1, width, 1);
  }
  function paintGrid(raster, theme2, from, to, step, ratio) {
    const scale = raster.width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    const colour = pixel(theme2.grid);
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale);
      raster.box(x, Math.round(RULER * ratio), x + Math.max(1, Math.round(ratio)), raster.height, colour);
    }
  }

  // src/timeline/overlay.ts
  function drawOutline(row, pane, item, colour, thick) {
    if (!item || item.row !== row.id) return;
    const left = clamp((item.from - pane.from) * pane.scale, -3, pane.width + 3);
    const right = clamp((item.to - pane.from) * pane.scale, left + 2, pane.width + 3);
    const tall = pane.folded ? pane.height - 4 : item.height || pane.height - 4;
    pane.context.strokeStyle = colour;
    pane.context.lineWidth = thick;
    pane.context.strokeRect(left, pane.top + (pane.folded ? 2 : item.top) + 0.5, right - left, tall - 1);
  }
  function drawArea({ context, theme: theme2, from, width, height, scale }, area, seen, below) {
    const left = clamp((area.from - from) * scale, 0, width);
    const right = clamp((area.to - from) * scale, 0, width);
    context.fillStyle = theme2.accent;
    context.globalAlpha = 0.16;
    for (const { placed, y } of seen) {
      if (!area.rows.includes(placed.row.id)) continue;
      const top = placed.pinned ? y : Math.max(y, below);
      context.fillRect(left, top, right - left, y + placed.height - top);
    }
    context.globalAlpha = 1;
    context.fillRect(left - 0.5, 0, 1, height);
    context.fillRect(right - 0.5, 0, 1, height);
    context.fillRect(left, RULER - 4, Math.max(1, right - left), 3);
  }
  function drawMatches({ context, theme: theme2, from, width, scale }, matches) {
    context.fillStyle = theme2.bad;
    let before = -9;
    for (const match of matches) {
      const x = Math.round((match.from - from) * scale);
      if (x - before < 2 || x < 0 || x > width) continue;
      before = x;
      context.fillRect(x - 0.5, RULER - 6, 2, 6);
    }
  }
  function drawCursor({ context, theme: theme2, from, width, height, scale }, x, clock) {
    context.fillStyle = theme2.ink;
    context.globalAlpha = 0.55;
    context.fillRect(Math.round(x), RULER, 1, height - RULER);
    context.globalAlpha = 1;
    const text = clock.moment(from + x / scale, 1 / scale);
    context.font = "11px system-ui, sans-serif";
    const wide = context.measureText(text).width + 10;
    const left = clamp(x - wide / 2, 0, width - wide);
    context.fillStyle = theme2.ink;
    context.fillRect(left, 2, wide, 17);
    context.fillStyle = theme2.ground;
    context.textBaseline = "middle";
    context.fillText(text, left + 5, 11);
  }

  // src/timeline/picture.ts
  function saveImage(plot, labels, theme2, file) {
    const ratio = plot.width / Math.max(1, plot.clientWidth);
    const gutter = labels.offsetWidth;
    const picture = document.createElement("canvas");
    picture.width = plot.width + Math.round(gutter * ratio);
    picture.height = plot.height;
    const context = picture.getContext("2d");
    if (!context) return;
    context.fillStyle = theme2.ground;
    context.fillRect(0, 0, picture.width, picture.height);
    context.drawImage(plot, Math.round(gutter * ratio), 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textBaseline = "middle";
    const box = labels.getBoundingClientRect();
    for (const node of labels.querySelectorAll(".tl-label")) {
      const place = node.getBoundingClientRect();
      const y = (place.top + place.bottom) / 2 - box.top;
      if (y < RULER || y > picture.height / ratio) continue;
      context.font = node.classList.contains("tl-heading") ? "600 12px system-ui, sans-serif" : "12px system-ui, sans-serif";
      context.fillStyle = theme2.ink;
      context.fillText(fitted(node.querySelector(".tl-name")?.firstChild?.textContent ?? "", gutter - 12), 8, y);
    }
    picture.toBlob((blob) => {
      if (!blob) return;
      const address2 = URL.createObjectURL(blob);
      const link = document.createElement("a");
      link.href = address2;
      link.download = file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(address2), 1e4);
    });
  }

  // src/timeline/range.ts
  var Range = class {
    /** `least` is the shortest range that can be shown. */
    constructor(least) {
      this.least = least;
    }
    least;
    whole = { from: 0, to: 1 };
    from = 0;
    to = 1;
    get length() {
      return this.to - this.from;
    }
    /** Another whole; the range stays if it still lies within. */
    renew(whole2) {
      const all = this.from === this.whole.from && this.to === this.whole.to;
      this.whole = whole2;
      if (all || this.to <= whole2.from || this.from >= whole2.to) this.show(whole2.from, whole2.to);
      else this.show(this.from, this.to);
    }
    fitting(length) {
      const whole2 = this.whole.to - this.whole.from;
      return clamp(length, Math.min(this.least, whole2), whole2);
    }
    show(from, to) {
      if (!Number.isFinite(from) || !Number.isFinite(to)) return;
      const length = this.fitting(to - from);
      this.from = clamp((from + to) / 2 - length / 2, this.whole.from, this.whole.to - length);
      this.to = this.from + length;
    }
    /** Zoom by a factor, under 1 is closer, around a share of the width. */
    zoom(factor, share) {
      const at = this.from + this.length * share;
      const length = this.fitting(this.length * factor);
      this.show(at - length * share, at + length * (1 - share));
    }
    /** Move by a share of the width; more than 0 shows later times. */
    pan(share) {
      const by = this.length * share;
      this.show(this.from + by, this.to + by);
    }
    /** A share of the whole (400 %), a length (3 ms) or a range (1 ms - 3 ms); false if it is none. */
    typed(text, clock) {
      const centre = (this.from + this.to) / 2;
      const around = (length) => {
        if (!(length > 0)) return false;
        this.show(centre - length / 2, centre + length / 2);
        return true;
      };
      const percent2 = /^\s*([\d.,e+]+)\s*%\s*$/i.exec(text);
      if (percent2) return around((this.whole.to - this.whole.from) / Math.max(1, Number((percent2[1] ?? "").replaceAll(",", "")) / 100));
      const [first, second, more] = text.split(/\s*(?:-|–|\.\.|to)\s*/).map((part) => clock.parse(part));
      if (first === void 0 || more !== void 0 || !(first >= 0)) return false;
      if (second === void 0) return around(first);
      if (!(second > first)) return false;
      this.show(this.whole.from + first, this.whole.from + second);
      return true;
    }
  };

  // src/timeline/search.ts
  var MOST_MATCHES = 5e3;
  var Search = class {
    /** `ask` answers for all rows at once; without it each row is asked. */
    constructor(ask) {
      this.ask = ask;
    }
    ask;
    matches = [];
    total = 0;
    at = -1;
    turn = 0;
    /** Look for a text; false if another search began meanwhile. */
    async look(text, rows) {
      const needle = text.trim().toLowerCase().slice(0, 200);
      const turn = ++this.turn;
      this.matches = [];
      this.total = 0;
      this.at = -1;
      for (const row of rows) row.mark?.(needle);
      if (!needle) return true;
      const found = await (this.ask ? this.ask(needle, MOST_MATCHES) : asked(needle, rows)).catch(() => ({ matches: [], total: 0 }));
      if (turn !== this.turn) return false;
      this.matches = found.matches;
      this.total = found.total;
      return true;
    }
    /** The next match, or the one before; the first is the first at or after a time. */
    next(by, from) {
      const count = this.matches.length;
      if (!count) return null;
      if (this.at < 0) {
        const first = this.matches.findIndex((match) => match.to >= from);
        this.at = by > 0 ? Math.max(0, first) : (Math.max(0, first) + count - 1) % count;
      } else this.at = (this.at + by + count) % count;
      return this.matches[this.at] ?? null;
    }
  };
  async function asked(needle, rows) {
    const all = { matches: [], total: 0 };
    for (const row of rows) {
      if (!row.find) continue;
      const found = await row.find(needle, MOST_MATCHES - all.matches.length);
      all.matches.push(...found.matches);
      all.total += found.total;
    }
    all.matches.sort((one, other) => one.from - other.from);
    return all;
  }

  // src/timeline/strip.ts
  var HIGH = 34;
  var GRIP = 9;
  var MOST_ROWS = 14;
  var Strip = class {
    constructor(whole2, shown, least, move) {
      this.whole = whole2;
      this.shown = shown;
      this.least = least;
      this.move = move;
      this.canvas.className = "tl-strip";
      this.canvas.addEventListener("pointerdown", (event) => this.down(event));
      this.canvas.addEventListener("pointermove", (event) => this.drag(event));
      this.canvas.addEventListener("pointerup", () => this.held = null);
      this.canvas.addEventListener("pointercancel", () => this.held = null);
    }
    whole;
    shown;
    least;
    move;
    canvas = document.createElement("canvas");
    raster = new Raster();
    sketch = document.createElement("canvas");
    stale = true;
    held = null;
    holdAt = 0;
    holdFrom = 0;
    /** The data or the colours changed. */
    renew() {
      this.stale = true;
    }
    time(event) {
      const box = this.canvas.getBoundingClientRect();
      const { from, to } = this.whole();
      return from + clamp((event.clientX - box.left) / box.width, 0, 1) * (to - from);
    }
    down(event) {
      const box = this.canvas.getBoundingClientRect();
      const { from, to } = this.whole();
      const x = (time) => box.left + (time - from) / (to - from) * box.width;
      const shown = this.shown();
      const [left, right] = [x(shown.from), x(shown.to)];
      const reach = event.pointerType === "touch" ? 22 : GRIP;
      this.holdAt = this.time(event);
      this.holdFrom = shown.from;
      if (Math.abs(event.clientX - left) <= reach && Math.abs(event.clientX - left) <= Math.abs(event.clientX - right)) this.held = "from";
      else if (Math.abs(event.clientX - right) <= reach) this.held = "to";
      else if (event.clientX > left && event.clientX < right) this.held = "all";
      else {
        const length = shown.to - shown.from;
        this.move(this.holdAt - length / 2, this.holdAt + length / 2);
        this.holdFrom = this.shown().from;
        this.held = "all";
      }
      this.canvas.setPointerCapture(event.pointerId);
      event.preventDefault();
    }
    drag(event) {
      if (!this.held) return;
      const shown = this.shown();
      const time = this.time(event);
      if (this.held === "from") this.move(Math.min(time, shown.to - this.least()), shown.to);
      else if (this.held === "to") this.move(shown.from, Math.max(time, shown.from + this.least()));
      else this.move(this.holdFrom + time - this.holdAt, this.holdFrom + time - this.holdAt + shown.to - shown.from);
    }
    draw(rows, theme2, ratio, cssWidth) {
      const width = Math.max(1, Math.round(cssWidth * ratio));
      const height = Math.round(HIGH * ratio);
      if (this.canvas.width !== width || this.canvas.height !== height) {
        this.canvas.width = width;
        this.canvas.height = height;
        this.canvas.style.height = `${HIGH}px`;
        this.stale = true;
      }
      if (this.stale) this.paint(rows, theme2, ratio, width, height);
      const context = this.canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.drawImage(this.sketch, 0, 0);
      const { from, to } = this.whole();
      const shown = this.shown();
      const left = (shown.from - from) / (to - from) * width;
      const right = Math.max(left + 2 * ratio, (shown.to - from) / (to - from) * width);
      context.globalAlpha = 0.62;
      context.fillStyle = theme2.ground;
      context.fillRect(0, 0, left, height);
      context.fillRect(right, 0, width - right, height);
      context.globalAlpha = 1;
      context.strokeStyle = theme2.accent;
      context.lineWidth = 1.5 * ratio;
      context.strokeRect(left + ratio, ratio, Math.max(ratio, right - left - 2 * ratio), height - 2 * ratio);
      context.fillStyle = theme2.accent;
      for (const x of [left, right]) {
        const at = clamp(x, 3 * ratio, width - 3 * ratio);
        context.beginPath();
        context.roundRect(at - 3 * ratio, height * 0.2, 6 * ratio, height * 0.6, 3 * ratio);
        context.fill();
      }
    }
    paint(rows, theme2, ratio, width, height) {
      this.stale = false;
      this.sketch.width = width;
      this.sketch.height = height;
      const context = this.sketch.getContext("2d");
      this.raster.resize(width, height);
      this.raster.clear(theme2.band);
      this.raster.clip(0, height);
      const { from, to } = this.whole();
      const shown = rows.filter((row) => row.sketched).slice(0, MOST_ROWS);
      const each = (HIGH - 6) / Math.max(1, shown.length);
      const ground = { ...theme2, groundPixel: theme2.band };
      shown.forEach((row, at) => {
        const pane = {
          raster: this.raster,
          context,
          theme: ground,
          top: 2 + at * each,
          height: each + 2,
          clipTop: 0,
          clipBottom: HIGH,
          width: width / ratio,
          ratio,
          from,
          to,
          scale: width / ratio / (to - from || 1),
          folded: true
        };
        row.paint(pane);
      });
      this.raster.show(context);
    }
  };

  // src/timeline/toolbar.ts
  function made(tag, properties, text = "") {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    return node;
  }
  var Toolbar = class {
    constructor(actions) {
      this.actions = actions;
      const button2 = (text, title, click, name = "") => {
        const node = made("button", { type: "button", title, "aria-label": title, class: name }, text);
        node.addEventListener("click", click);
        return node;
      };
      this.zoomBox = made("input", {
        class: "tl-zoom",
        "aria-label": "Zoom: 100% shows everything; or a length of time",
        title: "Type a zoom (400%), a length (3 ms) or a range (1 ms - 3 ms), then Enter"
      });
      this.zoomBox.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        this.zoomBox.classList.toggle("tl-wrong", !actions.typed(this.zoomBox.value));
        if (!this.zoomBox.classList.contains("tl-wrong")) this.zoomBox.blur();
      });
      this.zoomBox.addEventListener("blur", () => this.showZoom(this.share));
      this.zoomBox.addEventListener("focus", () => this.zoomBox.select());
      this.select = button2("Select", "Drag to select an area (m); Shift and drag does the same", () => this.setSelecting(!this.selecting), "tl-select");
      this.select.setAttribute("aria-pressed", "false");
      this.search = made("input", { type: "search", class: "tl-search", placeholder: "Find in the timeline", "aria-label": "Find in the timeline" });
      let waiting = 0;
      let asked2 = "";
      const ask = () => {
        clearTimeout(waiting);
        asked2 = this.search.value;
        return actions.search(asked2);
      };
      this.search.addEventListener("input", () => {
        clearTimeout(waiting);
        if (this.search.value !== asked2) waiting = window.setTimeout(() => void ask(), 150);
      });
      this.search.addEventListener("keydown", (event) => {
        const by = event.shiftKey ? -1 : 1;
        if (event.key === "Enter" && this.search.value !== asked2) void ask().then(() => actions.next(by));
        else if (event.key === "Enter") actions.next(by);
        else if (event.key === "Escape") {
          this.search.value = "";
          void ask();
          this.search.blur();
        } else return;
        event.preventDefault();
        event.stopPropagation();
      });
      this.steps = [
        button2("\u2039", "Match before (N)", () => actions.next(-1), "tl-before"),
        button2("\u203A", "Next match (n, or Enter)", () => actions.next(1), "tl-next")
      ];
      const group = (...nodes) => {
        const node = made("span", { class: "tl-group" });
        node.append(...nodes);
        return node;
      };
      this.node.append(
        group(
          button2("\u2212", "Zoom out (s or \u2212)", () => actions.zoom(2)),
          this.zoomBox,
          button2("+", "Zoom in (w or +)", () => actions.zoom(0.5)),
          button2("All", "Show everything (0)", () => actions.all(), "tl-all")
        ),
        group(this.search, ...this.steps, this.found),
        this.select,
        this.extra,
        button2("Save image", "Save what is shown as a PNG file", () => actions.image(), "tl-image")
      );
      this.showFound(-1, 0, 0);
    }
    actions;
    node = made("div", { class: "tl-bar" });
    /** for what a page adds */
    extra = made("span", { class: "tl-extra" });
    search;
    share = 1;
    zoomBox;
    found = made("span", { class: "tl-found", role: "status" });
    select;
    steps;
    get selecting() {
      return this.select.getAttribute("aria-pressed") === "true";
    }
    setSelecting(on) {
      this.select.setAttribute("aria-pressed", String(on));
      this.actions.selecting(on);
    }
    showZoom(share) {
      this.share = share;
      if (document.activeElement === this.zoomBox) return;
      this.zoomBox.classList.remove("tl-wrong");
      const percent2 = 100 / clamp(share, 1e-15, 1);
      this.zoomBox.value = percent2 >= 1e6 ? `${percent2.toExponential(1)}%` : `${percent2 >= 1e3 ? Math.round(percent2) : Number(percent2.toPrecision(3))}%`;
    }
    showFound(at, known, total) {
      this.steps.forEach((step) => step.disabled = known === 0);
      if (!this.search.value.trim()) this.found.textContent = "";
      else if (total === 0) this.found.textContent = "not found";
      else
        this.found.textContent = `${at >= 0 ? `${(at + 1).toLocaleString("en-US")} of ` : ""}${total.toLocaleString("en-US")}` + (known < total ? ` (the first ${known.toLocaleString("en-US")} can be visited)` : "");
    }
    searching() {
      this.found.textContent = "searching";
    }
  };

  // src/timeline/timeline.ts
  function made2(tag, name) {
    const node = document.createElement(tag);
    node.className = name;
    return node;
  }
  var Timeline = class {
    constructor(options) {
      this.options = options;
      this.span = new Range(options.least);
      this.finder = new Search(options.search);
      this.bar = new Toolbar({
        zoom: (factor) => this.zoom(factor),
        all: () => this.showAll(),
        typed: (text) => {
          const understood = this.span.typed(text, this.options.clock);
          if (understood) this.changed();
          return understood;
        },
        selecting: (on) => this.canvas.classList.toggle("tl-selecting", on),
        search: (text) => this.search(text),
        next: (by) => this.next(by),
        image: () => saveImage(this.canvas, this.labels.node, this.theme, this.options.file)
      });
      this.labels = new Labels((id) => this.fold(id), (id) => this.pin(id));
      this.strip = new Strip(() => this.span.whole, () => this.span, () => this.options.least, (from, to) => this.show(from, to));
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `${options.label}. Keys: w and s zoom, a and d move, 0 shows all, n goes to the next match.`);
      const top = made2("div", "tl-top");
      top.append(this.status, this.strip.canvas);
      this.stage.append(this.labels.node, this.canvas);
      this.scroller.append(this.stage, this.space);
      this.node.append(this.bar.node, top, this.scroller);
      this.theme = readTheme(document.documentElement);
      this.scroller.addEventListener("scroll", () => this.redraw());
      this.listen();
      const sized = new ResizeObserver(() => this.redraw());
      sized.observe(this.scroller);
      this.stops.push(() => sized.disconnect(), onThemeChange(() => {
        this.theme = readTheme(document.documentElement);
        this.strip.renew();
        this.redraw();
      }));
    }
    options;
    node = made2("div", "tl");
    bar;
    layout = new Layout();
    scroller = made2("div", "tl-scroll");
    stage = made2("div", "tl-stage");
    space = made2("div", "tl-space");
    canvas = made2("canvas", "tl-plot");
    status = made2("div", "tl-status");
    labels;
    strip;
    raster = new Raster();
    span;
    finder;
    stops = [];
    theme;
    width = 1;
    height = 1;
    frame = 0;
    stateTimer = 0;
    cursor = null;
    hovered = null;
    picked = null;
    /** picked by the address, not here yet */
    awaited = null;
    area = null;
    seen = "";
    listen() {
      listen(this.canvas, {
        zoom: (factor, x) => this.zoom(factor, x),
        pan: (dx) => this.pan(-dx / this.width),
        scroll: (dy) => this.scroller.scrollTop += dy,
        hover: (x, y, { clientX, clientY }) => {
          this.cursor = { x, y, clientX, clientY };
          this.redraw();
        },
        leave: () => {
          this.cursor = null;
          this.hovered = null;
          this.options.tip(0, 0, null);
          this.redraw();
        },
        click: (x, y) => this.pick(this.itemAt(x, y)),
        open: (x, y) => {
          const item = this.itemAt(x, y);
          if (item && item.to > item.from) this.reveal(item, 0.8);
        },
        area: (x0, y0, x1, y1, done) => this.drag(x0, y0, x1, y1, done),
        selects: () => this.bar.selecting
      });
    }
    /** Keys while the timeline is shown; true if it was one of its own. */
    key(event) {
      return pressed(event, {
        zoom: (factor) => this.zoom(factor),
        pan: (share) => this.pan(share),
        scroll: (pixels) => this.scroller.scrollTop += pixels,
        all: () => this.showAll(),
        zoomToPicked: () => this.picked && this.reveal(this.picked, 0.8),
        selecting: () => this.bar.setSelecting(!this.bar.selecting),
        find: () => this.bar.search.focus(),
        next: (by) => this.next(by),
        pin: () => {
          const row = this.picked?.row ?? this.hovered?.row;
          if (row) this.pin(row);
        },
        escape: () => {
          if (this.bar.selecting) this.bar.setSelecting(false);
          else if (this.area) this.setArea(null);
          else this.pick(null);
        }
      });
    }
    destroy() {
      this.stops.forEach((stop) => stop());
      cancelAnimationFrame(this.frame);
      clearTimeout(this.stateTimer);
      this.options.tip(0, 0, null);
    }
    /** Other rows, on a time from and to; the range stays if it still lies within. */
    setRows(rows, whole2) {
      this.layout.set(rows);
      this.labels.clear();
      let from = Infinity;
      let to = -Infinity;
      for (const row of rows) {
        const extent = whole2 ? null : row.extent();
        if (!extent) continue;
        from = Math.min(from, extent.from);
        to = Math.max(to, extent.to);
      }
      const begin = Number.isFinite(from) ? from : 0;
      this.span.renew(whole2 ?? { from: begin, to: Math.max(to, begin + 1) });
      this.strip.renew();
      if (this.area) this.area.rows = this.area.rows.filter((id) => this.layout.get(id));
      this.changed();
    }
    /** Heights changed, or what rows hold. */
    renew() {
      this.layout.place();
      this.strip.renew();
      this.redraw();
    }
    get all() {
      return this.span.whole;
    }
    show(from, to) {
      this.span.show(from, to);
      this.changed();
    }
    showAll() {
      this.show(this.span.whole.from, this.span.whole.to);
    }
    zoom(factor, x = this.cursor ? this.cursor.x : this.width / 2) {
      this.span.zoom(factor, clamp(x / this.width, 0, 1));
      this.changed();
    }
    pan(share) {
      this.span.pan(share);
      this.changed();
    }
    fold(id) {
      this.layout.fold(id);
      this.changed();
    }
    pin(id) {
      this.layout.pin(id);
      this.changed();
    }
    pick(item) {
      this.awaited = null;
      this.picked = item;
      this.options.onpick?.(item);
      this.changed();
    }
    setArea(area) {
      this.area = area;
      this.options.onarea?.(area);
      this.changed();
    }
    drag(x0, y0, x1, y1, done) {
      const [left, right] = [clamp(Math.min(x0, x1), 0, this.width), clamp(Math.max(x0, x1), 0, this.width)];
      const [top, bottom] = [Math.min(y0, y1), Math.max(y0, y1)];
      const rows = this.visible().filter(({ y, placed }) => !placed.row.heading && y < bottom && y + placed.height > top);
      const { from, length } = this.span;
      this.area = { from: from + left / this.width * length, to: from + right / this.width * length, rows: rows.map(({ placed }) => placed.row.id) };
      if (done) {
        this.bar.setSelecting(false);
        this.setArea(right - left > 2 && rows.length ? this.area : null);
      }
      this.redraw();
    }
    /** Bring an item to sight; `share` of the width for it, or 0 to zoom only as far as needed to see it. */
    reveal(item, share = 0) {
      this.layout.reveal(item.row);
      const length = Math.max(item.to - item.from, this.options.least / 4);
      const shown = this.span.length;
      const centre = (item.from + item.to) / 2;
      if (share > 0 || length > shown || length < shown * 0.01) {
        const wide = share > 0 ? length / share : length > shown ? length / 0.8 : length / 0.06;
        this.show(centre - wide / 2, centre + wide / 2);
      } else if (item.from < this.span.from || item.to > this.span.to) this.show(centre - shown / 2, centre + shown / 2);
      const placed = this.layout.scrolled.find((each) => each.row.id === item.row);
      if (placed) {
        const room = this.scroller.clientHeight - RULER - this.layout.pinnedHeight;
        const top = placed.top + (placed.folded ? 0 : item.top ?? 0);
        this.space.style.height = `${this.content}px`;
        if (top < this.scroller.scrollTop || top + 24 > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room / 3;
      }
      this.redraw();
    }
    async search(text) {
      const looked = this.finder.look(text, this.layout.all);
      this.redraw();
      if (text.trim()) this.bar.searching();
      if (!await looked) return;
      this.bar.showFound(-1, this.finder.matches.length, this.finder.total);
      this.redraw();
    }
    next(by) {
      const match = this.finder.next(by, this.span.from);
      if (!match) return;
      const item = this.layout.get(match.row)?.item?.(match.key) ?? null;
      this.reveal(item ?? match);
      this.pick(item ?? { row: match.row, key: match.key, from: match.from, to: match.to, top: 2, height: 16, tip: () => ({ title: match.text, lines: [] }) });
      this.bar.showFound(this.finder.at, this.finder.matches.length, this.finder.total);
    }
    state() {
      return {
        from: this.span.from,
        to: this.span.to,
        pins: [...this.layout.pins],
        folded: [...this.layout.folded],
        area: this.area,
        picked: this.picked ? { row: this.picked.row, key: this.picked.key } : this.awaited
      };
    }
    /** Take up a state; what it names and is not here is left out. */
    setState(state) {
      if (state.pins) this.layout.pins.splice(0, this.layout.pins.length, ...state.pins.filter((id) => this.layout.get(id)));
      if (state.folded) {
        this.layout.folded.clear();
        for (const id of state.folded) if (this.layout.get(id)) this.layout.folded.add(id);
      }
      this.layout.place();
      if (state.from !== void 0 && state.to !== void 0 && state.to > state.from) this.show(state.from, state.to);
      if (state.area) this.setArea({ ...state.area, rows: state.area.rows.filter((id) => this.layout.get(id)) });
      if (state.picked && this.layout.get(state.picked.row)?.item) this.awaited = state.picked;
      this.pickAwaited();
      this.redraw();
    }
    /** What the address names may still have to be loaded. */
    pickAwaited() {
      const item = this.awaited ? this.layout.get(this.awaited.row)?.item?.(this.awaited.key) : null;
      if (item) this.pick(item);
    }
    changed() {
      this.redraw();
      clearTimeout(this.stateTimer);
      this.stateTimer = window.setTimeout(() => this.options.onstate?.(this.state()), 250);
    }
    redraw() {
      if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
    }
    /** Height of everything. */
    get content() {
      return this.layout.height + RULER + this.layout.pinnedHeight;
    }
    visible() {
      const scroll = this.scroller.scrollTop;
      const above = RULER + this.layout.pinnedHeight;
      return [
        ...this.layout.pinned.map((placed) => ({ placed, y: RULER + placed.top })),
        ...this.layout.scrolled.filter((placed) => placed.top + placed.height > scroll && above + placed.top - scroll < this.height).map((placed) => ({ placed, y: above + placed.top - scroll }))
      ];
    }
    itemAt(x, y) {
      const scale = this.span.length / this.width;
      for (const { placed, y: top } of this.visible()) {
        if (!placed.pinned && y < RULER + this.layout.pinnedHeight) continue;
        if (y >= top && y < top + placed.height) return placed.row.at(this.span.from + x * scale, y - top, 4 * scale, placed.folded);
      }
      return null;
    }
    draw() {
      this.frame = 0;
      this.scroller.style.height = `${this.content + 2}px`;
      const ratio = Math.min(3, devicePixelRatio || 1);
      this.height = this.scroller.clientHeight;
      this.width = Math.max(1, Math.floor(this.stage.getBoundingClientRect().width - this.labels.node.offsetWidth));
      if (this.height < 1 || !this.node.isConnected) return;
      const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
      this.size(wide, high);
      const { from, to, whole: whole2 } = this.span;
      const range = `${from} ${to} ${wide}`;
      if (range !== this.seen) {
        this.seen = range;
        this.options.onrange?.(from, to, wide);
      }
      const visible = this.visible();
      const scrolled = visible.filter(({ placed }) => !placed.pinned).map(({ placed }) => placed);
      this.labels.draw(RULER, this.layout.pinned, this.layout.pinnedHeight, scrolled, this.scroller.scrollTop);
      this.paint(visible, ratio, wide, high);
      this.strip.draw(this.layout.all, this.theme, ratio, this.strip.canvas.clientWidth || this.width);
      this.bar.showZoom((to - from) / (whole2.to - whole2.from));
      const { clock } = this.options;
      this.status.textContent = clock.span(to - from);
      this.status.title = `shown: ${clock.span(to - from)} of ${clock.span(whole2.to - whole2.from)}`;
      this.pointer();
      if (this.awaited) this.pickAwaited();
    }
    size(wide, high) {
      if (this.canvas.width !== wide || this.canvas.height !== high) {
        this.canvas.width = wide;
        this.canvas.height = high;
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
      }
      this.stage.style.height = `${this.height}px`;
      this.stage.style.marginBottom = `${-this.height}px`;
      this.space.style.height = `${this.content}px`;
    }
    paint(visible, ratio, wide, high) {
      const context = this.canvas.getContext("2d", { alpha: false });
      const { theme: theme2, raster, width, height } = this;
      const { from, to, length } = this.span;
      raster.resize(wide, high);
      raster.clear(theme2.groundPixel);
      raster.clip(0, high);
      const step = this.options.clock.tick(length * 90 / width);
      paintGrid(raster, theme2, from, to, step, ratio);
      const split = RULER + this.layout.pinnedHeight;
      const panes = visible.map(({ placed, y }) => [placed.row, {
        raster,
        context,
        theme: theme2,
        top: y,
        height: placed.height,
        clipTop: placed.pinned ? RULER : split,
        clipBottom: placed.pinned ? split : height,
        width,
        ratio,
        from,
        to,
        scale: width / length,
        folded: placed.folded
      }]);
      for (const [row, pane] of panes) {
        raster.clip(pane.clipTop * ratio, pane.clipBottom * ratio);
        row.paint(pane);
      }
      raster.show(context);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      calibrate(context);
      drawRuler(context, theme2, this.options.clock, from, to, step, width);
      for (const [row, pane] of panes) {
        context.save();
        context.beginPath();
        context.rect(0, pane.clipTop, width, pane.clipBottom - pane.clipTop);
        context.clip();
        context.fillStyle = theme2.grid;
        context.fillRect(0, pane.top + pane.height - 0.5, width, 0.5);
        row.draw(pane);
        drawOutline(row, pane, this.hovered, theme2.soft, 1);
        drawOutline(row, pane, this.picked, theme2.ink, 2);
        context.restore();
      }
      if (this.layout.pinned.length) {
        context.fillStyle = theme2.accent;
        context.fillRect(0, split - 1, width, 1);
      }
      const plot = { context, theme: theme2, from, width, height, scale: width / length };
      if (this.area) drawArea(plot, this.area, visible, split);
      drawMatches(plot, this.finder.matches);
      if (this.cursor) drawCursor(plot, this.cursor.x, this.options.clock);
    }
    pointer() {
      if (!this.cursor) return;
      const item = this.itemAt(this.cursor.x, this.cursor.y);
      const before = this.hovered;
      this.hovered = item;
      this.options.tip(this.cursor.clientX, this.cursor.clientY, item ? item.tip() : null);
      if (before?.key !== item?.key || before?.row !== item?.row) this.redraw();
    }
  };

  // src/system.ts
  var byId = (id) => document.getElementById(id);
  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }
  function help() {
    const keys = [
      ["w s, + \u2212", "zoom in and out; the wheel does the same at the pointer"],
      ["a d, arrows", "move; so does a drag"],
      ["0", "show everything"],
      ["f", "find; Enter or n goes to the next match, N to the one before"],
      ["m, or Shift and a drag", "select an area: the table below is of it"],
      ["z", "zoom to what is picked"],
      ["p", "pin the row to the top, or unpin it"],
      ["Escape", "forget the selection"],
      ["t", "light or dark"]
    ];
    const dialog = el(
      "dialog",
      { "aria-label": "Help and keys" },
      el("h2", { text: "Help and keys" }),
      el("p", { text: "Each process is a heading and each thread a row with nested events. Flags are instant events. The row of the IPU is modelled; no chip was involved. The address of this page keeps what you are looking at." }),
      el("dl", { class: "keys" }, ...keys.flatMap(([name, text]) => [el("dt", {}, el("kbd", { text: name })), el("dd", { text })]))
    );
    dialog.append(button("Close", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
  var SystemPage = class {
    constructor(source, reports, profiles) {
      this.source = source;
      this.reports = reports;
      this.profiles = profiles;
    }
    source;
    reports;
    profiles;
    state = new State("system");
    overview;
    answers;
    timeline;
    rows;
    exact = false;
    restored = false;
    loaded = null;
    waiting = 0;
    turns = { load: 0, pick: 0, area: 0 };
    event = el("div", { class: "trace-step", "aria-live": "polite" });
    table = el("div", {});
    async open() {
      const report = this.reports.find((each) => each.id === this.state.get("report")) ?? this.reports[0];
      if (!report) throw new Error("There is no trace.");
      this.answers = this.source.served ? new ServedTrace(this.source, report.id) : new HeldTrace(this.source, report.id);
      this.overview = await this.answers.overview();
      this.header();
      const { overview } = this;
      const main = byId("view");
      this.timeline = new Timeline({
        clock: this.clock(),
        label: "Events of the host by thread",
        least: 0.05,
        file: "system-trace.png",
        tip: (x, y, tip) => tip ? showTip(x, y, tip.title, tip.lines) : hideTip(),
        search: (needle, most2) => this.search(needle, most2),
        // not before what the address says was taken up
        onstate: (state) => {
          if (this.restored) writeState(this.state, state);
        },
        onrange: (from, to, pixels) => this.need(from, to, pixels),
        onpick: (item) => void this.pick(item),
        onarea: (area) => void this.select(area)
      });
      this.options();
      main.replaceChildren(
        this.verdict(),
        el("section", { class: "card trace-card" }, this.timeline.node),
        this.event,
        card("Labels that take the longest", this.table),
        this.about()
      );
      await this.load();
      this.restored = true;
      this.timeline.setState(readState(this.state));
      if (!this.timeline.state().area) await this.select(null);
      addEventListener("keydown", (event) => this.key(event));
      this.state.onchange(() => this.timeline.setState(readState(this.state)));
      main.dataset.ready = "true";
      document.title = `${overview.title} - Tremula host trace`;
    }
    header() {
      byId("title").textContent = this.overview.title;
      const { counts, processes, rows } = this.overview;
      byId("subtitle").textContent = `${plural(counts.events, "event")} of ${plural(rows.filter((row) => row.kind !== "device").length, "thread")} in ${plural(processes.length, "process", "processes")}, ${microseconds(this.overview.end - this.overview.start)}`;
      byId("banner").textContent = "Times of the host were measured. Times of the IPU are modelled: no chip was involved.";
      byId("tabs").hidden = true;
      document.querySelector(".layout")?.classList.add("alone");
      const actions = byId("actions");
      if (this.source.served && this.profiles) actions.append(el("a", { class: "link", href: "/", text: "Profiles" }));
      if (this.reports.length > 1)
        actions.append(choice("Trace", this.reports.map((each) => each.name), Math.max(0, this.reports.findIndex((each) => each.id === this.state.get("report"))), (index) => {
          location.hash = `#system?report=${this.reports[index]?.id ?? ""}`;
          location.reload();
        }));
      actions.append(button("Theme", theme, { id: "theme", title: "Change between light and dark (t)" }), button("?", help, { id: "help", title: "Help and keys (?)", "aria-label": "Help and keys" }));
    }
    verdict() {
      const { device, notes, left_out: left } = this.overview;
      const said = device ? device.text : "This trace has no modelled IPU activity, so it cannot show whether the host keeps an IPU busy.";
      const tone = device?.verdict === "host" ? "bad" : device?.verdict === "device" ? "good" : "";
      return el(
        "div",
        {},
        el("p", { class: `verdict ${tone}`, id: "verdict", text: said }),
        ...notes.map(note),
        left ? note(`${whole(left)} events are merged into blocks or left out on this page. \u201Ctremula view --serve\u201D shows each of them.`) : null
      );
    }
    about() {
      const { files, clock, cut } = this.overview;
      const lost = [cut.rows && plural(cut.rows, "thread"), cut.counters && plural(cut.counters, "counter"), cut.heatmaps && plural(cut.heatmaps, "heat map")].filter(Boolean).join(", ");
      return card(
        "Files",
        el("ul", { class: "plain" }, ...files.map((file) => el(
          "li",
          {},
          el("code", { text: file.name }),
          [file.complete ? "" : ", not complete", file.lost ? `, ${plural(file.lost, "event")} lost` : "", file.note ? `: ${file.note}` : ""].join("")
        ))),
        note(clock === "one host" ? "All files come from one host and share its clock." : "The files come from several hosts; their times of day align them."),
        lost ? note(`not shown: ${lost}`) : null
      );
    }
    mode() {
      return this.state.get("time", "start");
    }
    clock() {
      return this.mode() === "day" ? wallClock(this.overview.wall_start_us) : relativeClock;
    }
    shift(process) {
      if (this.mode() !== "each") return 0;
      return this.overview.processes.find((each) => each.id === process)?.start ?? 0;
    }
    channel() {
      return this.state.number("channel", -1, -1, 1e9);
    }
    options() {
      const several = this.overview.processes.length > 1;
      const modes = ["start", "day", ...several ? ["each"] : []];
      const again = (name, value) => {
        this.state.set({ [name]: value });
        void this.load();
      };
      this.timeline.bar.extra.append(
        choice("time", ["from the start", "time of day (UTC)", ...several ? ["each process from 0"] : []], Math.max(0, modes.indexOf(this.mode())), (index) => again("time", modes[index] ?? null)),
        choice("colour", ["by label", "by channel"], this.state.get("colour") === "channel" ? 1 : 0, (index) => again("colour", index ? "channel" : null)),
        choice(
          "channel",
          ["all", ...this.overview.channels.map((each) => each.name)],
          Math.max(0, 1 + this.overview.channels.findIndex((each) => each.id === this.channel())),
          (index) => again("channel", index ? String(this.overview.channels[index - 1]?.id ?? "") : null)
        )
      );
      if (this.overview.counters.length)
        this.timeline.bar.extra.append(toggles("counters", ["line", "filled"], this.state.get("counters") === "filled" ? 1 : 0, (index) => {
          this.state.set({ counters: index ? "filled" : null });
          this.rows.filled = index === 1;
          this.timeline.redraw();
        }));
    }
    async load() {
      const turn = ++this.turns.load;
      const { start: start2, end, heatmaps } = this.overview;
      const heat = /* @__PURE__ */ new Map();
      const [whole_, series] = await Promise.all([
        this.answers.events(start2, end, 3e3, this.channel()),
        this.overview.counters.length ? this.answers.counters(start2, end, 3e3) : [],
        ...heatmaps.slice(0, 100).map(async (map) => {
          heat.set(map.id, await this.answers.heatmap(map.id, start2, end, 2e3));
        })
      ]);
      if (turn !== this.turns.load) return;
      this.exact = !this.answers.served || whole_.cut === 0 && !whole_.rects.events.some((count) => count > 1) && !whole_.instants.events.some((count) => count > 1);
      this.loaded = null;
      this.rows = new SystemRows(this.overview, whole_, series, heat, (process) => this.shift(process), this.state.get("colour", "label"));
      this.rows.filled = this.state.get("counters") === "filled";
      this.timeline.options.clock = this.clock();
      const lengths = this.overview.processes.map((process) => process.end - process.start);
      this.timeline.setRows(this.rows.rows, this.mode() === "each" ? { from: 0, to: Math.max(1, ...lengths) } : { from: start2, to: Math.max(end, start2 + 1) });
    }
    // load what the range needs, a little more on both sides, unless it is here in that detail
    need(from, to, pixels) {
      if (this.exact || !this.rows) return;
      const step = (to - from) / pixels, all = this.timeline.all;
      if (step >= 0.7 * (all.to - all.from) / 3e3) return;
      if (this.loaded && this.loaded.from <= from && this.loaded.to >= to && this.loaded.step <= 1.6 * step) return;
      clearTimeout(this.waiting);
      this.waiting = window.setTimeout(() => void this.detail(from, to, pixels), 70);
    }
    async detail(from, to, pixels) {
      const turn = ++this.turns.load, more = (to - from) / 2;
      const shifts = this.overview.processes.map((process) => this.shift(process.id));
      const [start2, end] = [from - more + Math.min(0, ...shifts), to + more + Math.max(0, ...shifts)];
      const wide = (end - start2) / (to - from) * pixels;
      const part = await this.answers.events(start2, end, wide, this.channel()).catch(() => null);
      if (turn !== this.turns.load || !part) return;
      this.loaded = { from: from - more, to: to + more, step: (end - start2) / Math.min(4096, wide) };
      this.rows.show(part);
      this.timeline.redraw();
    }
    async search(needle, most2) {
      const hits = await this.answers.search(needle, most2);
      const shifts = new Map(this.overview.rows.map((row) => [row.id, this.shift(row.process)]));
      return {
        total: hits.total,
        matches: hits.rows.map((hit) => {
          const by = shifts.get(hit.row) ?? 0;
          return { row: `${hit.depth < 0 ? "i" : "r"}${hit.row}`, key: String(hit.event), from: hit.start - by, to: hit.end - by, text: hit.label };
        })
      };
    }
    async pick(item) {
      const turn = ++this.turns.pick;
      if (!item || !/^[ri]\d/.test(item.row)) {
        this.event.replaceChildren();
        return;
      }
      const id = Number(item.key);
      const [event, tree] = await Promise.all([this.answers.event(id), this.answers.callTree(id).catch(() => [])]).catch(() => [null, []]);
      if (turn !== this.turns.pick || !event) return;
      const shown = this.clock();
      this.event.replaceChildren(eventCard(event, [...tree], this.overview, (time) => shown.moment(time - (this.mode() === "each" ? this.shift(event.process) : 0), 1), (next) => void this.goTo(next)));
    }
    async goTo(id) {
      const event = await this.answers.event(id).catch(() => null);
      if (!event) return;
      const by = this.shift(this.overview.rows.find((row2) => row2.id === event.row)?.process ?? -1);
      const row = `${event.kind === "instant" ? "i" : "r"}${event.row}`;
      const item = { row, key: String(id), from: event.start - by, to: event.end - by, top: 2 + Math.max(0, event.depth) * 18, height: 17, tip: () => ({ title: event.label, lines: [] }) };
      this.timeline.reveal(item);
      this.timeline.pick(item);
    }
    async select(area) {
      const turn = ++this.turns.area;
      const ids = area ? area.rows.filter((id) => /^r\d/.test(id)).map((id) => Number(id.slice(1))) : null;
      const shift = ids?.length && this.mode() === "each" ? this.shift(this.overview.rows.find((row) => row.id === ids[0])?.process ?? -1) : 0;
      const { start: start2, end } = this.overview;
      const found = await this.answers.selection(area ? area.from + shift : start2, area ? area.to + shift : end, ids?.length ? ids : null);
      if (turn !== this.turns.area) return;
      this.table.replaceChildren(
        el("p", { class: "lead", id: "selected", text: area ? `Selected: ${microseconds(area.to - area.from)} in ${plural(ids?.length ?? 0, "row")}. Press Escape to see the whole trace again.` : "The whole trace. Select an area of the timeline to see only that part. Click a label to find its events." }),
        labelTable(found, this.overview, (label) => {
          this.timeline.bar.search.value = label;
          this.timeline.bar.search.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        })
      );
    }
    key(event) {
      const target = event.target;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName)) {
        if (event.key === "Escape") target.blur();
        return;
      }
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "/") this.timeline.bar.search.focus();
      else if (event.key === "?") help();
      else if (event.key === "t") theme();
      else if (target instanceof Element && target.closest(".grid") || !this.timeline.key(event)) return;
      event.preventDefault();
    }
  };
  async function start() {
    const source = await openSource();
    const every = await source.reports(), traces = every.filter((report) => report.kind === "trace");
    await new SystemPage(source, traces, every.length > traces.length).open();
  }
  start().catch((error) => {
    byId("view").replaceChildren(el("p", { class: "bad", role: "alert", text: error instanceof Error ? error.message : String(error) }));
    byId("view").dataset.ready = "true";
  });
})();
