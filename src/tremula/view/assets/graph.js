// made from web/src by "make web"; sources sha256:f29be080baeeb7475f2327f5aae8d5cddcb668b95d4c57c6f9a80fdcc1be1f51
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
  function tipBox() {
    return document.getElementById("tip");
  }
  function hideTip() {
    const tip = tipBox();
    if (tip) tip.hidden = true;
  }

  // src/format.ts
  function whole(value) {
    return Math.round(value).toLocaleString("en-US");
  }
  function bytes(value) {
    const size = Math.abs(value);
    for (const [unit, one] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
      if (size >= one) return `${(value / one).toFixed(size >= 100 * one ? 0 : 1)} ${unit}`;
    }
    return `${whole(value)} B`;
  }
  function compact(value) {
    for (const [unit, one] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= one) return `${Number((value / one).toPrecision(3))} ${unit}`;
    }
    return String(Number(value.toPrecision(3)));
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
  function numbers(packed) {
    if (Array.isArray(packed)) return Float64Array.from(packed);
    if (packed.f8 !== void 0) return new Float64Array(bytesOf(packed.f8).buffer);
    return Float64Array.from(new Int32Array(bytesOf(packed.i4 ?? "").buffer));
  }
  function column(packed) {
    if (packed.strings) return packed.strings;
    const texts = packed.texts;
    if (texts) return Array.from(numbers({ i4: packed.at ?? "" }), (at) => texts[at] ?? "");
    return numbers(packed);
  }
  function unpacked(frame, wanted) {
    const columns = {};
    for (const name of wanted) {
      const packed = Object.hasOwn(frame.columns, name) ? frame.columns[name] : void 0;
      if (!packed) throw new Missing(`the column ${name} is not here`);
      columns[name] = column(packed);
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

  // src/trace_view.ts
  var traceView = {
    id: "trace",
    title: "Execution Trace",
    lead: "What each IPU does when.",
    key: "t",
    render(host) {
      host.append(el("p", { class: "note", text: "There is nothing to show yet." }));
    }
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
