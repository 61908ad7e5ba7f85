// made from web/src by "make web"; sources sha256:40ed12402d3cab308b6d96bdc5e312e4a7503fd5db9ac4c03af11f98b5e01076
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
      } else if (name.startsWith("on")) continue;
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
  function legend(entries) {
    return el("ul", { class: "legend" }, ...entries.map(([name, colour, value]) => el("li", {}, swatch(colour), el("span", { text: name }), value ? el("span", { class: "label", text: value }) : null)));
  }
  function card(title, ...children) {
    return el("section", { class: "card" }, title ? el("h3", { text: title }) : null, ...children);
  }
  function choice(label, names, chosen, onchange) {
    const select = el("select", { "aria-label": label }, ...names.map((name, index) => el("option", { value: index, text: name })));
    select.value = String(chosen);
    select.addEventListener("change", () => onchange(Number(select.value)));
    return el("label", { class: "choice" }, el("span", { text: label }), select);
  }
  function toggles(label, names, chosen, onchange) {
    const buttons = names.map((name, index) => button(name, () => {
      buttons.forEach((each, at) => each.setAttribute("aria-pressed", String(at === index)));
      onchange(index);
    }, { "aria-pressed": String(index === chosen) }));
    return el("div", { class: "toggles", role: "group", "aria-label": label }, el("span", { class: "label", text: label }), ...buttons);
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
    tip.replaceChildren(el("b", { text: title }), ...lines.map(([name, value, colour]) => el("div", {}, el("span", {}, colour ? swatch(colour) : null, name), el("span", { text: value }))));
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
    return `${(all ? 100 * part / all : 0).toFixed(1)} %`;
  }
  function bytes(value) {
    const size = Math.abs(value);
    for (const [unit, one] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (size >= one) return `${(value / one).toFixed(size >= 100 * one ? 0 : 1)} ${unit}`;
    }
    return `${whole(value)} B`;
  }
  function time(seconds) {
    const size = Math.abs(seconds);
    for (const [unit, one] of [["s", 1], ["ms", 1e-3], ["\xB5s", 1e-6]]) {
      if (size >= one) return `${Number((seconds / one).toPrecision(3)).toLocaleString("en-US")} ${unit}`;
    }
    return `${Number((seconds / 1e-9).toPrecision(3))} ns`;
  }
  function compact(value) {
    for (const [unit, one] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= one) return `${Number((value / one).toPrecision(3))} ${unit}`;
    }
    return String(Number(value.toPrecision(3)));
  }
  function delta(before, after, format) {
    const by = after - before;
    if (by === 0) return "\xB10";
    const share = before ? ` (${by > 0 ? "+" : "\u2212"}${Math.abs(100 * by / before).toFixed(1)} %)` : "";
    return `${by > 0 ? "+" : "\u2212"}${format(Math.abs(by))}${share}`;
  }
  function plural(count, one, many = one + "s") {
    return `${whole(count)} ${count === 1 ? one : many}`;
  }
  function shortened(text, most) {
    return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}\u2026`;
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
      const asked = fetch(this.base + path, { headers: this.token ? { "X-Tremula-Token": this.token } : {}, cache: "no-store" }).then(async (answer) => {
        if (answer.ok) return answer.json();
        const said = await answer.json().catch(() => ({}));
        throw new Missing(typeof said.error === "string" ? said.error : `the server says ${answer.status}`);
      });
      this.kept.set(path, asked);
      asked.catch(() => this.kept.delete(path));
      for (const old of this.kept.keys()) {
        if (this.kept.size <= KEPT_ANSWERS) break;
        this.kept.delete(old);
      }
      return asked;
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

  // src/search.ts
  var MOST = 8;
  async function here(source, report, text) {
    const wanted = text.toLowerCase();
    const hits2 = [];
    const look = async (frame, number, make) => {
      try {
        const found = await source.frame(report, frame, ["name", "id", number]);
        const names = found.columns.name, ids = found.columns.id, values = found.columns[number];
        const rows = [];
        for (let i = 0; i < names.length; i++) if (names[i].toLowerCase().includes(wanted)) rows.push(i);
        rows.sort((a, b) => values[b] - values[a]);
        hits2.push(...rows.slice(0, MOST).map((i) => make(ids[i], names[i], values[i])));
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
      }
    };
    await look("ops", "cycles", (id, name, value) => ({ kind: "op", name, note: `${compact(value)} cycles`, view: "operations", values: { op: id } }));
    await look("variables", "bytes", (id, name, value) => ({ kind: "variable", name, note: bytes(value), view: "memory", values: { variable: id } }));
    await look("programs", "cycles", (id, name, value) => ({ kind: "program", name, note: `${compact(value)} cycles`, view: "program", values: { node: id } }));
    return hits2;
  }
  async function hits(source, report, text) {
    if (!source.served) return here(source, report, text);
    return (await source.json(report, "search", { text })).hits;
  }
  function globalSearch(source, report, go) {
    const input = el("input", {
      type: "search",
      id: "search",
      placeholder: "Search (/)",
      "aria-label": "Search ops, variables and programs",
      autocomplete: "off",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "hits"
    });
    const list = el("div", { id: "hits", class: "hits", hidden: true });
    let turn = 0, waiting = 0;
    const close = () => {
      list.hidden = true;
      input.setAttribute("aria-expanded", "false");
    };
    const show = async () => {
      const text = input.value.trim(), mine = ++turn;
      if (text.length < 2) {
        close();
        return;
      }
      let found = [];
      try {
        found = await hits(source, report(), text.slice(0, 200));
      } catch {
      }
      if (mine !== turn) return;
      list.replaceChildren(...found.map((hit) => {
        const each = button("", () => {
          close();
          input.value = "";
          input.blur();
          go(hit.view, hit.values);
        }, { class: "hit" });
        each.append(el("span", { class: "kind", text: hit.kind }), el("span", { text: shortened(hit.name, 90) }), el("span", { class: "label", text: hit.note }));
        return each;
      }), ...found.length ? [] : [el("p", { class: "note", text: "Nothing has this in its name." })]);
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
    };
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = window.setTimeout(show, 120);
    });
    const box = el("div", { class: "search", role: "search" }, input, list);
    box.addEventListener("keydown", (event) => {
      const all = [...list.querySelectorAll("button")];
      const at = all.indexOf(document.activeElement);
      if (event.key === "Escape") {
        close();
        input.focus();
        input.blur();
      } else if (event.key === "ArrowDown") all[Math.min(all.length - 1, at + 1)]?.focus();
      else if (event.key === "ArrowUp") (at <= 0 ? input : all[at - 1])?.focus();
      else if (event.key === "Enter" && at < 0) all[0]?.click();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!box.contains(event.target)) close();
    });
    return box;
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

  // src/frame.ts
  function byId(id) {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no ${id}`);
    return found;
  }
  var Frame = class {
    constructor(source, reports, views) {
      this.source = source;
      this.reports = reports;
      this.views = views;
      this.state = new State(views[0].id);
      if (source.compared && !this.state.get("compare")) this.state.set({ compare: source.compared });
      this.menu();
      this.header();
      this.state.onchange(() => this.open());
      addEventListener("keydown", (event) => this.key(event));
      let waiting = 0;
      const again = () => {
        clearTimeout(waiting);
        waiting = window.setTimeout(() => this.redraws.forEach((draw) => draw()), 60);
      };
      addEventListener("resize", again);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    }
    source;
    reports;
    views;
    state;
    buttons = /* @__PURE__ */ new Map();
    closing = [];
    redraws = [];
    keys = [];
    opened = 0;
    menu() {
      const nav = byId("tabs");
      this.views.forEach((view, index) => {
        const each = button("", () => this.go(view.id), {
          role: "tab",
          id: `tab-${view.id}`,
          "aria-controls": "view",
          title: `${view.title}: key ${index + 1} or ${view.key}`
        });
        each.append(el("kbd", { text: String(index + 1), "aria-hidden": "true" }), el("span", { text: view.title }));
        this.buttons.set(view.id, each);
        nav.append(each);
      });
      nav.addEventListener("keydown", (event) => {
        const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        const at = this.views.findIndex((view) => view.id === this.state.view);
        const next = this.views[(at + by + this.views.length) % this.views.length];
        this.go(next.id);
        this.buttons.get(next.id)?.focus();
      });
    }
    header() {
      const actions = byId("actions");
      const names = this.reports.map((report) => report.name);
      if (this.reports.length > 1) {
        const pick = (id, label, first) => {
          const select = el(
            "select",
            { id, "aria-label": label },
            first === null ? null : el("option", { value: "", text: first }),
            ...this.reports.map((report2, index) => el("option", { value: report2.id, text: names[index] }))
          );
          return el("label", { class: "choice" }, el("span", { text: label }), select);
        };
        const report = pick("report", "Report", null), compare = pick("compare", "Compare with", "nothing");
        const read = () => {
          report.querySelector("select").value = this.report().id;
          compare.querySelector("select").value = this.other()?.id ?? "";
        };
        report.addEventListener("change", (event) => {
          this.state.set({ report: event.target.value }, true);
          this.open();
        });
        compare.addEventListener("change", (event) => {
          this.state.set({ compare: event.target.value || "none" }, true);
          this.open();
        });
        const swap = button("Swap", () => {
          const other = this.other();
          if (!other) return;
          this.state.set({ report: other.id, compare: this.report().id }, true);
          this.open();
        }, { id: "swap", title: "Swap the two reports" });
        actions.append(report, compare, swap);
        this.readHeader = read;
      }
      actions.append(
        globalSearch(this.source, () => this.report().id, (view, values) => this.go(view, values)),
        button("Theme", () => this.theme(), { id: "theme", title: "Change between light and dark (d)" }),
        button("?", () => this.help(), { id: "help", title: "Help and keys (?)", "aria-label": "Help and keys" })
      );
    }
    readHeader = () => void 0;
    report() {
      return this.reports.find((report) => report.id === this.state.get("report")) ?? this.reports[0];
    }
    other() {
      const found = this.reports.find((report) => report.id === this.state.get("compare")) ?? null;
      return found && found.id !== this.report().id ? found : null;
    }
    go(view, values = {}) {
      this.state.go(view, values);
      this.open();
    }
    open() {
      const view = this.views.find((each) => each.id === this.state.view) ?? this.views[0];
      this.closing.splice(0).forEach((close) => close());
      this.redraws = [];
      this.keys = [];
      const turn = ++this.opened;
      hideTip();
      for (const [id, each] of this.buttons) {
        each.setAttribute("aria-selected", String(id === view.id));
        each.tabIndex = id === view.id ? 0 : -1;
      }
      this.buttons.get(view.id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
      this.readHeader();
      const report = this.report(), other = this.other();
      byId("title").textContent = report.name;
      byId("subtitle").textContent = other ? `compared with ${other.name}` : report.title;
      const main = byId("view");
      main.setAttribute("aria-labelledby", `tab-${view.id}`);
      main.dataset.view = view.id;
      main.dataset.ready = "false";
      const host = el("div", { class: "content" });
      main.replaceChildren(el("h2", { text: view.title }), el("p", { class: "lead", text: view.lead }), host);
      const fail = (error) => {
        const said = error instanceof Error ? error.message : String(error);
        host.append(el("p", { class: error instanceof Missing ? "note" : "bad", role: "alert", text: said }));
        if (!(error instanceof Missing)) console.error(error);
      };
      Promise.resolve().then(() => view.render(host, this.context(report, other))).catch(fail).finally(() => {
        if (turn === this.opened) main.dataset.ready = "true";
      });
    }
    context(report, other) {
      const source = this.source;
      const turn = this.opened;
      return {
        source,
        state: this.state,
        reports: this.reports,
        report,
        other,
        json: (what, params) => source.json(report.id, what, params),
        both: async (what, params) => Promise.all([
          source.json(report.id, what, params),
          other ? source.json(other.id, what, params) : null
        ]),
        frame: (name, columns, first, rows) => source.frame(report.id, name, columns, first, rows),
        go: (view, values) => this.go(view, values),
        redraw: (draw) => {
          if (turn !== this.opened) return;
          this.redraws.push(draw);
          requestAnimationFrame(draw);
        },
        onkey: (handler) => {
          if (turn === this.opened) this.keys.push(handler);
        },
        onclose: (handler) => {
          if (turn === this.opened) this.closing.push(handler);
        }
      };
    }
    key(event) {
      const target = event.target;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName)) {
        if (event.key === "Escape") target.blur();
        return;
      }
      if (document.querySelector("dialog[open]")) return;
      if (this.keys.some((handler) => handler(event))) {
        event.preventDefault();
        return;
      }
      const number = Number(event.key);
      const view = number >= 1 && number <= this.views.length ? this.views[number - 1] : this.views.find((each) => each.key === event.key);
      if (view) this.go(view.id);
      else if (event.key === "/") byId("search").focus();
      else if (event.key === "f") byId("view").querySelector("input[type=search]")?.focus();
      else if (event.key === "?") this.help();
      else if (event.key === "d") this.theme();
      else return;
      event.preventDefault();
    }
    theme() {
      const root = document.documentElement;
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      this.redraws.forEach((draw) => draw());
    }
    help() {
      const keys = [
        ...this.views.map((view, index) => [`${index + 1} or ${view.key}`, `${view.title}: ${view.lead}`]),
        ["/", "search ops, variables, program and modules"],
        ["f", "filter or search inside the view"],
        ["arrows", "move the cursor of a chart, or the chosen row of a table or tree"],
        ["+ and \u2212", "zoom a chart; 0 shows all of it; the wheel zooms, a drag with Shift moves"],
        ["Enter", "open what is chosen"],
        ["Escape", "close, or leave a box"],
        ["d", "light or dark"],
        ["?", "this list"]
      ];
      const dialog = el(
        "dialog",
        { "aria-label": "Help and keys" },
        el("h2", { text: "Help and keys" }),
        el("p", { text: "Every figure is modelled: no chip was involved. A step is one weight update when training, one micro-batch for inference. Likely ranges come from published measurements that the model was compared with. The address of this page holds what you look at: send it as a link, or reload it." }),
        el("dl", { class: "keys" }, ...keys.flatMap(([name, text]) => [el("dt", {}, el("kbd", { text: name })), el("dd", { text })]))
      );
      dialog.append(button("Close", () => dialog.close()));
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      dialog.showModal();
    }
  };

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
    const made2 = button("Copy CSV", () => {
      const text = make();
      made2.dispatchEvent(new CustomEvent("csv", { detail: text, bubbles: true }));
      void copy(text).then((done) => {
        made2.textContent = done ? "Copied" : "Not copied";
        setTimeout(() => {
          made2.textContent = "Copy CSV";
        }, 1200);
      });
    }, { class: "small copy", title: "Copy this table as CSV" });
    return made2;
  }

  // src/table.ts
  function plainTable(name, columns, rows) {
    const line = (cells, tag) => el("tr", {}, ...cells.map((cell, index) => el(tag, { class: columns[index]?.[1] ? "number" : "", scope: tag === "th" ? "col" : null }, cell || " ")));
    const body = el("tbody", {}, ...rows.map((row) => line(row, "td")));
    const table = el("table", { "aria-label": name }, el("thead", {}, line(columns.map((column2) => column2[0]), "th")), body);
    const copy2 = copyButton(() => csv(
      columns.map((column2) => column2[0]),
      [...body.rows].map((row) => [...row.cells].map((cell) => (cell.textContent ?? "").trim()))
    ));
    return el("div", { class: "table plain" }, el("div", { class: "scroll" }, table), el("div", { class: "below" }, copy2));
  }

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
  var ROUND = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((seconds) => seconds * 1e6);
  function cycleClock(hertz) {
    const perMicrosecond = hertz / 1e6;
    const whole2 = (value) => Math.round(value).toLocaleString("en-US");
    return {
      moment: (time2, step) => {
        if (Math.abs(time2) >= 1e6 && step >= 1e3) return (time2 / 1e6).toFixed(decimals(step / 1e6)) + " M";
        return whole2(time2);
      },
      span: (length) => `${whole2(length)} ${Math.round(length) === 1 ? "cycle" : "cycles"}` + (perMicrosecond > 0 ? ` (${microseconds(length / perMicrosecond)})` : ""),
      parse: (text) => {
        const found = /^\s*([\d.,]+(?:e\d+)?)\s*(k|m|g)?\s*(cycles?)?\s*$/i.exec(text);
        if (found) {
          const factor = { k: 1e3, m: 1e6, g: 1e9 }[(found[2] ?? "").toLowerCase()] ?? 1;
          return Number((found[1] ?? "").replaceAll(",", "")) * factor;
        }
        return parseTime(text) * perMicrosecond;
      },
      tick: (least) => Math.max(1, decimalTick(least))
    };
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

  // src/timeline/span_tree.ts
  var FAN = 16;
  var SpanTree = class {
    /** Starts ascend; `items` are the numbers that callers know the spans by. */
    constructor(items, start, end) {
      this.items = items;
      this.start = start;
      this.end = end;
      const count = items.length;
      const busy = new Float64Array(count);
      for (let at = 0; at < count; at++) busy[at] = Math.max(0, end[at] - start[at]);
      let below = { start, end, busy, top: Int32Array.from({ length: count }, (_, at) => at) };
      this.levels.push(below);
      while (below.start.length > FAN) {
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
        const { start, end, busy, top: top2 } = this.levels[level];
        for (let at = first; at < last; at++) {
          const low = start[at];
          const high = end[at];
          if (low > to) return;
          if (high < from) continue;
          if (level === 0) single(at, low, high);
          else if (high - low <= least) many(low, high, busy[at], top2[at]);
          else walk(level - 1, at * FAN, Math.min(at * FAN + FAN, this.levels[level - 1].start.length));
        }
      };
      const top = this.levels.length - 1;
      walk(top, 0, this.levels[top].start.length);
    }
    /** The span at a time, or the nearest within reach; -1 if there is none. */
    at(time2, reach) {
      let low = 0;
      let high = this.start.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.start[middle] <= time2) low = middle + 1;
        else high = middle;
      }
      const before = low - 1;
      if (before >= 0 && this.end[before] >= time2) return before;
      const left = before >= 0 ? time2 - this.end[before] : Infinity;
      const right = low < this.start.length ? this.start[low] - time2 : Infinity;
      if (Math.min(left, right) > reach) return -1;
      return left <= right ? before : low;
    }
  };
  function joined(below, lengths) {
    const count = Math.ceil(below.start.length / FAN);
    const level = {
      start: new Float64Array(count),
      end: new Float64Array(count),
      busy: new Float64Array(count),
      top: new Int32Array(count)
    };
    for (let at = 0; at < count; at++) {
      const first = at * FAN;
      const last = Math.min(first + FAN, below.start.length);
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

  // src/timeline/theme.ts
  var KINDS = ["compute", "exchange", "sync and waiting", "stream copies", "exchange between IPUs"];
  var KIND_COLOURS = ["#d1495b", "#6fb7e6", "#ecc44f", "#8a68d6", "#2f74bd"];
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
        const start = new Float64Array(list.length);
        const end = new Float64Array(list.length);
        for (let at = 0; at < list.length; at++) {
          start[at] = spans.start[list[at]];
          end[at] = spans.end[list[at]];
        }
        this.trees.push(new SpanTree(list, start, end));
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
  function fittedEnd(text, width) {
    const letters = Math.floor(width / letter);
    const clean = plain(text);
    if (clean.length <= letters || letters < 4) return fitted(clean, width);
    return "\u2026" + clean.slice(clean.length - letters + 1);
  }
  function plain(text) {
    const short = text.length > 300 ? text.slice(0, 299) + "\u2026" : text;
    return short.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\uFFFD");
  }

  // src/timeline/flame_row.ts
  var FlameRow = class {
    constructor(spans, options) {
      this.options = options;
      this.id = options.id;
      this.name = options.name;
      if (options.note !== void 0) this.note = options.note;
      if (options.parent !== void 0) this.parent = options.parent;
      this.band = options.band ?? 18;
      this.base = new SpanSet(spans);
    }
    options;
    id;
    name;
    note;
    parent;
    sketched = true;
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
        const small2 = (start, end, time2, item) => {
          const first = clamp(Math.floor((start - from) * scale), 0, width - 1);
          const last = clamp(Math.floor((end - from) * scale), first, width - 1);
          const share = time2 * scale / (last - first + 1);
          for (let x = first; x <= last; x++) {
            busy[x] += share;
            if (time2 >= widest[x]) {
              widest[x] = Math.max(time2, Number.MIN_VALUE);
              colour[x] = shade(item);
            }
          }
        };
        tree.visit(
          from,
          to,
          1.5 / scale,
          (at, start, end) => {
            const item = tree.items[at];
            const left = Math.round((Math.max(start, from) - from) * scale);
            const right = Math.round((Math.min(end, to) - from) * scale);
            const dense = set.dense(item);
            if (right - left < 2) return small2(start, end, (end - start) * dense, item);
            const own = dense < 1 ? mixed(ground, shade(item), 0.35 + 0.65 * dense) : shade(item);
            raster.box(left, top, right - left > 3 ? right - 1 : right, bottom, own);
          },
          (start, end, time2, longest) => small2(start, end, time2, tree.items[longest])
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
          (at, start, end) => {
            const left = (Math.max(start, from) - from) * scale;
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
            context.fillText(text, left + 4, top + this.band / 2);
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
    at(time2, y, reach, folded) {
      const set = this.set(time2, time2);
      const depth = Math.floor((y - 2) / this.band);
      const tree = depth >= 0 && depth < (folded ? 1 : this.depths) ? set.trees[depth] : void 0;
      const found = tree ? tree.at(time2, reach) : -1;
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
    find(needle, most) {
      const matches = [];
      let total = 0;
      if (!needle) return { matches, total };
      const { labels, label, start, end } = this.base.spans;
      const wanted = labels.map((text) => text.toLowerCase().includes(needle));
      for (let at = 0; at < start.length; at++) {
        if (!wanted[label[at]]) continue;
        total++;
        if (matches.length < most)
          matches.push({ row: this.id, from: start[at], to: end[at], key: String(this.base.id(at)), text: labels[label[at]] ?? "" });
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
    draw() {
    }
    at() {
      return null;
    }
  };

  // src/timeline/lane.ts
  var FAN2 = 16;
  var CHUNK = 2048;
  var AT_ONCE = 4;
  var KEPT = 600;
  var KeptSteps = class {
    constructor(pieces2) {
      this.pieces = pieces2;
    }
    pieces;
    waiting = 0;
    get(row) {
      let low = 0;
      let high = this.pieces.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.pieces[middle].first <= row) low = middle + 1;
        else high = middle;
      }
      const found = this.pieces[low - 1];
      return found && row < found.first + found.start.length ? found : null;
    }
  };
  var LoadedSteps = class {
    constructor(load, changed) {
      this.load = load;
      this.changed = changed;
    }
    load;
    changed;
    kept = /* @__PURE__ */ new Map();
    missing = /* @__PURE__ */ new Set();
    wishes = [];
    running = /* @__PURE__ */ new Set();
    get(row) {
      const chunk = Math.floor(row / CHUNK);
      const found = this.kept.get(chunk);
      if (found) return found;
      if (!this.running.has(chunk) && !this.missing.has(chunk)) {
        const at = this.wishes.indexOf(chunk);
        if (at >= 0) this.wishes.splice(at, 1);
        this.wishes.push(chunk);
        if (this.wishes.length > 256) this.wishes.shift();
        this.next();
      }
      return null;
    }
    get waiting() {
      return this.running.size + this.wishes.length;
    }
    next() {
      while (this.running.size < AT_ONCE && this.wishes.length) {
        const chunk = this.wishes.pop();
        this.running.add(chunk);
        this.load(chunk * CHUNK, CHUNK).then((steps) => {
          if (steps.start.length) this.kept.set(chunk, steps);
          else this.missing.add(chunk);
          for (const old of this.kept.keys()) {
            if (this.kept.size <= KEPT) break;
            this.kept.delete(old);
          }
        }).catch(() => this.missing.add(chunk)).finally(() => {
          this.running.delete(chunk);
          this.changed();
          this.next();
        });
      }
    }
  };

  // src/timeline/lane_row.ts
  var ENTER = 8;
  var NODE = 4;
  var PIXELS = Uint32Array.from(KIND_COLOURS, pixel);
  var INK = ["#ffffff", "#10202c", "#2b2410", "#ffffff", "#ffffff"];
  var LaneRow = class {
    constructor(lane, store, options) {
      this.lane = lane;
      this.options = options;
      this.store = store;
      this.id = options.id;
      this.name = options.name;
      if (options.note !== void 0) this.note = options.note;
      if (options.parent !== void 0) this.parent = options.parent;
    }
    lane;
    options;
    id;
    name;
    note;
    parent;
    foldable = true;
    sketched = true;
    store;
    /** kinds in bands of their own */
    split = false;
    tall = 26;
    sums = [];
    height(folded) {
      return folded ? 12 : this.split ? 60 : this.tall;
    }
    extent() {
      return { from: this.options.offset, to: this.options.offset + this.lane.cycles * this.options.factor };
    }
    /** Visit what overlaps the range of the lane's own times: steps one by one where 16 of them are wider than `least`. */
    visit(from, to, least, step, group) {
      const { levels, first, steps: count } = this.lane;
      const walk = (level, begin, end) => {
        const { start, end: ends } = levels[level];
        for (let at = begin; at < end; at++) {
          if (start[at] > to) return;
          if (ends[at] < from) continue;
          if (ends[at] - start[at] <= least) group(level, at);
          else if (level > 0) walk(level - 1, at * FAN2, Math.min(at * FAN2 + FAN2, levels[level - 1].start.length));
          else if (this.lane.covers !== FAN2 || !this.leaves(first + at * FAN2, first + Math.min(at * FAN2 + FAN2, count), from, to, step)) group(0, at);
        }
      };
      const top = levels.length - 1;
      if (top >= 0) walk(top, 0, levels[top].start.length);
    }
    leaves(begin, end, from, to, step) {
      const low = this.store.get(begin);
      const high = this.store.get(end - 1);
      if (!low || !high) return false;
      for (let row = begin; row < end; row++) {
        const steps = row - low.first < low.start.length ? low : high;
        const at = row - steps.first;
        if (at < 0 || at >= steps.start.length) return false;
        if (steps.start[at] > to) break;
        if (steps.start[at] + steps.cycles[at] >= from) step(steps, at);
      }
      return true;
    }
    paint(pane) {
      const { raster, ratio } = pane;
      const { offset, factor } = this.options;
      const width = raster.width;
      while (this.sums.length < KINDS.length) this.sums.push(new Float32Array(width));
      this.sums.forEach((sum2, kind) => {
        if (sum2.length === width) sum2.fill(0);
        else this.sums[kind] = new Float32Array(width);
      });
      const scale = pane.scale * ratio * factor;
      const from = (pane.from - offset) / factor;
      const to = (pane.to - offset) / factor;
      const add = (kind, start, end, cycles) => {
        if (cycles <= 0 || end <= start) return;
        const low = Math.max(0, (start - from) * scale);
        const high = Math.min(width, (end - from) * scale);
        const dense = cycles / (end - start);
        const sum2 = this.sums[kind];
        const last = Math.min(width - 1, Math.floor(high));
        for (let x = Math.floor(low); x <= last; x++) sum2[x] += dense * (Math.min(high, x + 1) - Math.max(low, x));
      };
      this.visit(
        from,
        to,
        ENTER / scale,
        (steps, at) => add(steps.kind[at], steps.start[at], steps.start[at] + steps.cycles[at], steps.cycles[at]),
        (level, at) => {
          const { start, end, sums } = this.lane.levels[level];
          for (let kind = 0; kind < 4; kind++) add(kind, start[at], end[at], sums[kind][at]);
        }
      );
      const top = Math.round((pane.top + 2) * ratio);
      const bottom = Math.round((pane.top + pane.height - 2) * ratio);
      if (this.split && !pane.folded) this.bands(pane, top, bottom);
      else this.stacked(pane, top, bottom);
    }
    stacked(pane, top, bottom) {
      const { raster } = pane;
      const high = bottom - top;
      const width = raster.width;
      const sums = this.sums;
      for (let x = 0; x < width; ) {
        let whole2 = -1;
        let filled = 0;
        for (let kind = 0; kind < sums.length; kind++) {
          const value = sums[kind][x];
          filled += value;
          if (value > 0.98) whole2 = kind;
        }
        if (filled <= 1e-3) {
          x++;
          continue;
        }
        if (whole2 >= 0) {
          let end = x + 1;
          while (end < width && sums[whole2][end] > 0.98) end++;
          raster.box(x, top, end, bottom, PIXELS[whole2]);
          x = end;
          continue;
        }
        let y = bottom;
        let below = 0;
        for (let kind = 0; kind < sums.length; kind++) {
          const value = sums[kind][x];
          if (value <= 0) continue;
          below += value;
          const upper = bottom - Math.round(high * Math.min(filled, below) / Math.max(filled, 1));
          raster.box(x, upper, x + 1, y, PIXELS[kind]);
          y = upper;
        }
        x++;
      }
    }
    bands(pane, top, bottom) {
      const { raster } = pane;
      const high = (bottom - top) / 4;
      for (let kind = 0; kind < this.sums.length; kind++) {
        const band = kind === 4 ? 1 : kind;
        const floor = Math.round(top + high * (band + 1)) - 1;
        const sum2 = this.sums[kind];
        for (let x = 0; x < raster.width; ) {
          if (sum2[x] <= 1e-3) {
            x++;
            continue;
          }
          const tall = Math.max(1, Math.round((high - 2) * Math.min(1, sum2[x])));
          let end = x + 1;
          while (end < raster.width && Math.max(1, Math.round((high - 2) * Math.min(1, sum2[end]))) === tall && sum2[end] > 1e-3) end++;
          raster.box(x, floor - tall, end, floor, PIXELS[kind]);
          x = end;
        }
      }
    }
    draw(pane) {
      if (pane.folded) return;
      const { context } = pane;
      const { offset, factor } = this.options;
      const scale = pane.scale * factor;
      const from = (pane.from - offset) / factor;
      const to = (pane.to - offset) / factor;
      const least = 48 / scale;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      const band = (pane.height - 4) / 4;
      this.visit(
        from,
        to,
        least,
        (steps, at) => {
          const left = (Math.max(steps.start[at], from) - from) * scale;
          const right = (Math.min(steps.start[at] + steps.cycles[at], to) - from) * scale;
          const kind = steps.kind[at];
          const row = this.split ? kind === 4 ? 1 : kind : 0;
          const top = pane.top + 2 + (this.split ? band * row : 0);
          const tall = this.split ? band : pane.height - 4;
          if (right - left >= 3) {
            context.fillStyle = pane.theme.ground;
            context.fillRect(right - 0.75, top, 0.75, tall);
          }
          if (right - left < 34 || tall < 11) return;
          const text = fittedEnd(this.options.label(steps, at), right - left - 8);
          if (!text) return;
          context.fillStyle = INK[kind];
          context.fillText(text, left + 4, top + tall / 2 + 0.5);
        },
        () => void 0
      );
    }
    made(steps, at) {
      const { offset, factor } = this.options;
      const label = this.options.label(steps, at);
      return {
        row: this.id,
        key: `s${steps.first + at}`,
        from: offset + steps.start[at] * factor,
        to: offset + (steps.start[at] + steps.cycles[at]) * factor,
        top: 2,
        height: this.height(false) - NODE,
        tip: () => this.options.stepTip(steps, at, label)
      };
    }
    at(time2, _y, reach) {
      const { offset, factor } = this.options;
      const own = (time2 - offset) / factor;
      const found = [];
      this.visit(
        own,
        own,
        reach / 4 * ENTER / factor,
        (steps, at) => found.push(this.made(steps, at)),
        (level, at) => {
          const { start, end, sums } = this.lane.levels[level];
          const size = this.lane.covers * FAN2 ** level;
          const count = Math.min(size, this.lane.steps - at * size);
          const values = sums.map((sum2) => sum2[at]);
          found.push({
            row: this.id,
            key: `g${level}.${at}`,
            from: offset + start[at] * factor,
            to: offset + end[at] * factor,
            top: 2,
            height: this.height(false) - NODE,
            tip: () => this.options.groupTip(count, start[at], end[at], values)
          });
        }
      );
      return found.find((item) => item.from <= time2 && item.to > time2) ?? found[0] ?? null;
    }
    item(key) {
      const row = /^s\d+$/.test(key) ? Number(key.slice(1)) : NaN;
      if (!(row >= this.lane.first && row < this.lane.first + this.lane.steps)) return null;
      const steps = this.store.get(row);
      const at = steps ? row - steps.first : -1;
      return steps && at >= 0 && at < steps.start.length ? this.made(steps, at) : null;
    }
    find(needle, most) {
      return needle && this.options.find ? this.options.find(needle, most) : { matches: [], total: 0 };
    }
  };

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
    const up = (event, kept) => {
      const down = pointers.get(event.pointerId);
      if (!down) return;
      pointers.delete(event.pointerId);
      if (kept && mode === "press") actions.click(down.x, down.y);
      if (mode === "area") actions.area(down.startX, down.startY, down.x, down.y, true);
      if (mode === "pinch" && pointers.size) return;
      mode = "none";
    };
    plot.addEventListener("pointerup", (event) => up(event, true));
    plot.addEventListener("pointercancel", (event) => up(event, false));
    plot.addEventListener("pointerleave", () => actions.leave());
    plot.addEventListener("dblclick", (event) => actions.open(...place(event)));
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
  function drawRuler(context, theme, clock, from, to, step, width) {
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, width, RULER);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const scale = width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale);
      context.fillStyle = theme.line;
      context.fillRect(x, RULER - 6, 1, 6);
      context.fillStyle = theme.soft;
      const text = clock.moment(mark * step, step);
      const wide = context.measureText(text).width;
      if (x + 4 + wide < width) context.fillText(text, x + 4, 11);
    }
    context.fillStyle = theme.line;
    context.fillRect(0, RULER - 1, width, 1);
  }
  function paintGrid(raster, theme, from, to, step, ratio) {
    const scale = raster.width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    const colour = pixel(theme.grid);
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale);
      raster.box(x, Math.round(RULER * ratio), x + Math.max(1, Math.round(ratio)), raster.height, colour);
    }
  }

  // src/timeline/picture.ts
  function saveImage(plot, labels, theme, file) {
    const ratio = plot.width / Math.max(1, plot.clientWidth);
    const gutter = labels.offsetWidth;
    const picture = document.createElement("canvas");
    picture.width = plot.width + Math.round(gutter * ratio);
    picture.height = plot.height;
    const context = picture.getContext("2d");
    if (!context) return;
    context.fillStyle = theme.ground;
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
      context.fillStyle = theme.ink;
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
      const x = (time2) => box.left + (time2 - from) / (to - from) * box.width;
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
      const time2 = this.time(event);
      if (this.held === "from") this.move(Math.min(time2, shown.to - this.least()), shown.to);
      else if (this.held === "to") this.move(shown.from, Math.max(time2, shown.from + this.least()));
      else this.move(this.holdFrom + time2 - this.holdAt, this.holdFrom + time2 - this.holdAt + shown.to - shown.from);
    }
    draw(rows, theme, ratio, cssWidth) {
      const width = Math.max(1, Math.round(cssWidth * ratio));
      const height = Math.round(HIGH * ratio);
      if (this.canvas.width !== width || this.canvas.height !== height) {
        this.canvas.width = width;
        this.canvas.height = height;
        this.canvas.style.height = `${HIGH}px`;
        this.stale = true;
      }
      if (this.stale) this.paint(rows, theme, ratio, width, height);
      const context = this.canvas.getContext("2d");
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.drawImage(this.sketch, 0, 0);
      const { from, to } = this.whole();
      const shown = this.shown();
      const left = (shown.from - from) / (to - from) * width;
      const right = Math.max(left + 2 * ratio, (shown.to - from) / (to - from) * width);
      context.globalAlpha = 0.62;
      context.fillStyle = theme.ground;
      context.fillRect(0, 0, left, height);
      context.fillRect(right, 0, width - right, height);
      context.globalAlpha = 1;
      context.strokeStyle = theme.accent;
      context.lineWidth = 1.5 * ratio;
      context.strokeRect(left + ratio, ratio, Math.max(ratio, right - left - 2 * ratio), height - 2 * ratio);
      context.fillStyle = theme.accent;
      for (const x of [left, right]) {
        const at = clamp(x, 3 * ratio, width - 3 * ratio);
        context.beginPath();
        context.roundRect(at - 3 * ratio, height * 0.2, 6 * ratio, height * 0.6, 3 * ratio);
        context.fill();
      }
    }
    paint(rows, theme, ratio, width, height) {
      this.stale = false;
      this.sketch.width = width;
      this.sketch.height = height;
      const context = this.sketch.getContext("2d");
      this.raster.resize(width, height);
      this.raster.clear(theme.band);
      this.raster.clip(0, height);
      const { from, to } = this.whole();
      const shown = rows.filter((row) => row.sketched).slice(0, MOST_ROWS);
      const each = (HIGH - 6) / Math.max(1, shown.length);
      const ground = { ...theme, groundPixel: theme.band };
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
          folded: true,
          picked: null,
          hovered: null
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
        "aria-label": "Zoom: 100 % is everything; or a length of time",
        title: "Type a zoom (400 %), a length (3 ms) or a range (1 ms - 3 ms), then Enter"
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
      this.search.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = window.setTimeout(() => actions.search(this.search.value), 150);
      });
      this.search.addEventListener("keydown", (event) => {
        if (event.key === "Enter") actions.next(event.shiftKey ? -1 : 1);
        else if (event.key === "Escape") {
          this.search.value = "";
          actions.search("");
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
        button2("Save image", "Save what is shown as a PNG", () => actions.image(), "tl-image")
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
      this.zoomBox.value = percent2 >= 1e6 ? `${percent2.toExponential(1)} %` : `${percent2 >= 1e3 ? Math.round(percent2) : Number(percent2.toPrecision(3))} %`;
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
  var MOST_MATCHES = 5e3;
  var Timeline = class {
    constructor(options) {
      this.options = options;
      this.bar = new Toolbar({
        zoom: (factor) => this.zoom(factor),
        all: () => this.show(this.whole.from, this.whole.to),
        typed: (text) => this.typed(text),
        selecting: (on) => this.canvas.classList.toggle("tl-selecting", on),
        search: (text) => void this.search(text),
        next: (by) => this.next(by),
        image: () => saveImage(this.canvas, this.labels.node, this.theme, this.options.file)
      });
      this.labels = new Labels((id) => this.fold(id), (id) => this.pin(id));
      this.strip = new Strip(() => this.whole, () => ({ from: this.from, to: this.to }), () => this.options.least, (from, to) => this.show(from, to));
      this.node.className = "tl";
      this.scroller.className = "tl-scroll";
      this.stage.className = "tl-stage";
      this.space.className = "tl-space";
      this.status.className = "tl-status";
      this.canvas.className = "tl-plot";
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `${options.label}. Keys: w and s zoom, a and d move, 0 shows all, n goes to the next match.`);
      const top = document.createElement("div");
      top.className = "tl-top";
      top.append(this.status, this.strip.canvas);
      this.stage.append(this.labels.node, this.canvas);
      this.scroller.append(this.stage, this.space);
      this.node.append(this.bar.node, top, this.scroller);
      this.theme = readTheme(document.documentElement);
      this.scroller.addEventListener("scroll", () => this.redraw());
      this.listen();
      const sized = new ResizeObserver(() => this.redraw());
      sized.observe(this.scroller);
      this.stops.push(() => sized.disconnect(), onThemeChange(() => this.restyle()));
    }
    options;
    node = document.createElement("div");
    bar;
    layout = new Layout();
    scroller = document.createElement("div");
    stage = document.createElement("div");
    space = document.createElement("div");
    canvas = document.createElement("canvas");
    status = document.createElement("div");
    labels;
    strip;
    raster = new Raster();
    stops = [];
    theme;
    whole = { from: 0, to: 1 };
    from = 0;
    to = 1;
    width = 1;
    height = 1;
    frame = 0;
    stateTimer = 0;
    cursor = null;
    hovered = null;
    picked = null;
    area = null;
    matches = [];
    total = 0;
    matchAt = -1;
    searchTurn = 0;
    seen = "";
    listen() {
      listen(this.canvas, {
        zoom: (factor, x) => this.zoom(factor, x),
        pan: (dx) => this.pan(dx),
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
      const before = this.whole;
      const all = this.from === before.from && this.to === before.to;
      this.whole = whole2 ?? (from < to ? { from, to } : { from: Number.isFinite(from) ? from : 0, to: (Number.isFinite(from) ? from : 0) + 1 });
      this.strip.renew();
      if (all || this.to <= this.whole.from || this.from >= this.whole.to) this.show(this.whole.from, this.whole.to);
      else this.show(this.from, this.to);
      if (this.area) this.area.rows = this.area.rows.filter((id) => this.layout.get(id));
      this.redraw();
    }
    /** Heights changed, or what rows hold. */
    renew() {
      this.layout.place();
      this.strip.renew();
      this.redraw();
    }
    restyle() {
      this.theme = readTheme(document.documentElement);
      this.strip.renew();
      this.redraw();
    }
    get range() {
      return { from: this.from, to: this.to };
    }
    get all() {
      return this.whole;
    }
    get pickedItem() {
      return this.picked;
    }
    show(from, to) {
      if (!Number.isFinite(from) || !Number.isFinite(to)) return;
      const whole2 = this.whole.to - this.whole.from;
      const length = clamp(to - from, Math.min(this.options.least, whole2), whole2);
      const begin = clamp((from + to) / 2 - length / 2, this.whole.from, this.whole.to - length);
      this.from = begin;
      this.to = begin + length;
      this.changed();
    }
    zoom(factor, x = this.cursor ? this.cursor.x : this.width / 2) {
      const at = this.from + (this.to - this.from) * clamp(x, 0, this.width) / this.width;
      const whole2 = this.whole.to - this.whole.from;
      const length = clamp((this.to - this.from) * factor, Math.min(this.options.least, whole2), whole2);
      const share = clamp(x, 0, this.width) / this.width;
      this.show(at - length * share, at + length * (1 - share));
    }
    pan(dx) {
      const by = -dx * (this.to - this.from) / this.width;
      this.show(this.from + by, this.to + by);
    }
    typed(text) {
      const percent2 = /^\s*([\d.,e+]+)\s*%\s*$/i.exec(text);
      const centre = (this.from + this.to) / 2;
      if (percent2) {
        const share = Number((percent2[1] ?? "").replaceAll(",", "")) / 100;
        if (!(share > 0)) return false;
        const length = (this.whole.to - this.whole.from) / Math.max(1, share);
        this.show(centre - length / 2, centre + length / 2);
        return true;
      }
      const parts = text.split(/\s*(?:-|–|\.\.|to)\s*/);
      const numbers2 = parts.map((part) => this.options.clock.parse(part));
      if (numbers2.some((number) => !Number.isFinite(number) || number < 0)) return false;
      if (numbers2.length === 1 && numbers2[0] > 0) {
        this.show(centre - numbers2[0] / 2, centre + numbers2[0] / 2);
        return true;
      }
      if (numbers2.length !== 2 || !(numbers2[0] < numbers2[1])) return false;
      this.show(this.whole.from + numbers2[0], this.whole.from + numbers2[1]);
      return true;
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
      const scale = (this.to - this.from) / this.width;
      this.area = { from: this.from + left * scale, to: this.from + right * scale, rows: rows.map(({ placed }) => placed.row.id) };
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
      const shown = this.to - this.from;
      const centre = (item.from + item.to) / 2;
      if (share > 0 || length > shown || length < shown * 0.01) {
        const wide = share > 0 ? length / share : length > shown ? length / 0.8 : length / 0.06;
        this.show(centre - wide / 2, centre + wide / 2);
      } else if (item.from < this.from || item.to > this.to) this.show(centre - shown / 2, centre + shown / 2);
      const placed = this.layout.scrolled.find((each) => each.row.id === item.row);
      if (placed) {
        const room = this.scroller.clientHeight - RULER - this.layout.pinnedHeight;
        const top = placed.top + (placed.folded ? 0 : item.top ?? 0);
        this.space.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight}px`;
        if (top < this.scroller.scrollTop || top + 24 > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room / 3;
      }
      this.redraw();
    }
    async search(text) {
      const needle = text.trim().toLowerCase().slice(0, 200);
      const turn = ++this.searchTurn;
      this.matches = [];
      this.total = 0;
      this.matchAt = -1;
      for (const row of this.layout.all) row.mark?.(needle);
      this.redraw();
      if (needle) {
        this.bar.searching();
        const found = await this.found(needle).catch(() => ({ matches: [], total: 0 }));
        if (turn !== this.searchTurn) return;
        this.matches = found.matches;
        this.total = found.total;
      }
      this.bar.showFound(-1, this.matches.length, this.total);
      this.redraw();
    }
    async found(needle) {
      if (this.options.search) return this.options.search(needle, MOST_MATCHES);
      const all = { matches: [], total: 0 };
      for (const row of this.layout.all) {
        if (!row.find) continue;
        const found = await row.find(needle, MOST_MATCHES - all.matches.length);
        all.matches.push(...found.matches);
        all.total += found.total;
      }
      all.matches.sort((one, other) => one.from - other.from);
      return all;
    }
    next(by) {
      if (!this.matches.length) return;
      if (this.matchAt < 0) {
        const first = this.matches.findIndex((match2) => match2.to >= this.from);
        this.matchAt = by > 0 ? Math.max(0, first) : (first + this.matches.length - 1) % this.matches.length;
      } else this.matchAt = (this.matchAt + by + this.matches.length) % this.matches.length;
      const match = this.matches[this.matchAt];
      const item = this.layout.get(match.row)?.item?.(match.key) ?? null;
      this.reveal(item ?? match);
      this.pick(item ?? { row: match.row, key: match.key, from: match.from, to: match.to, top: 2, height: 16, tip: () => ({ title: match.text, lines: [] }) });
      this.bar.showFound(this.matchAt, this.matches.length, this.total);
    }
    /** Keys while the timeline is shown; true if it was one of its own. */
    key(event) {
      const step = event.shiftKey ? 0.5 : 0.15;
      switch (event.key) {
        case "w":
        case "W":
        case "+":
        case "=":
          this.zoom(1 / 1.5);
          break;
        case "s":
        case "S":
        case "-":
        case "_":
          this.zoom(1.5);
          break;
        case "a":
        case "A":
        case "ArrowLeft":
          this.pan(this.width * step);
          break;
        case "d":
        case "D":
        case "ArrowRight":
          this.pan(-this.width * step);
          break;
        case "ArrowUp":
          this.scroller.scrollTop -= 60;
          break;
        case "ArrowDown":
          this.scroller.scrollTop += 60;
          break;
        case "0":
        case "Home":
          this.show(this.whole.from, this.whole.to);
          break;
        case "z":
          if (this.picked) this.reveal(this.picked, 0.8);
          break;
        case "m":
          this.bar.setSelecting(!this.bar.selecting);
          break;
        case "f":
          this.bar.search.focus();
          break;
        case "n":
          this.next(1);
          break;
        case "N":
          this.next(-1);
          break;
        case "p": {
          const row = this.picked?.row ?? this.hovered?.row;
          if (row) this.pin(row);
          break;
        }
        case "Escape":
          if (this.bar.selecting) this.bar.setSelecting(false);
          else if (this.area) this.setArea(null);
          else this.pick(null);
          break;
        default:
          return false;
      }
      return true;
    }
    state() {
      return {
        from: this.from,
        to: this.to,
        pins: [...this.layout.pins],
        folded: [...this.layout.folded],
        area: this.area,
        picked: this.picked ? { row: this.picked.row, key: this.picked.key } : null
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
      if (state.picked) {
        const item = this.layout.get(state.picked.row)?.item?.(state.picked.key);
        if (item) this.pick(item);
      }
      this.redraw();
    }
    changed() {
      this.redraw();
      clearTimeout(this.stateTimer);
      this.stateTimer = window.setTimeout(() => this.options.onstate?.(this.state()), 250);
    }
    redraw() {
      if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
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
      const scale = (this.to - this.from) / this.width;
      for (const { placed, y: top } of this.visible()) {
        if (!placed.pinned && y < RULER + this.layout.pinnedHeight) continue;
        if (y >= top && y < top + placed.height) return placed.row.at(this.from + x * scale, y - top, 4 * scale, placed.folded);
      }
      return null;
    }
    draw() {
      this.frame = 0;
      this.scroller.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight + 2}px`;
      const box = this.stage.getBoundingClientRect();
      const ratio = Math.min(3, devicePixelRatio || 1);
      this.height = this.scroller.clientHeight;
      const gutter = this.labels.node.offsetWidth;
      this.width = Math.max(1, Math.floor(box.width - gutter));
      if (this.height < 1 || !this.node.isConnected) return;
      const [wide, high] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
      if (this.canvas.width !== wide || this.canvas.height !== high) {
        this.canvas.width = wide;
        this.canvas.height = high;
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${this.height}px`;
      }
      this.stage.style.height = `${this.height}px`;
      this.stage.style.marginBottom = `${-this.height}px`;
      this.space.style.height = `${this.layout.height + RULER + this.layout.pinnedHeight}px`;
      const range = `${this.from} ${this.to} ${wide}`;
      if (range !== this.seen) {
        this.seen = range;
        this.options.onrange?.(this.from, this.to, wide);
      }
      const visible = this.visible();
      this.labels.draw(RULER, this.layout.pinned, this.layout.pinnedHeight, visible.filter(({ placed }) => !placed.pinned).map(({ placed }) => placed), this.scroller.scrollTop);
      this.paint(visible, ratio, wide, high);
      this.strip.draw(this.layout.all, this.theme, ratio, this.strip.canvas.clientWidth || this.width);
      this.bar.showZoom((this.to - this.from) / (this.whole.to - this.whole.from));
      this.status.textContent = this.options.clock.span(this.to - this.from);
      this.status.title = `shown: ${this.options.clock.span(this.to - this.from)} of ${this.options.clock.span(this.whole.to - this.whole.from)}`;
      this.pointer();
    }
    paint(visible, ratio, wide, high) {
      const context = this.canvas.getContext("2d", { alpha: false });
      const { theme, raster, width } = this;
      raster.resize(wide, high);
      raster.clear(theme.groundPixel);
      raster.clip(0, high);
      const step = this.options.clock.tick((this.to - this.from) * 90 / width);
      paintGrid(raster, theme, this.from, this.to, step, ratio);
      const split = RULER + this.layout.pinnedHeight;
      const panes = visible.map(({ placed, y }) => [placed.row, {
        raster,
        context,
        theme,
        top: y,
        height: placed.height,
        clipTop: placed.pinned ? RULER : split,
        clipBottom: placed.pinned ? split : this.height,
        width,
        ratio,
        from: this.from,
        to: this.to,
        scale: width / (this.to - this.from),
        folded: placed.folded,
        picked: null,
        hovered: null
      }]);
      for (const [row, pane] of panes) {
        raster.clip(pane.clipTop * ratio, pane.clipBottom * ratio);
        row.paint(pane);
      }
      raster.show(context);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      calibrate(context);
      drawRuler(context, theme, this.options.clock, this.from, this.to, step, width);
      for (const [row, pane] of panes) {
        context.save();
        context.beginPath();
        context.rect(0, pane.clipTop, width, pane.clipBottom - pane.clipTop);
        context.clip();
        context.fillStyle = theme.grid;
        context.fillRect(0, pane.top + pane.height - 0.5, width, 0.5);
        row.draw(pane);
        this.outline(context, row, pane);
        context.restore();
      }
      if (this.layout.pinned.length) {
        context.fillStyle = theme.accent;
        context.fillRect(0, split - 1, width, 1);
      }
      this.marks(context, visible);
    }
    outline(context, row, pane) {
      for (const [item, colour] of [[this.hovered, this.theme.soft], [this.picked, this.theme.ink]]) {
        if (!item || item.row !== row.id) continue;
        const left = clamp((item.from - pane.from) * pane.scale, -3, pane.width + 3);
        const right = clamp((item.to - pane.from) * pane.scale, left + 2, pane.width + 3);
        const tall = pane.folded ? pane.height - 4 : item.height || pane.height - 4;
        context.strokeStyle = colour;
        context.lineWidth = item === this.picked ? 2 : 1;
        context.strokeRect(left, pane.top + (pane.folded ? 2 : item.top) + 0.5, right - left, tall - 1);
      }
    }
    /** What lies over all rows: the area, matches on the ruler, the cursor. */
    marks(context, visible) {
      const { theme, width } = this;
      const scale = width / (this.to - this.from);
      if (this.area) {
        const left = clamp((this.area.from - this.from) * scale, 0, width);
        const right = clamp((this.area.to - this.from) * scale, 0, width);
        context.fillStyle = theme.accent;
        for (const { placed, y } of visible) {
          if (!this.area.rows.includes(placed.row.id)) continue;
          const top = placed.pinned ? y : Math.max(y, RULER + this.layout.pinnedHeight);
          context.globalAlpha = 0.16;
          context.fillRect(left, top, right - left, y + placed.height - top);
        }
        context.globalAlpha = 1;
        context.fillRect(left - 0.5, 0, 1, this.height);
        context.fillRect(right - 0.5, 0, 1, this.height);
        context.fillRect(left, RULER - 4, Math.max(1, right - left), 3);
      }
      context.fillStyle = theme.bad;
      let before = -9;
      for (const match of this.matches) {
        const x = Math.round((match.from - this.from) * scale);
        if (x - before < 2 || x < 0 || x > width) continue;
        before = x;
        context.fillRect(x - 0.5, RULER - 6, 2, 6);
      }
      if (this.cursor) {
        context.fillStyle = theme.ink;
        context.globalAlpha = 0.55;
        context.fillRect(Math.round(this.cursor.x), RULER, 1, this.height - RULER);
        context.globalAlpha = 1;
        const time2 = this.from + this.cursor.x / scale;
        const text = this.options.clock.moment(time2, 1 / scale);
        context.font = "11px system-ui, sans-serif";
        const wide = context.measureText(text).width + 10;
        const left = clamp(this.cursor.x - wide / 2, 0, width - wide);
        context.fillStyle = theme.ink;
        context.fillRect(left, 2, wide, 17);
        context.fillStyle = theme.ground;
        context.textBaseline = "middle";
        context.fillText(text, left + 5, 11);
      }
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

  // src/timeline_state.ts
  var MOST2 = 40;
  var written = (value) => String(Number(value.toPrecision(15)));
  function writeState(state, shown) {
    state.set({
      t: `${written(shown.from)},${written(shown.to)}`,
      pins: shown.pins.slice(0, MOST2).join(",") || null,
      folded: shown.folded.slice(0, MOST2).join(",") || null,
      area: shown.area ? [written(shown.area.from), written(shown.area.to), ...shown.area.rows.slice(0, 2 * MOST2)].join(",") : null,
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

  // src/trace_data.ts
  var KIND_OF_TYPE = { 7: 0, 8: 1, 9: 4, 10: 3, 11: 3, 12: 3 };
  var COLUMNS = ["start", "cycles", "type", "program", "compute_set"];
  function asSteps(first, columns, from = 0, to) {
    const part = (name) => columns[name].subarray(from, to);
    return {
      first,
      start: part("start"),
      cycles: part("cycles"),
      kind: Uint8Array.from(part("type"), (type) => KIND_OF_TYPE[type] ?? 2),
      program: Int32Array.from(part("program")),
      computeSet: Int32Array.from(part("compute_set"))
    };
  }
  var Names = class _Names {
    constructor(source, report, frame, changed) {
      this.source = source;
      this.report = report;
      this.frame = frame;
      this.changed = changed;
      if (!source.served) {
        source.frame(report, frame, ["name", "id"]).then(({ columns }) => {
          const ids = columns.id;
          ids.forEach((id, at) => this.known.set(id, columns.name[at] ?? ""));
          changed();
        }).catch(() => void 0);
      }
    }
    source;
    report;
    frame;
    changed;
    known = /* @__PURE__ */ new Map();
    asked = /* @__PURE__ */ new Set();
    static PART = 512;
    get(row) {
      const found = this.known.get(row);
      if (found !== void 0 || row < 0) return found ?? "";
      const part = Math.floor(row / _Names.PART);
      if (this.source.served && !this.asked.has(part)) {
        this.asked.add(part);
        this.source.frame(this.report, this.frame, ["name"], part * _Names.PART, _Names.PART).then(({ first, columns }) => {
          columns.name.forEach((name, at) => this.known.set(first + at, name));
          this.changed();
        }).catch(() => void 0);
      }
      return "";
    }
  };
  var Trace = class {
    constructor(source, report, info, changed) {
      this.source = source;
      this.report = report;
      this.info = info;
      this.changed = changed;
      this.lanes = info.lanes.map((lane) => ({ first: lane.first_step, steps: lane.steps, cycles: lane.cycles, levels: [], covers: 16 }));
      this.sets = new Names(source, report, "compute_sets", changed);
      this.programs = new Names(source, report, "programs", changed);
      this.store = source.served ? new LoadedSteps(async (first, rows) => asSteps(first, (await source.frame(report, "steps", COLUMNS, first, rows)).columns), changed) : new KeptSteps([]);
    }
    source;
    report;
    info;
    changed;
    lanes;
    sets;
    programs;
    store;
    // a page without a server may hold only some of the steps
    stepsHere = Infinity;
    name(steps, at) {
      return this.sets.get(steps.computeSet[at] ?? -1) || this.programs.get(steps.program[at] ?? -1);
    }
    async load() {
      await Promise.all([this.loadPyramid(), this.source.served ? null : this.loadKept()]);
      this.changed();
    }
    async loadPyramid() {
      const names = ["lane", "level", "start", "end", "compute", "exchange", "sync", "stream"];
      const lanes = new Map(this.info.lanes.map((lane, at) => [lane.lane, at]));
      for (let first = 0; ; ) {
        let part;
        try {
          part = await this.source.frame(this.report, "pyramid", names, first, 1e5);
        } catch (error) {
          if (error instanceof Missing) break;
          throw error;
        }
        const column2 = (name) => part.columns[name];
        const lane = column2("lane"), level = column2("level");
        for (let at = 0; at < part.rows; ) {
          let end = at + 1;
          while (end < part.rows && lane[end] === lane[at] && level[end] === level[at]) end++;
          const into = this.lanes[lanes.get(lane[at]) ?? -1];
          if (into && level[at] >= 1 && level[at] <= 12) {
            const piece = {
              start: column2("start").slice(at, end),
              end: column2("end").slice(at, end),
              sums: [column2("compute").slice(at, end), column2("exchange").slice(at, end), column2("sync").slice(at, end), column2("stream").slice(at, end)]
            };
            const before = into.levels[level[at] - 1];
            into.levels[level[at] - 1] = before ? joined2(before, piece) : piece;
          }
          at = end;
        }
        first += part.rows;
        if (!part.rows || first >= part.total || !this.source.served) break;
        this.changed();
      }
      this.lanes.forEach((lane, at) => {
        const info = this.info.lanes[at];
        const finest = lane.levels.findIndex(Boolean);
        if (finest > 0) [lane.levels, lane.covers] = [lane.levels.slice(finest), 16 ** (finest + 1)];
        if (lane.levels.length && lane.levels.every(Boolean)) return;
        lane.covers = Math.max(16, lane.steps);
        const one = (value) => Float64Array.of(value);
        lane.levels = lane.steps ? [{ start: one(0), end: one(info.cycles), sums: [one(info.compute), one(info.exchange + info.between_ipus), one(info.sync), one(info.stream)] }] : [];
      });
    }
    // rows that follow each other are one piece
    async loadKept() {
      try {
        const { columns } = await this.source.frame(this.report, "steps", [...COLUMNS, "id"]);
        const ids = columns.id, pieces2 = [];
        for (let at = 0; at < ids.length; ) {
          let end = at + 1;
          while (end < ids.length && ids[end] === ids[end - 1] + 1) end++;
          pieces2.push(asSteps(ids[at], columns, at, end));
          at = end;
        }
        this.store = new KeptSteps(pieces2);
        this.stepsHere = ids.length;
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        this.stepsHere = 0;
      }
    }
    // spans of pipeline stages by lane; empty without a pipeline
    async stages() {
      const found = /* @__PURE__ */ new Map();
      if (!this.info.pipelined) return found;
      const answer = await this.source.json(this.report, "execution_stages", { run: this.info.run });
      const column2 = (name) => numbers(answer.columns[name]);
      const [lane, stage, batch, start, end, busy] = ["lane", "stage", "micro_batch", "start", "end", "busy"].map(column2);
      for (let at = 0; at < lane.length; ) {
        let last = at + 1;
        while (last < lane.length && lane[last] === lane[at]) last++;
        const part = (values) => values.subarray(at, last);
        const labels = /* @__PURE__ */ new Map();
        const label = Array.from(part(batch), (number, place) => {
          const text = (number >= 0 ? `micro-batch ${number}` : "once") + (stage[at + place] >= 0 ? `, stage ${stage[at + place]}` : "");
          return labels.get(text) ?? (labels.set(text, labels.size), labels.size - 1);
        });
        const spans = {
          start: part(start).slice(),
          end: part(end).slice(),
          label,
          labels: [...labels.keys()],
          colours: HUES,
          colour: Int32Array.from(part(batch), (number) => number < 0 ? HUES.length - 2 : number % HUES.length)
        };
        found.set(lane[at], { spans, stage: part(stage), batch: part(batch), busy: part(busy), stages: new Set(part(stage)).size });
        at = last;
      }
      return found;
    }
  };
  function joined2(one, other) {
    const both = (a, b) => {
      const made2 = new Float64Array(a.length + b.length);
      made2.set(a);
      made2.set(b, a.length);
      return made2;
    };
    return {
      start: both(one.start, other.start),
      end: both(one.end, other.end),
      sums: [0, 1, 2, 3].map((kind) => both(one.sums[kind], other.sums[kind]))
    };
  }
  async function openTrace(source, report, run, changed) {
    const info = await source.json(report, "execution", run === null ? {} : { run });
    return new Trace(source, report, info, changed);
  }

  // src/trace_local.ts
  var TYPES = ["OnTileExecute", "DoExchange", "Sync", "StreamCopy", "GlobalExchange"];
  var FIELDS = ["compute", "exchange", "sync", "stream", "between_ipus"];
  function pieces(trace) {
    return trace.store instanceof KeptSteps ? trace.store.pieces : [];
  }
  function keptSearch(trace, needle, most) {
    const steps = [];
    let total = 0;
    for (const piece of pieces(trace)) {
      for (let at = 0; at < piece.start.length; at++) {
        const name = trace.name(piece, at);
        if (!name.toLowerCase().includes(needle)) continue;
        const row = piece.first + at;
        const lane = trace.info.lanes.find((each) => row >= each.first_step && row < each.first_step + each.steps);
        if (!lane) continue;
        total++;
        if (steps.length < most) steps.push([lane.lane, row, piece.start[at], piece.cycles[at], name]);
      }
    }
    return { total, steps };
  }
  function keptSelection(trace, start, end, wanted) {
    let rough = 0;
    const names = /* @__PURE__ */ new Map();
    const lanes = trace.info.lanes.flatMap((info, number) => {
      if (!wanted.includes(info.lane)) return [];
      const found = { lane: info.lane, ipu: info.ipu, steps: 0, cycles: 0, compute: 0, exchange: 0, sync: 0, stream: 0, between_ipus: 0, mean_tile_cycles: 0, bytes_in: 0, bytes_out: 0 };
      const data = trace.lanes[number];
      const base = data.levels[0];
      for (let at = 0; base && at < base.start.length; at++) {
        const [low, high] = [base.start[at], base.end[at]];
        if (high <= start || low >= end) continue;
        const firstRow = data.first + at * data.covers, lastRow = Math.min(firstRow + data.covers, data.first + data.steps);
        if (!trace.store.get(firstRow) || !trace.store.get(lastRow - 1)) {
          const share = (Math.min(high, end) - Math.max(low, start)) / (high - low || 1);
          base.sums.forEach((sum2, kind) => {
            found[FIELDS[kind]] += sum2[at] * share;
            found.cycles += sum2[at] * share;
          });
          found.steps += lastRow - firstRow;
          rough++;
          continue;
        }
        for (let row = firstRow; row < lastRow; row++) {
          const steps = trace.store.get(row);
          if (!steps) continue;
          const place = row - steps.first, from = steps.start[place], to = from + steps.cycles[place];
          const inside = Math.min(to, end) - Math.max(from, start);
          if (inside <= 0) continue;
          const kind = steps.kind[place];
          found[FIELDS[kind]] += inside;
          found.cycles += inside;
          found.steps++;
          if (kind === 2) continue;
          const name = trace.name(steps, place) || "(no name)";
          const total = names.get(name) ?? [0, 0, 0];
          names.set(name, [total[0] + inside, total[1] + (kind === 0 ? inside : 0), total[2] + 1]);
        }
      }
      return [found];
    });
    const ranked = [...names].sort((one, other) => other[1][0] - one[1][0]);
    return {
      start,
      end,
      lanes,
      ops: ranked.slice(0, 200).map(([name, [cycles, compute, steps]]) => [-1, name, "", cycles, compute, 0, steps]),
      ops_total: ranked.length,
      note: "By name of the compute set; tile balance and bytes of a selection are shown by `tremula view --serve`" + (rough ? ", and so are the steps that this page does not hold." : ".")
    };
  }
  async function keptStep(trace, step) {
    const steps = trace.store.get(step);
    if (!steps) return null;
    const at = step - steps.first;
    const found = await trace.source.frame(trace.report, "steps", ["id", "mean_tile_cycles", "active_tiles", "bytes_in", "bytes_out", "micro_batch", "stage", "op_id"]).catch(() => null);
    const place = found ? found.columns.id.indexOf(step) : -1;
    const value = (name, missing) => found && place >= 0 ? found.columns[name][place] ?? missing : missing;
    const lane = trace.info.lanes.find((each) => step >= each.first_step && step < each.first_step + each.steps);
    const detail = {
      step,
      type_name: TYPES[steps.kind[at]] ?? "Unknown",
      ipu: lane?.ipu ?? -1,
      start: steps.start[at],
      cycles: steps.cycles[at],
      mean_tile_cycles: value("mean_tile_cycles", 0),
      active_tiles: value("active_tiles", 0),
      bytes_in: value("bytes_in", 0),
      bytes_out: value("bytes_out", 0),
      micro_batch: value("micro_batch", -1),
      stage: value("stage", -1),
      op_id: value("op_id", -1),
      program: steps.program[at],
      path: [[steps.program[at], trace.programs.get(steps.program[at])]],
      compute_set_name: trace.sets.get(steps.computeSet[at]),
      vertices: 0,
      plan: -1
    };
    const ops = detail.op_id < 0 ? null : await trace.source.frame(trace.report, "ops", ["id", "name", "target", "phase", "module", "source", "source_function"]).catch(() => null);
    const row = ops ? ops.columns.id.indexOf(detail.op_id) : -1;
    if (ops && row >= 0) {
      const text = (name) => ops.columns[name][row] ?? "";
      detail.op = { name: text("name"), target: text("target"), phase: text("phase"), module: text("module"), source: text("source"), function: text("source_function") };
    }
    return detail;
  }

  // src/sharebar.ts
  function shareBar(parts, format) {
    const total = parts.reduce((sum2, part) => sum2 + part[1], 0);
    const bar = el("div", { class: "share", role: "img", "aria-label": "shares of the total" });
    for (const [name, value, colour] of parts) {
      if (value <= 0 || !total) continue;
      const piece = el("div", {}, value > 0.12 * total ? el("span", { text: `${name} ${percent(value, total)}` }) : null);
      piece.style.flexGrow = String(value / total);
      piece.style.background = colour;
      piece.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, name, [["value", format(value)], ["share", percent(value, total)]]));
      piece.addEventListener("pointerleave", hideTip);
      bar.append(piece);
    }
    return el("div", {}, bar, legend(parts.filter((part) => part[1] > 0).map(([name, value, colour]) => [name, colour, `${format(value)} (${percent(value, total)})`])));
  }

  // src/trace_panels.ts
  var KIND_WORDS = [
    ["compute", "compute", KIND_COLOURS[0]],
    ["exchange", "exchange between tiles", KIND_COLOURS[1]],
    ["between_ipus", "exchange between IPUs", KIND_COLOURS[4]],
    ["stream", "stream copies", KIND_COLOURS[3]],
    ["sync", "sync and waiting", KIND_COLOURS[2]]
  ];
  function laneLegend() {
    return legend(KIND_WORDS.map(([, words, colour]) => [words, colour]));
  }
  var sum = (rows, of) => rows.reduce((total, row) => total + of(row), 0);
  function figures(info) {
    const cycles = sum(info.lanes, (lane) => lane.cycles), compute = sum(info.lanes, (lane) => lane.compute);
    return {
      run: Math.max(0, ...info.lanes.map((lane) => lane.cycles)),
      cycles,
      compute,
      balance: compute ? sum(info.lanes, (lane) => lane.mean_tile_cycles) / compute : 0,
      efficiency: cycles && info.tiles ? sum(info.lanes, (lane) => lane.tile_cycles) / (cycles * info.tiles) : 0,
      steps: sum(info.lanes, (lane) => lane.steps),
      streamed: sum(info.lanes, (lane) => lane.stream_in + lane.stream_out),
      crossed: Math.max(sum(info.lanes, (lane) => lane.ipus_in), sum(info.lanes, (lane) => lane.ipus_out))
    };
  }
  function figure(value, label, hint, more = "") {
    return el(
      "div",
      { class: "card", title: hint },
      el("div", { class: "figure", text: value }),
      el("div", { class: "label", text: label }),
      more ? el("div", { class: "note", text: more }) : null
    );
  }
  function summaryCards(info, other) {
    const a = figures(info), b = other ? figures(other) : null;
    const compared = (before, after, format) => after === void 0 ? "" : `other: ${format(after)}, ${delta(before, after, format)}`;
    const share = (value) => `${(100 * value).toFixed(1)} %`;
    return el(
      "div",
      { class: "cards trace-cards" },
      figure(time(a.run / info.clock_hz), `for the run, modelled: ${whole(a.run)} cycles`, "From the first to the last cycle of the run", compared(a.run, b?.run, whole)),
      figure(share(a.efficiency), "of all tile cycles compute, modelled", "Parallel efficiency: cycles in which tiles compute, of all tiles times all cycles", compared(a.efficiency, b?.efficiency, share)),
      figure(share(a.balance), "tile balance, modelled", "While computing: the mean tile that works over the slowest", compared(a.balance, b?.balance, share)),
      figure(bytes(a.streamed), "copied from and to the host, modelled", "Bytes of stream copies of all IPUs", compared(a.streamed, b?.streamed, bytes)),
      figure(bytes(a.crossed), "exchanged between IPUs, modelled", "Bytes that IPUs give to others", compared(a.crossed, b?.crossed, bytes))
    );
  }
  function proportions(info) {
    return shareBar(KIND_WORDS.map(([kind, words, colour]) => [words, sum(info.lanes, (lane) => lane[kind]), colour]), (value) => `${whole(value)} cycles`);
  }
  function laneTable(info) {
    const rows = info.lanes.slice(0, 256).map((lane) => [
      `IPU ${lane.ipu}`,
      percent(lane.compute, lane.cycles),
      percent(lane.exchange + lane.between_ipus, lane.cycles),
      percent(lane.stream, lane.cycles),
      percent(lane.sync, lane.cycles),
      percent(lane.mean_tile_cycles, lane.compute),
      bytes(lane.stream_in),
      bytes(lane.stream_out),
      bytes(lane.ipus_in),
      bytes(lane.ipus_out),
      whole(lane.steps)
    ]);
    return plainTable("IPUs", [
      ["IPU"],
      ["compute", true],
      ["exchange", true],
      ["stream copies", true],
      ["waiting", true],
      ["tile balance", true],
      ["from host", true],
      ["to host", true],
      ["from IPUs", true],
      ["to IPUs", true],
      ["steps", true]
    ], rows);
  }
  function selectionCard(found, clock, title, other, go) {
    const length = found.end - found.start;
    const all = sum(found.lanes, (lane) => lane.cycles);
    const of = (selected2, kind) => sum(selected2.lanes, (lane) => lane[kind]);
    const kinds = KIND_WORDS.map(([kind, words]) => [
      words,
      whole(of(found, kind)),
      percent(of(found, kind), all),
      ...other ? [whole(of(other, kind)), delta(of(found, kind), of(other, kind), whole)] : []
    ]);
    const compute = of(found, "compute");
    const lanes = found.lanes.map((lane) => [
      `IPU ${lane.ipu}`,
      whole(lane.steps),
      percent(lane.compute, lane.cycles),
      percent(lane.exchange + lane.between_ipus, lane.cycles),
      percent(lane.sync, lane.cycles),
      percent(lane.mean_tile_cycles, lane.compute),
      bytes(lane.bytes_in),
      bytes(lane.bytes_out)
    ]);
    const ops = found.ops.map(([op, name, module, cycles, computed, mean, steps]) => {
      const link = el("button", { type: "button", class: "link", text: name, title: module, onclick: () => go(op) });
      return [op >= 0 ? link : name, whole(cycles), percent(cycles, all), computed ? percent(mean, computed) : "", whole(steps)];
    });
    return card(
      title,
      el("p", { class: "lead", text: `${whole(length)} cycles (${time(length / clock)}) on ${plural(found.lanes.length, "IPU")}, modelled: ${percent(compute, all)} compute, tile balance ${percent(sum(found.lanes, (lane) => lane.mean_tile_cycles), compute)}, ${bytes(sum(found.lanes, (lane) => lane.bytes_in))} in, ${bytes(sum(found.lanes, (lane) => lane.bytes_out))} out.` }),
      found.note ? note(found.note) : null,
      el(
        "div",
        { class: "columns" },
        el(
          "div",
          {},
          el("h3", { text: "By kind" }),
          plainTable("by kind", [["kind"], ["cycles", true], ["share", true], ...other ? [["other", true], ["difference", true]] : []], kinds),
          el("h3", { text: "By IPU" }),
          plainTable("by IPU", [["IPU"], ["steps", true], ["compute", true], ["exchange", true], ["waiting", true], ["balance", true], ["in", true], ["out", true]], lanes)
        ),
        el(
          "div",
          {},
          el("h3", { text: "By op, without waiting" }),
          plainTable("by op", [["op"], ["cycles", true], ["share", true], ["balance", true], ["steps", true]], ops),
          found.ops_total > found.ops.length ? note(`the largest ${whole(found.ops.length)} of ${whole(found.ops_total)}`) : null
        )
      )
    );
  }
  function stepCard(step, clock, tiles, go) {
    const link = (text, view, values) => el("button", { type: "button", class: "link", text, onclick: () => go(view, values) });
    const lines = [
      ["cycles", `${whole(step.cycles)} (${time(step.cycles / clock)}), from ${whole(step.start)} on, modelled`],
      ["on", `IPU ${step.ipu}` + (step.stage >= 0 ? `, stage ${step.stage}` : "") + (step.micro_batch >= 0 ? `, micro-batch ${step.micro_batch}` : "")],
      ["op", step.op ? link(`${step.op.name} (${step.op.target}, ${step.op.phase})`, "operations", { op: step.op_id }) : null],
      ["module", step.op?.module || null],
      ["source", step.op?.source ? step.op.source + (step.op.function ? ` in ${step.op.function}` : "") : null],
      ["compute set", step.compute_set_name ? `${step.compute_set_name}${step.vertices ? ` (${plural(step.vertices, "vertex", "vertices")})` : ""}` : null],
      ["tiles", step.active_tiles ? `${whole(step.active_tiles)} of ${whole(tiles)} take part` : null],
      ["tile balance", step.mean_tile_cycles ? `${percent(step.mean_tile_cycles, step.cycles)}: the mean tile takes ${whole(step.mean_tile_cycles)} cycles` : null],
      ["bytes", step.bytes_in || step.bytes_out ? `${bytes(step.bytes_in)} in, ${bytes(step.bytes_out)} out` : null],
      ["plan", step.why?.plan || null],
      ["formula", step.why?.formula || null],
      ["program", step.path.length ? link(step.path.map(([, name]) => name || "(no name)").join(" \u203A "), "program", { node: step.program }) : null]
    ];
    const title = step.compute_set_name || step.path.at(-1)?.[1] || step.type_name;
    return card(`${step.type_name}: ${title}`, el(
      "dl",
      { class: "facts" },
      ...lines.flatMap(([name, value]) => value ? [el("dt", { text: name }), el("dd", {}, value)] : [])
    ));
  }

  // src/trace_view.ts
  function laneRows(side) {
    const { trace, letter: letter2, factor } = side;
    const clock = trace.info.clock_hz;
    const shares = (sums, total) => sums.flatMap((value, kind) => value > 0 ? [[KINDS[kind] ?? "", `${whole(value)} cycles, ${percent(value, total)}`, KIND_COLOURS[kind] ?? ""]] : []);
    return trace.info.lanes.map((info, at) => new LaneRow(trace.lanes[at], trace.store, {
      id: `${letter2}${info.lane}`,
      name: `IPU ${info.ipu}`,
      note: `${percent(info.compute, info.cycles)} compute, modelled`,
      parent: `${letter2}-lanes`,
      offset: 0,
      factor,
      label: (steps, step) => trace.name(steps, step) || ["compute", "exchange", "waiting", "stream copy", "between IPUs"][steps.kind[step]] || "",
      stepTip: (steps, step, label) => ({ title: label, lines: [
        [KINDS[steps.kind[step]] ?? "", `${whole(steps.cycles[step])} cycles, ${time(steps.cycles[step] / clock)}`, KIND_COLOURS[steps.kind[step]] ?? ""],
        ["from cycle", whole(steps.start[step])],
        ["on", `IPU ${info.ipu}, modelled`]
      ] }),
      groupTip: (count, from, to, sums) => ({ title: `IPU ${info.ipu}: ${plural(count, "step")}`, lines: [
        ...shares(sums, to - from),
        ["together", `${whole(to - from)} cycles, modelled`],
        ["", "zoom in to see single steps"]
      ] })
    }));
  }
  function stageRows(side) {
    return side.trace.info.lanes.flatMap((info) => {
      const found = side.stages.get(info.lane);
      if (!found) return [];
      const { stage, batch, busy } = found;
      const scaled = { ...found.spans, start: found.spans.start.map((value) => value * side.factor), end: found.spans.end.map((value) => value * side.factor) };
      return [new FlameRow(scaled, {
        id: `${side.letter}g${info.lane}`,
        name: `IPU ${info.ipu}`,
        note: found.stages > 1 ? plural(found.stages, "stage") : `stage ${stage[0]}`,
        parent: `${side.letter}-stages`,
        words: (_, span) => batch[span] < 0 ? `stage ${stage[span]}` : found.stages > 1 ? `${batch[span]} \xB7 s${stage[span]}` : String(batch[span]),
        tip: (set, span) => {
          const length = found.spans.end[span] - found.spans.start[span];
          return { title: set.label(span), lines: [["cycles", `${whole(length)}, ${time(length / side.trace.info.clock_hz)}`], ["working", percent(busy[span], length)], ["on", `IPU ${info.ipu}, modelled`]] };
        }
      })];
    });
  }
  function rowsOf(side, compared) {
    const stages = stageRows(side), name = compared ? `${side.title}: ` : "";
    return [
      ...stages.length ? [new HeadingRow(`${side.letter}-stages`, `${name}Pipeline`, "numbers are micro-batches, gaps are bubbles"), ...stages] : [],
      new HeadingRow(`${side.letter}-lanes`, `${name}IPUs`, "compute, exchange, waiting"),
      ...laneRows(side)
    ];
  }
  function differences(a, b) {
    const total = (info, kind) => info.lanes.reduce((sum2, lane) => sum2 + lane[kind], 0);
    const run = (info) => Math.max(0, ...info.lanes.map((lane) => lane.cycles));
    const moved = (info, key) => info.lanes.reduce((sum2, lane) => sum2 + lane[key], 0);
    return plainTable("difference of the two runs", [["modelled"], ["first", true], ["second", true], ["difference", true]], [
      ["time of the run", time(run(a) / a.clock_hz), time(run(b) / b.clock_hz), delta(run(a) / a.clock_hz, run(b) / b.clock_hz, time)],
      ...KIND_WORDS.map(([kind, words]) => [`cycles of ${words}, all IPUs`, whole(total(a, kind)), whole(total(b, kind)), delta(total(a, kind), total(b, kind), whole)]),
      ...[["stream_in", "bytes from the host"], ["stream_out", "bytes to the host"], ["ipus_in", "bytes between IPUs"]].map(([key, words]) => [words, bytes(moved(a, key)), bytes(moved(b, key)), delta(moved(a, key), moved(b, key), bytes)])
    ]);
  }
  async function search(sides, needle, most) {
    const all = { matches: [], total: 0 };
    for (const { trace, letter: letter2, factor } of sides) {
      const answer = trace.source.served ? await trace.source.json(trace.report, "execution_search", { run: trace.info.run, text: needle }) : keptSearch(trace, needle, most);
      all.total += answer.total;
      for (const [lane, step, start, cycles, text] of answer.steps)
        all.matches.push({ row: `${letter2}${lane}`, key: `s${step}`, from: start * factor, to: (start + cycles) * factor, text });
    }
    all.matches.sort((one, two) => one.from - two.from);
    return all;
  }
  async function selected(side, area) {
    const lanes = [...new Set(area.rows.flatMap((id) => id.startsWith(side.letter) ? [id.slice(1).replace("g", "")] : []))].filter((id) => /^\d+$/.test(id));
    if (!lanes.length) return null;
    const [start, end] = [Math.max(0, Math.floor(area.from / side.factor)), Math.ceil(area.to / side.factor)];
    if (!side.trace.source.served) return keptSelection(side.trace, start, end, lanes.map(Number));
    return await side.trace.source.json(side.trace.report, "execution_selection", { run: side.trace.info.run, start, end, lanes: lanes.join(",") });
  }
  async function render(host, context) {
    const redraw = () => timeline?.redraw();
    let timeline = null;
    const wanted = context.state.get("run");
    const first = await openTrace(context.source, context.report.id, /^\d{1,6}$/.test(wanted) ? Number(wanted) : null, redraw);
    const second = context.other ? await openTrace(context.source, context.other.id, null, redraw).catch(() => null) : null;
    const { info } = first;
    if (!info.lanes.length) {
      host.append(note("No run was recorded in this profile: it holds the program and its costs, not the steps of a run."));
      return;
    }
    const sides = [{ letter: "a", title: context.report.name, trace: first, factor: 1, stages: /* @__PURE__ */ new Map() }];
    if (second?.info.lanes.length) sides.push({ letter: "b", title: context.other?.name ?? "", trace: second, factor: info.clock_hz / second.info.clock_hz, stages: /* @__PURE__ */ new Map() });
    const area = el("div", { class: "trace-area" }), detail = el("div", { class: "trace-step", "aria-live": "polite" });
    const said = el("div", {});
    timeline = new Timeline({
      clock: cycleClock(info.clock_hz),
      label: "Modelled cycles of each IPU",
      least: 20,
      file: "execution-trace.png",
      tip: (x, y, tip) => tip ? showTip(x, y, tip.title, tip.lines) : hideTip(),
      search: (needle, most) => search(sides, needle, most),
      onstate: (state) => writeState(context.state, state),
      onpick: (item) => void pick(item),
      onarea: (chosen2) => void select(chosen2)
    });
    const shown = timeline;
    context.onclose(() => shown.destroy());
    context.onkey((event) => shown.key(event));
    let asked = 0, chosen = 0;
    const select = async (chosenArea) => {
      const turn = ++asked;
      if (!chosenArea) {
        area.replaceChildren();
        return;
      }
      const found = await Promise.all(sides.map((side) => selected(side, chosenArea)));
      if (turn !== asked) return;
      const [one, two] = [found[0] ?? null, found[1] ?? null];
      const go = (op) => context.go("operations", { op });
      const base = one ?? two;
      area.replaceChildren(base ? selectionCard(base, info.clock_hz, "Selected area", one && two ? two : null, go) : "");
    };
    const pick = async (item) => {
      const turn = ++chosen;
      if (!item?.key.startsWith("s") || item.row.includes("g")) {
        detail.replaceChildren();
        return;
      }
      const { trace } = item.row.startsWith("b") && sides[1] ? sides[1] : sides[0];
      const step = Number(item.key.slice(1));
      const found = trace.source.served ? await trace.source.json(trace.report, "execution_step", { step }) : await keptStep(trace, step);
      if (turn === chosen) detail.replaceChildren(found ? stepCard(found, trace.info.clock_hz, trace.info.tiles, context.go) : "");
    };
    const fill = () => shown.setRows(sides.flatMap((side) => rowsOf(side, sides.length > 1)));
    const split = (on) => {
      for (const row of shown.layout.all) if (row instanceof LaneRow) row.split = on;
      shown.renew();
    };
    const isSplit = () => context.state.get("lanes") === "split";
    shown.bar.extra.append(toggles("lanes", ["flat", "split"], isSplit() ? 1 : 0, (index) => {
      context.state.set({ lanes: index ? "split" : null });
      split(index === 1);
    }));
    if (info.runs.length > 1) {
      shown.bar.extra.append(choice("run", info.runs.map((run2) => `${run2.id}: ${run2.name}`), Math.max(0, info.runs.findIndex((run2) => run2.id === info.run)), (index) => {
        context.state.set({ run: info.runs[index]?.id ?? null, t: null, area: null, pick: null });
        host.replaceChildren();
        shown.destroy();
        void render(host, context);
      }));
    }
    const run = info.runs.find((each) => each.id === info.run);
    host.append(
      summaryCards(info, sides[1]?.trace.info ?? null),
      said,
      el("section", { class: "card trace-card" }, shown.node, laneLegend()),
      detail,
      area,
      ...sides[1] ? [card("Difference of the two runs, modelled", differences(info, sides[1].trace.info))] : [],
      card("Where the cycles go, modelled", proportions(info), laneTable(info))
    );
    if (run?.note) said.append(note(run.note));
    fill();
    split(isSplit());
    await Promise.all(sides.map(async (side) => {
      const [, stages] = await Promise.all([side.trace.load(), side.trace.stages().catch((error) => {
        if (error instanceof Missing) return /* @__PURE__ */ new Map();
        throw error;
      })]);
      side.stages = stages;
    }));
    for (const { trace } of sides) {
      if (trace.info.lanes.length < trace.info.lanes_total) said.append(note(`The first ${whole(trace.info.lanes.length)} of ${whole(trace.info.lanes_total)} IPUs are shown.`));
      const steps = trace.info.lanes.reduce((sum2, lane) => sum2 + lane.steps, 0);
      if (trace.stepsHere < trace.info.steps_total)
        said.append(note(`This page holds single steps for the first ${whole(trace.stepsHere)} of ${whole(Math.max(steps, trace.info.steps_total))}, and sums of 16 for the rest; \`tremula view --serve\` shows them all.`));
    }
    fill();
    split(isSplit());
    shown.setState(readState(context.state));
  }
  var traceView = {
    id: "trace",
    title: "Execution Trace",
    lead: "What each IPU does when, modelled. The wheel zooms, a drag moves, Shift and a drag selects an area; click a step for its details.",
    key: "t",
    render
  };

  // src/graph.ts
  var VIEWS = [traceView];
  openSource().then(async (source) => {
    const reports = await source.reports();
    if (!reports.length) throw new Error("There is no report to show.");
    new Frame(source, reports, VIEWS).open();
  }).catch((error) => {
    document.getElementById("view")?.append(el("p", { class: "bad", role: "alert", text: error instanceof Error ? error.message : String(error) }));
    console.error(error);
  });
})();
