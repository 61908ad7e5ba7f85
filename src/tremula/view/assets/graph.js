// made from web/src by "make web"; sources sha256:6be1cf29518ff5f62c8c7e7a933e74a352314db977b70df809c8fb6edc247dc4
"use strict";
(() => {
  // src/elements.ts
  var SVG = "http://www.w3.org/2000/svg";
  function el(tag, properties, ...children) {
    const node2 = document.createElement(tag);
    for (const [name, value] of Object.entries(properties ?? {})) {
      if (value === null || value === void 0 || value === false) continue;
      if (name === "text") node2.textContent = String(value);
      else if (name === "class") node2.className = String(value);
      else if (typeof value === "function") {
        if (name.startsWith("on")) node2.addEventListener(name.slice(2), value);
      } else if (name.startsWith("on"))
        continue;
      else node2.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children) if (child) node2.append(child);
    return node2;
  }
  function svg(tag, attributes, text3) {
    const node2 = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes ?? {})) node2.setAttribute(name, String(value));
    if (text3 !== void 0) node2.textContent = text3;
    return node2;
  }
  function button(text3, onclick, properties = {}) {
    return el("button", { type: "button", text: text3, onclick, ...properties });
  }
  function swatch(colour) {
    const node2 = el("span", { class: "swatch", "aria-hidden": "true" });
    node2.style.background = colour;
    return node2;
  }
  function legend(entries) {
    return el(
      "ul",
      { class: "legend" },
      ...entries.map(
        ([name, colour, value]) => el(
          "li",
          {},
          swatch(colour),
          el("span", { text: name }),
          value ? el("span", { class: "label", text: value }) : null
        )
      )
    );
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
  function note(text3) {
    return el("p", { class: "note", text: text3 });
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
  function percent(part2, all) {
    return `${(all ? 100 * part2 / all : 0).toFixed(1)}%`;
  }
  function bytes(value) {
    const size = Math.abs(value);
    for (const [unit, one] of [
      ["GiB", 2 ** 30],
      ["MiB", 2 ** 20],
      ["KiB", 2 ** 10]
    ]) {
      if (size >= one) return `${(value / one).toFixed(size >= 100 * one ? 0 : 1)} ${unit}`;
    }
    return `${whole(value)} B`;
  }
  function time(seconds) {
    const size = Math.abs(seconds);
    if (size === 0) return "0 s";
    for (const [unit, one] of [
      ["s", 1],
      ["ms", 1e-3],
      ["\xB5s", 1e-6]
    ]) {
      if (size >= one) return `${Number((seconds / one).toPrecision(3)).toLocaleString("en-US")} ${unit}`;
    }
    return `${Number((seconds / 1e-9).toPrecision(3))} ns`;
  }
  function compact(value) {
    for (const [unit, one] of [
      ["P", 1e15],
      ["T", 1e12],
      ["G", 1e9],
      ["M", 1e6],
      ["k", 1e3]
    ]) {
      if (Math.abs(value) >= one) return `${Number((value / one).toPrecision(3))} ${unit}`;
    }
    return String(Number(value.toPrecision(3)));
  }
  function quantity(value, unit) {
    if (unit === "s" || unit === "seconds") return time(value);
    if (unit === "bytes" || unit === "B") return bytes(value);
    const text3 = Math.abs(value) >= 1e3 ? whole(value) : String(Number(value.toPrecision(4)));
    return unit ? `${text3} ${unit}` : text3;
  }
  function delta(before, after, format) {
    const by = after - before;
    if (by === 0) return "\xB10";
    const share2 = before ? ` (${by > 0 ? "+" : "\u2212"}${Math.abs(100 * by / before).toFixed(1)}%)` : "";
    return `${by > 0 ? "+" : "\u2212"}${format(Math.abs(by))}${share2}`;
  }
  function words(name) {
    return name.replaceAll("_", " ");
  }
  function plural(count, one, many = one + "s") {
    return `${whole(count)} ${count === 1 ? one : many}`;
  }
  function shortened(text3, most) {
    return text3.length <= most ? text3 : `${text3.slice(0, Math.max(1, most - 1))}\u2026`;
  }

  // src/source.ts
  var Missing = class extends Error {
  };
  function bytesOf(text3) {
    const binary = atob(text3);
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
    constructor(base, token, compared2 = "") {
      this.base = base;
      this.token = token;
      this.compared = compared2;
    }
    base;
    token;
    compared;
    served = true;
    kept = /* @__PURE__ */ new Map();
    get(path) {
      const known2 = this.kept.get(path);
      if (known2) return known2;
      const asked3 = fetch(this.base + path, {
        headers: this.token ? { Authorization: `Bearer ${this.token}` } : {},
        cache: "no-store"
      }).then(async (answer) => {
        if (answer.ok) return answer.json();
        const said = await answer.json().catch(() => ({}));
        throw new Missing(typeof said.error === "string" ? said.error : `the server says ${answer.status}`);
      });
      this.kept.set(path, asked3);
      asked3.catch(() => this.kept.delete(path));
      for (const old of this.kept.keys()) {
        if (this.kept.size <= KEPT_ANSWERS) break;
        this.kept.delete(old);
      }
      return asked3;
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
  async function here(source, report, text3) {
    const wanted = text3.toLowerCase();
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
    await look("ops", "cycles", (id, name, value) => ({
      kind: "op",
      name,
      note: `${compact(value)} cycles`,
      view: "operations",
      values: { op: id }
    }));
    await look("variables", "bytes", (id, name, value) => ({
      kind: "variable",
      name,
      note: bytes(value),
      view: "memory",
      values: { variable: id }
    }));
    await look("programs", "cycles", (id, name, value) => ({
      kind: "program",
      name,
      note: `${compact(value)} cycles`,
      view: "program",
      values: { node: id }
    }));
    return hits2;
  }
  async function hits(source, report, text3) {
    if (!source.served) return here(source, report, text3);
    return (await source.json(report, "search", { text: text3 })).hits;
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
      const text3 = input.value.trim(), mine = ++turn;
      if (text3.length < 2) {
        close();
        return;
      }
      let found = [];
      try {
        found = await hits(source, report(), text3.slice(0, 200));
      } catch {
      }
      if (mine !== turn) return;
      list.replaceChildren(
        ...found.map((hit) => {
          const each = button(
            "",
            () => {
              close();
              input.value = "";
              input.blur();
              go(hit.view, hit.values);
            },
            { class: "hit" }
          );
          each.append(
            el("span", { class: "kind", text: hit.kind }),
            el("span", { text: shortened(hit.name, 90) }),
            el("span", { class: "label", text: hit.note })
          );
          return each;
        }),
        ...found.length ? [] : [el("p", { class: "note", text: "No name contains this text." })]
      );
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
      const text3 = this.values.get(name);
      const value = text3 === null || text3 === "" ? NaN : Number(text3);
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
      const text3 = this.text();
      if (location.hash === text3) return;
      if (visit) history.pushState(null, "", text3);
      else history.replaceState(null, "", text3);
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
      this.menu();
      this.header();
      this.state.onchange(() => this.open());
      addEventListener("keydown", (event) => this.key(event));
      let waiting = 0;
      const again = () => {
        clearTimeout(waiting);
        waiting = window.setTimeout(() => {
          this.showTab();
          this.redraws.forEach((draw) => draw());
        }, 60);
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
        const pick2 = (id, label, first) => {
          const select = el(
            "select",
            { id, "aria-label": label },
            first === null ? null : el("option", { value: "", text: first }),
            ...this.reports.map((report2, index) => el("option", { value: report2.id, text: names[index] }))
          );
          return el("label", { class: "choice" }, el("span", { text: label }), select);
        };
        const report = pick2("report", "Report", null), compare = pick2("compare", "Compare with", "nothing");
        const read = () => {
          report.querySelector("select").value = this.report().id;
          compare.querySelector("select").value = this.other()?.id ?? "";
          swap.hidden = !this.other();
        };
        report.addEventListener("change", (event) => {
          this.state.set({ report: event.target.value }, true);
          this.open();
        });
        compare.addEventListener("change", (event) => {
          this.state.set({ compare: event.target.value || "none" }, true);
          this.open();
        });
        const swap = button(
          "Swap",
          () => {
            const other = this.other();
            if (!other) return;
            this.state.set({ report: other.id, compare: this.report().id }, true);
            this.open();
          },
          { id: "swap", title: "Swap the two reports" }
        );
        actions.append(report, compare, swap);
        this.readHeader = read;
      }
      actions.append(
        globalSearch(
          this.source,
          () => this.report().id,
          (view, values) => this.go(view, values)
        ),
        button("Theme", () => this.theme(), { id: "theme", title: "Change between light and dark (d)" }),
        button("?", () => this.help(), { id: "help", title: "Help and keys (?)", "aria-label": "Help and keys" })
      );
    }
    readHeader = () => void 0;
    report() {
      return this.reports.find((report) => report.id === this.state.get("report")) ?? this.reports[0];
    }
    other() {
      const wanted = this.state.get("compare") || this.source.compared;
      const found = this.reports.find((report) => report.id === wanted) ?? null;
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
      this.showTab();
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
    // the tab of the view, on narrow screens too, where not all of them have room
    showTab() {
      this.buttons.get(this.state.view)?.scrollIntoView({ block: "nearest", inline: "nearest" });
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
        both: async (what, params) => Promise.all([source.json(report.id, what, params), other ? source.json(other.id, what, params) : null]),
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
      const target2 = event.target;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (["INPUT", "SELECT", "TEXTAREA"].includes(target2.tagName)) {
        if (event.key === "Escape") target2.blur();
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
        ...this.views.map((view, index) => [
          `${index + 1} or ${view.key}`,
          `${view.title}: ${view.lead}`
        ]),
        ["/", "search ops, variables, program and modules"],
        ["f", "filter or search inside the view"],
        ["arrows", "move the cursor of a chart, or the selected row of a table or tree"],
        ["+ and \u2212", "zoom a chart; 0 shows all of it; the wheel zooms too, and Shift and drag moves"],
        ["Enter", "open what is selected"],
        ["Escape", "close, or leave a box"],
        ["d", "light or dark"],
        ["?", "this list"]
      ];
      const dialog = el(
        "dialog",
        { "aria-label": "Help and keys" },
        el("h2", { text: "Help and keys" }),
        el("p", {
          text: "Every figure is modelled; no chip was involved. In training, a step is one weight update; in inference, one micro-batch. Likely ranges come from published measurements that the model was compared with. The address of this page keeps what you are looking at: reload it, or send it as a link."
        }),
        el(
          "dl",
          { class: "keys" },
          ...keys.flatMap(([name, text3]) => [el("dt", {}, el("kbd", { text: name })), el("dd", { text: text3 })])
        )
      );
      dialog.append(button("Close", () => dialog.close()));
      dialog.addEventListener("close", () => dialog.remove());
      document.body.append(dialog);
      dialog.showModal();
    }
  };

  // src/colours.ts
  var USES = {
    weights: "#3d6fd9",
    buffers: "#6d96ec",
    "optimizer state": "#7a5cc7",
    "gradient accumulators": "#a98be8",
    "pipeline stashes": "#2a9d8f",
    constants: "#66c2a5",
    "host I/O buffers": "#9bd3c1",
    "vertex code": "#8a6d3b",
    "vertex state": "#b79257",
    "exchange code": "#d8b878",
    "control code": "#e6d3a3",
    stacks: "#c9c2b2",
    activations: "#d1495b",
    temporaries: "#f08a6b",
    gaps: "#aeb6c2"
  };
  var WORK = { compute: "#d1495b", exchange: "#4ea8de", sync: "#e9c46a", stream: "#7a5cc7", idle: "#c3cad6" };
  var REGIONS = { always: "#3d6fd9", temporary: "#d1495b", gaps: "#aeb6c2" };
  var HUES = ["#7aa6ff", "#f2a65a", "#7fc8a9", "#e58fb1", "#b7a3e3", "#d9c36a", "#76c5d6", "#e08e79"];
  var SPARE = ["#5b8c5a", "#c06c84", "#6c5b7b", "#355c7d", "#99b898"];
  function pick(table, name, index) {
    return Object.hasOwn(table, name) ? table[name] : SPARE[index % SPARE.length];
  }
  function hue(index) {
    return HUES[(index % HUES.length + HUES.length) % HUES.length];
  }
  var SCALE = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 74, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [109, 205, 89],
    [180, 222, 44],
    [253, 231, 37]
  ];
  var OVER = [229, 57, 53];
  var FAR_OVER = [92, 6, 20];
  function scale(share2) {
    if (share2 > 1) {
      const by = Math.min(1, (share2 - 1) / 0.6);
      return [0, 1, 2].map(
        (i) => Math.round(OVER[i] + by * (FAR_OVER[i] - OVER[i]))
      );
    }
    const at = Math.max(0, Math.min(1, share2 || 0)) * (SCALE.length - 1);
    const low = Math.floor(at), part2 = at - low;
    const from = SCALE[low], to = SCALE[Math.min(low + 1, SCALE.length - 1)];
    return [0, 1, 2].map((i) => Math.round(from[i] + part2 * (to[i] - from[i])));
  }
  function difference(share2) {
    const by = Math.max(-1, Math.min(1, share2 || 0)), size = Math.sqrt(Math.abs(by));
    const to = by < 0 ? [33, 102, 172] : [178, 24, 43];
    return [0, 1, 2].map((i) => Math.round(200 + size * (to[i] - 200)));
  }
  function css(colour) {
    return `rgb(${colour.join(",")})`;
  }
  function themed(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
  }

  // src/pairs.ts
  function deltaCell(before, after, format, less = false) {
    const tone = !less || before === after ? "" : after < before ? "good" : "bad";
    return el("span", { class: tone, text: delta(before, after, format) });
  }
  function looselyPaired(before, after, name) {
    const exact = paired(before, after, name);
    const alone = (rows) => rows.filter((row2) => row2 !== null);
    const loose = paired(
      alone(exact.map((pair) => pair.after ? null : pair.before)),
      alone(exact.map((pair) => pair.before ? null : pair.after)),
      (row2) => name(row2).replace(/\d+/g, "#")
    );
    const partners = new Map(
      loose.filter((pair) => pair.before && pair.after).map((pair) => [pair.before, pair.after])
    );
    const taken = new Set(partners.values());
    return exact.filter((pair) => pair.before || !taken.has(pair.after)).map((pair) => pair.before && !pair.after ? { ...pair, after: partners.get(pair.before) ?? null } : pair);
  }
  function paired(before, after, name) {
    const waiting = /* @__PURE__ */ new Map();
    for (const row2 of after) {
      const list = waiting.get(name(row2));
      if (list) list.push(row2);
      else waiting.set(name(row2), [row2]);
    }
    for (const list of waiting.values()) list.reverse();
    const found = before.map((row2) => ({
      name: name(row2),
      before: row2,
      after: waiting.get(name(row2))?.pop() ?? null
    }));
    for (const list of waiting.values())
      for (const row2 of list.reverse()) found.push({ name: name(row2), before: null, after: row2 });
    return found;
  }

  // src/csv.ts
  function field(value) {
    if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
    const text3 = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text3) ? `"${text3.replaceAll('"', '""')}"` : text3;
  }
  function csv(titles, rows) {
    const lines = [titles.map(field).join(",")];
    for (const row2 of rows) lines.push(row2.map(field).join(","));
    return lines.join("\n") + "\n";
  }
  async function copy(text3) {
    try {
      await navigator.clipboard.writeText(text3);
      return true;
    } catch {
      const box = document.createElement("textarea");
      box.value = text3;
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
        const text3 = make();
        made3.dispatchEvent(new CustomEvent("csv", { detail: text3, bubbles: true }));
        void copy(text3).then((done) => {
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
  function numberColumn(title, value, format, width, hint) {
    const column2 = { title, number: true, value, text: (row2) => format(value(row2), row2), width };
    return hint ? { ...column2, hint } : column2;
  }
  var ROW = 30;
  var AROUND = 8;
  var DataTable = class {
    constructor(columns, options2) {
      this.columns = columns;
      this.options = options2;
      this.by = (options2.sort ?? 0) < 0 ? columns.length + (options2.sort ?? 0) : options2.sort ?? 0;
      this.up = options2.up ?? !columns[this.by]?.number;
      this.wanted = (options2.wanted ?? "").toLowerCase();
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
        { class: "grid", tabindex: "0", role: options2.pick ? "grid" : "table", "aria-label": options2.name },
        el("div", { class: "grid-head", role: "row" }, ...this.heads),
        this.space
      );
      const tracks = columns.map((column2) => column2.width ?? (column2.number ? "6.5rem" : "minmax(7rem, 1fr)"));
      this.scroll.style.setProperty("--tracks", tracks.join(" "));
      const least = tracks.reduce((sum2, track) => sum2 + Number(/([\d.]+)rem/.exec(track)?.[1] ?? 6) + 0.7, 0.6);
      this.scroll.style.setProperty("--least", `${least.toFixed(1)}rem`);
      this.scroll.style.maxHeight = `${options2.height ?? 520}px`;
      this.scroll.addEventListener("scroll", () => this.draw());
      this.scroll.addEventListener("keydown", (event) => this.key(event));
      const bar = el("div", { class: "controls" });
      if (options2.filter) {
        const input = el("input", {
          type: "search",
          placeholder: options2.placeholder ?? "Filter (f)",
          "aria-label": `Filter ${options2.name}`,
          value: options2.wanted ?? ""
        });
        input.addEventListener("input", () => {
          this.wanted = input.value.trim().toLowerCase();
          this.options.onfilter?.(input.value.trim());
          this.fill();
        });
        bar.append(input);
      }
      bar.append(
        ...(options2.extra ?? []).filter((child) => Boolean(child)),
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
        this.shown.map((row2) => this.columns.map((column2) => column2.value(row2)))
      );
    }
    sortBy(index) {
      this.up = this.by === index ? !this.up : !this.columns[index]?.number;
      this.by = index;
      this.options.onsort?.(index, this.up);
      this.fill();
    }
    // choose a row, and scroll to it
    choose(row2, show = true) {
      this.chosen = row2;
      const at = row2 === null ? -1 : this.shown.indexOf(row2);
      if (show && at >= 0) {
        const top = at * ROW, view = this.scroll.clientHeight - ROW;
        if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
        else if (top + ROW > this.scroll.scrollTop + view) this.scroll.scrollTop = top + ROW - view;
      }
      this.draw();
    }
    fill() {
      const wanted = this.wanted, filter = this.options.filter;
      this.shown = wanted && filter ? this.rows.filter((row2) => filter(row2).includes(wanted)) : this.rows.slice();
      const column2 = this.columns[this.by], sign = this.up ? 1 : -1;
      if (column2) {
        const keys = /* @__PURE__ */ new Map();
        for (const row2 of this.shown) keys.set(row2, column2.value(row2));
        const places = new Map(this.shown.map((row2, place2) => [row2, place2]));
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
        ...this.shown.slice(first, last).map((row2, offset) => {
          const line = el(
            "div",
            {
              role: "row",
              class: `grid-row${this.options.pick ? " pick" : ""}${row2 === this.chosen ? " chosen" : ""}`,
              "aria-rowindex": first + offset + 1,
              "aria-selected": this.options.pick ? String(row2 === this.chosen) : null
            },
            ...this.columns.map((column2) => {
              const text3 = column2.text ? column2.text(row2) : String(column2.value(row2));
              const cell = el("div", {
                role: this.options.pick ? "gridcell" : "cell",
                class: column2.number ? "number" : "",
                title: column2.cell ? null : text3.slice(0, 400)
              });
              if (column2.cell) cell.append(column2.cell(row2));
              else cell.textContent = text3;
              return cell;
            })
          );
          if (this.options.pick) line.addEventListener("click", () => this.pick(row2));
          return line;
        })
      );
    }
    pick(row2) {
      this.choose(row2, false);
      this.options.pick?.(row2);
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
  function plainTable(name, columns, rows) {
    const line = (cells, tag) => el(
      "tr",
      {},
      ...cells.map(
        (cell, index) => el(tag, { class: columns[index]?.[1] ? "number" : "", scope: tag === "th" ? "col" : null }, cell || " ")
      )
    );
    const body = el("tbody", {}, ...rows.map((row2) => line(row2, "td")));
    const table = el(
      "table",
      { "aria-label": name },
      el(
        "thead",
        {},
        line(
          columns.map((column2) => column2[0]),
          "th"
        )
      ),
      body
    );
    const copy2 = copyButton(
      () => csv(
        columns.map((column2) => column2[0]),
        [...body.rows].map((row2) => [...row2.cells].map((cell) => (cell.textContent ?? "").trim()))
      )
    );
    return el(
      "div",
      { class: "table plain" },
      el("div", { class: "scroll" }, table),
      el("div", { class: "below" }, copy2)
    );
  }

  // src/insights_view.ts
  var use = (name, index) => el("span", { class: "use" }, swatch(pick(USES, name, index)), ` ${name}`);
  var ADVISED = 0.05;
  var SHOWN = 15;
  var SHOWN_PAIRS = 25;
  function compared(name, what, before, after, key, size) {
    const value = (row2) => row2 === null ? 0 : size(row2);
    const by = (pair) => pair.before && pair.after ? Math.abs(value(pair.after) - value(pair.before)) : -1;
    const rows = paired(before, after, key).sort(
      (a, b) => by(b) - by(a) || value(b.before ?? b.after) - value(a.before ?? a.after)
    );
    const known2 = rows.filter((pair) => pair.before && pair.after).slice(0, SHOWN_PAIRS), rest = rows.filter((pair) => !pair.before || !pair.after).slice(0, SHOWN_PAIRS);
    return plainTable(
      what,
      [[name], ["before", true], ["after", true], ["difference", true]],
      [...known2, ...rest].map((pair) => [
        pair.name.replaceAll("\0", ", "),
        pair.before ? bytes(size(pair.before)) : "not among the largest",
        pair.after ? bytes(size(pair.after)) : "not among the largest",
        pair.before && pair.after ? deltaCell(value(pair.before), value(pair.after), bytes, true) : ""
      ])
    );
  }
  function uses(a, b) {
    if (b)
      return card(
        "What fills the fullest tile",
        compared(
          "use",
          "uses",
          a.uses,
          b.uses,
          (row2) => row2[0],
          (row2) => row2[2]
        )
      );
    const advised = a.uses.some((row2) => row2[2] > ADVISED * a.room && row2[3]);
    const heads = [
      ["use"],
      ["on the fullest tile", true],
      ["share of the tile", true],
      ["on all IPUs", true]
    ];
    return card(
      "What fills the fullest tile",
      plainTable(
        "uses",
        heads,
        a.uses.map(([name, total, tile, remedy], index) => [
          el("div", {}, use(name, index), tile > ADVISED * a.room && remedy ? note(remedy) : null),
          bytes(tile),
          percent(tile, a.room),
          bytes(total)
        ])
      ),
      note(
        advised ? "Uses above 5% of the tile have general advice. The Summary lists changes with their modelled effect." : "No use takes more than 5% of the tile, so there is little to save. The Summary lists changes with their modelled effect."
      )
    );
  }
  function tiles(a, b, context) {
    if (b)
      return card(
        "Fullest tiles",
        compared(
          "IPU, tile",
          "tiles",
          a.tiles,
          b.tiles,
          (row2) => `IPU ${row2[0]}\0tile ${row2[1]}`,
          (row2) => row2[2]
        )
      );
    return card(
      "Fullest tiles",
      plainTable(
        "tiles",
        [["tile"], ["bytes", true], ["share of the tile", true], ["mostly"]],
        a.tiles.slice(0, SHOWN).map(([ipu, tile, size, most]) => [
          button(`tile ${whole(tile)} of IPU ${ipu}`, () => context.go("memory", { ipu, tiles: tile }), {
            class: "link short"
          }),
          bytes(size),
          percent(size, a.room),
          most.map(([name, part2]) => `${name} ${percent(part2, size)}`).join(", ")
        ])
      ),
      note(
        "A program fits if its fullest tile does. If a few tiles are much fuller than the rest, spread what they hold. If all tiles are full, use more IPUs or keep less in memory."
      )
    );
  }
  function vertices(a, b) {
    if (!a.vertices.length) return null;
    if (b)
      return card(
        "Vertices with the most code and state",
        compared(
          "type",
          "vertices",
          a.vertices,
          b.vertices,
          (row2) => row2[0],
          (row2) => row2[1] + row2[2]
        )
      );
    return card(
      "Vertices with the most code and state",
      plainTable(
        "vertices",
        [["type"], ["code", true], ["state", true], ["vertices", true]],
        a.vertices.slice(0, SHOWN).map(([name, code, state, count]) => [name, bytes(code), bytes(state), whole(count)])
      ),
      note(
        "Each tile holds one copy of the code of every vertex type that it uses, so fewer different shapes and types need less code. State grows with the number of vertices: more work per vertex needs less state."
      )
    );
  }
  function exchanges(a, b, context) {
    if (!a.exchanges.length) return null;
    if (b)
      return card(
        "Exchanges with the most code",
        compared(
          "exchange",
          "exchanges",
          a.exchanges,
          b.exchanges,
          (row2) => row2[0],
          (row2) => row2[1]
        )
      );
    return card(
      "Exchanges with the most code",
      plainTable(
        "exchanges",
        [["exchange"], ["code on all tiles", true], ["cycles per run", true]],
        a.exchanges.slice(0, SHOWN).map(([name, code, cycles, node2]) => [
          button(name, () => context.go("program", { node: node2 }), { class: "link" }),
          bytes(code),
          compact(cycles)
        ])
      ),
      note(
        "Exchange code tells each tile when to send and when to receive. Blocks that repeat as one function share it. Rearranging data and moving it in many small pieces need more of it."
      )
    );
  }
  function variables(a, b) {
    if (!a.variables.length) return null;
    if (b)
      return card(
        "Largest variables at the fullest moment",
        compared(
          "variable",
          "variables",
          a.variables,
          b.variables,
          (row2) => `${row2[0]}\0IPU ${row2[3]}`,
          (row2) => row2[4]
        )
      );
    return card(
      "Largest variables at the fullest moment",
      plainTable(
        "variables",
        [["variable"], ["module"], ["use"], ["IPU", true], ["bytes", true]],
        a.variables.slice(0, SHOWN).map(([name, module, kind, ipu, size], index) => [name, module, use(kind, index), whole(ipu), bytes(size)])
      ),
      note(
        "Weights and optimizer state stay in memory for the whole run. Activations stay from the op that makes them to the last one that reads them: see Liveness."
      )
    );
  }
  var insightsView = {
    id: "insights",
    title: "Insights",
    lead: "What takes the most memory, and what you can do about it.",
    key: "i",
    async render(host, context) {
      const [a, b] = await context.both("insights");
      for (const part2 of [
        uses(a, b),
        el("div", { class: "columns" }, tiles(a, b, context), variables(a, b)),
        el("div", { class: "columns" }, vertices(a, b), exchanges(a, b, context))
      ])
        host.append(part2);
    }
  };

  // src/picture.ts
  var FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  function fitted(canvas, width, height) {
    const ratio = Math.min(3, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    if (!pen) throw new Error("this browser draws no canvas");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = FONT;
    pen.textBaseline = "middle";
    return pen;
  }
  function cutText(pen, text3, width) {
    if (pen.measureText(text3).width <= width) return text3;
    let low = 0, high = text3.length;
    while (low < high) {
      const middle = low + high + 1 >> 1;
      if (pen.measureText(`${text3.slice(0, middle)}\u2026`).width <= width) low = middle;
      else high = middle - 1;
    }
    return low > 1 ? `${text3.slice(0, low)}\u2026` : "";
  }
  function withTitle(canvas, title, legend2) {
    const made3 = document.createElement("canvas");
    const ratio = canvas.width / (parseFloat(canvas.style.width) || canvas.width);
    const width = canvas.width / ratio, height = canvas.height / ratio;
    const pen = made3.getContext("2d");
    if (!pen) return canvas;
    pen.font = FONT;
    const lines = [[]];
    let x = 0;
    for (const entry of legend2) {
      const needs = pen.measureText(entry[0]).width + 34;
      if (x + needs > width && x) {
        lines.push([]);
        x = 0;
      }
      lines.at(-1).push(entry);
      x += needs;
    }
    made3.width = canvas.width;
    made3.height = Math.round((height + 30 + 20 * (legend2.length ? lines.length : 0) + 6) * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = themed("--card");
    pen.fillRect(0, 0, width, made3.height);
    pen.fillStyle = themed("--ink");
    pen.textBaseline = "middle";
    pen.font = `600 ${FONT}`;
    pen.fillText(cutText(pen, title, width - 16), 8, 15);
    pen.drawImage(canvas, 0, 30, width, height);
    pen.font = FONT;
    lines.forEach((line, row2) => {
      let at = 8;
      for (const [name, colour] of line) {
        pen.fillStyle = colour;
        pen.fillRect(at, height + 34 + row2 * 20, 12, 12);
        pen.fillStyle = themed("--ink");
        pen.fillText(name, at + 17, height + 41 + row2 * 20);
        at += pen.measureText(name).width + 34;
      }
    });
    return made3;
  }
  function fileName(title) {
    return `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "chart"}.png`;
  }
  function saveButton(canvas, title, legend2 = () => []) {
    return button(
      "Save PNG",
      () => {
        withTitle(canvas(), title(), legend2()).toBlob((blob) => {
          if (!blob) return;
          const link = document.createElement("a");
          const address2 = URL.createObjectURL(blob);
          link.setAttribute("href", address2);
          link.setAttribute("download", fileName(title()));
          link.click();
          setTimeout(() => URL.revokeObjectURL(address2), 1e3);
        }, "image/png");
      },
      { class: "small save", title: "Save this chart as a picture" }
    );
  }

  // src/stacked_paint.ts
  var LEFT = 66;
  var RIGHT = 14;
  var TOP = 14;
  var BOTTOM = 36;
  function ticks(low, high, count, binary) {
    const rough = Math.max(1, (high - low) / count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = binary ? 2 ** Math.ceil(Math.log2(rough)) : [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high * 1.0001; value += step) found.push(value);
    return found;
  }
  var Painter = class {
    constructor(canvas, width, height, of) {
      this.width = width;
      this.height = height;
      this.of = of;
      this.pen = fitted(canvas, width, height);
      this.wide = width - LEFT - RIGHT;
      this.tall = height - TOP - BOTTOM;
    }
    width;
    height;
    of;
    pen;
    wide;
    tall;
    x(at) {
      return LEFT + this.wide * (at - this.of.low) / (this.of.high - this.of.low);
    }
    y(value) {
      return TOP + this.tall - this.tall * value / this.of.most;
    }
    index(at) {
      return Math.floor((at - this.of.data.first) / this.of.data.group);
    }
    line(x1, y1, x2, y2) {
      this.pen.beginPath();
      this.pen.moveTo(x1, y1);
      this.pen.lineTo(x2, y2);
      this.pen.stroke();
    }
    upright(x) {
      this.line(x, TOP, x, this.height - BOTTOM);
    }
    paint() {
      const { of, pen } = this;
      this.axes();
      this.bands();
      of.ranges.forEach((range) => this.range(range));
      if (of.limit) this.limit(of.limit);
      of.marks.forEach((mark, number) => this.mark(mark, number));
      if (of.cursor >= of.low && of.cursor < of.high) {
        pen.strokeStyle = themed("--ink");
        pen.globalAlpha = 0.6;
        this.upright(Math.round(this.x(of.data.first + (this.index(of.cursor) + 0.5) * of.data.group)) + 0.5);
        pen.globalAlpha = 1;
      }
      if (!of.data.series.length) {
        pen.fillStyle = themed("--soft");
        pen.fillText("nothing to draw", LEFT + this.wide / 2, TOP + this.tall / 2);
      }
    }
    axes() {
      const { of, pen } = this;
      const end = this.width - RIGHT;
      pen.fillStyle = themed("--soft");
      pen.strokeStyle = themed("--grid");
      pen.textAlign = "right";
      for (const value of ticks(0, of.most, Math.max(2, this.tall / 52), true)) {
        const y = Math.round(this.y(value)) + 0.5;
        this.line(LEFT, y, end, y);
        pen.fillText(of.format(value), LEFT - 8, y);
      }
      pen.textAlign = "center";
      for (const value of ticks(of.low, of.high, Math.max(2, this.wide / 90), false)) {
        const x = this.x(value);
        if (x > end) continue;
        const text3 = Math.round(value).toLocaleString("en-US");
        pen.fillText(text3, Math.max(LEFT + 6, Math.min(end - 12, x)), this.height - BOTTOM + 13);
      }
      pen.fillText(of.axis, LEFT + this.wide / 2, this.height - 8);
    }
    range([first, last]) {
      const { pen } = this;
      const x = Math.max(LEFT, this.x(first));
      const to = Math.min(this.width - RIGHT, this.x(last));
      if (to < x) return;
      pen.globalAlpha = 0.22;
      pen.fillStyle = themed("--ink");
      pen.fillRect(x, TOP, Math.max(2, to - x), this.tall);
      pen.globalAlpha = 1;
      pen.fillStyle = themed("--accent");
      pen.fillRect(x, this.height - BOTTOM, Math.max(2, to - x), 3);
    }
    limit({ value, name }) {
      const { pen } = this;
      if (value > this.of.most) {
        this.label(
          `${name}, far above`,
          this.width - RIGHT - 4,
          TOP + 8 + 16 * this.of.marks.length,
          "right",
          themed("--bad")
        );
        return;
      }
      const y = Math.round(this.y(value)) + 0.5;
      pen.strokeStyle = themed("--bad");
      pen.setLineDash([5, 4]);
      this.line(LEFT, y, this.width - RIGHT, y);
      pen.setLineDash([]);
      this.label(name, this.width - RIGHT - 4, y - 9, "right", themed("--bad"));
    }
    mark(mark, number) {
      const { of, pen } = this;
      if (mark.at < of.low || mark.at >= of.high) return;
      const x = Math.round(this.x(mark.at + 0.5)) + 0.5;
      if (mark.dashed) pen.setLineDash([3, 3]);
      else {
        pen.strokeStyle = themed("--card");
        pen.lineWidth = 4;
        this.upright(x);
        pen.lineWidth = 2;
      }
      pen.strokeStyle = themed(mark.colour ?? "--accent");
      this.upright(x);
      pen.setLineDash([]);
      pen.lineWidth = 1;
      const right = x > LEFT + this.wide / 2;
      const name = cutText(pen, mark.name, this.wide * 0.45);
      this.label(name, right ? x - 6 : x + 6, TOP + 8 + 16 * (number % 4), right ? "right" : "left", themed("--ink"));
    }
    label(text3, x, y, align, colour) {
      const { pen } = this;
      const wide = pen.measureText(text3).width + 8;
      pen.textAlign = align;
      pen.fillStyle = themed("--card");
      pen.globalAlpha = 0.85;
      pen.fillRect(align === "right" ? x - wide + 4 : x - 4, y - 8, wide, 16);
      pen.globalAlpha = 1;
      pen.fillStyle = colour;
      pen.fillText(text3, x, y);
      pen.textAlign = "center";
    }
    // points that are drawn, with their edges: all of them, or the fullest of each column of pixels
    columns() {
      const { data, totals, low, high } = this.of;
      const from = Math.max(0, this.index(low));
      const to = Math.min(totals.length, this.index(high - 1e-9) + 1);
      const found = [];
      if (to - from <= this.wide) {
        for (let i = from; i < to; i++) {
          const left = Math.max(LEFT, this.x(data.first + i * data.group));
          found.push([i, left, Math.min(LEFT + this.wide, this.x(data.first + (i + 1) * data.group))]);
        }
        return found;
      }
      const count = Math.floor(this.wide);
      for (let x = 0; x < count; x++) {
        const a = from + Math.floor((to - from) * x / count);
        const b = Math.max(a + 1, from + Math.floor((to - from) * (x + 1) / count));
        let best = a;
        for (let i = a + 1; i < b; i++) if (totals[i] > totals[best]) best = i;
        found.push([best, LEFT + x, LEFT + x + 1]);
      }
      return found;
    }
    bands() {
      const columns = this.columns();
      const below = new Float64Array(columns.length);
      for (const each of this.of.data.series) {
        this.pen.fillStyle = each.colour;
        this.pen.beginPath();
        columns.forEach(([point2, left, right], k) => {
          const value = each.values[point2];
          if (value <= 0) return;
          const bottom = this.y(below[k]);
          below[k] = below[k] + value;
          const top = this.y(below[k]);
          this.pen.rect(left, top, right - left + 0.5, bottom - top);
        });
        this.pen.fill();
      }
    }
  };
  function paintStacked(canvas, width, height, picture) {
    new Painter(canvas, width, height, picture).paint();
  }

  // src/stacked.ts
  var TIP_LINES = 12;
  var LEAST_OF_LIMIT = 0.2;
  function axisTop(most, limit) {
    return most < LEAST_OF_LIMIT * limit ? most * 1.2 || 1 : Math.max(most, limit) * 1.06 || 1;
  }
  var StackedChart = class {
    constructor(options2) {
      this.options = options2;
      this.high = Math.max(1, options2.end);
      this.element = el("div", { class: "chart", tabindex: "0", role: "img", "aria-label": options2.label }, this.canvas);
      const box = this.element;
      box.addEventListener("pointerdown", (event) => this.press(event));
      box.addEventListener("pointermove", (event) => this.move(event));
      box.addEventListener("pointerup", (event) => this.release(event));
      box.addEventListener("pointerleave", () => {
        if (!this.drag) this.point(-1);
      });
      box.addEventListener("blur", () => this.point(-1));
      box.addEventListener("dblclick", () => this.window(0, this.options.end));
      box.addEventListener(
        "wheel",
        (event) => {
          if (!event.ctrlKey && document.activeElement !== box) return;
          event.preventDefault();
          const at = this.place(event.clientX);
          if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
            this.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
          else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
        },
        { passive: false }
      );
      box.addEventListener("keydown", (event) => this.key(event));
    }
    options;
    canvas = el("canvas", { "aria-hidden": "true" });
    element;
    marks = [];
    selected = [];
    // ranges that are marked
    low = 0;
    high;
    data = { first: 0, group: 1, series: [] };
    totals = new Float64Array(0);
    cursor = -1;
    drag = null;
    asked = false;
    setData(data) {
      this.data = data;
      const count = data.series[0]?.values.length ?? 0;
      this.totals = new Float64Array(count);
      for (const each of data.series)
        for (let i = 0; i < count; i++) this.totals[i] = this.totals[i] + each.values[i];
      this.draw();
    }
    get most() {
      let most = 0;
      for (const total of this.totals) most = Math.max(most, total);
      return most;
    }
    window(low, high) {
      const least = Math.min(this.options.end, 4);
      const wide = Math.max(least, Math.min(this.options.end, high - low));
      this.low = Math.max(0, Math.min(this.options.end - wide, low));
      this.high = this.low + wide;
      this.draw();
      this.options.onwindow?.(this.low, this.high);
    }
    zoom(factor, at = (this.low + this.high) / 2) {
      const share2 = (at - this.low) / (this.high - this.low), wide = (this.high - this.low) * factor;
      this.window(at - share2 * wide, at + (1 - share2) * wide);
    }
    pan(share2) {
      const by = share2 * (this.high - this.low);
      this.window(this.low + by, this.high + by);
    }
    draw() {
      if (this.asked) return;
      this.asked = true;
      requestAnimationFrame(() => {
        this.asked = false;
        if (this.element.isConnected) this.paint();
      });
    }
    index(at) {
      return Math.floor((at - this.data.first) / this.data.group);
    }
    place(clientX) {
      const area = this.canvas.getBoundingClientRect();
      const share2 = (clientX - area.left - LEFT) / Math.max(1, area.width - LEFT - RIGHT);
      return this.low + Math.max(0, Math.min(0.999999, share2)) * (this.high - this.low);
    }
    paint() {
      const { axis, format, height, limit } = this.options;
      const ranges = [...this.selected];
      if (this.drag?.moved) ranges.push([Math.min(this.drag.from, this.cursor), Math.max(this.drag.from, this.cursor)]);
      paintStacked(this.canvas, Math.max(280, this.element.clientWidth), height, {
        data: this.data,
        totals: this.totals,
        low: this.low,
        high: this.high,
        most: this.options.most ?? axisTop(this.most, limit?.value ?? 0),
        axis,
        format,
        ...limit ? { limit } : {},
        ranges,
        marks: this.marks,
        cursor: this.cursor
      });
    }
    point(at, x = 0, y = 0) {
      this.cursor = at;
      this.draw();
      const i = this.index(at);
      if (at < 0 || i < 0 || i >= this.totals.length) {
        hideTip();
        return;
      }
      const format = this.options.format;
      const parts = this.data.series.map((each) => [each, each.values[i]]).filter((part2) => part2[1] > 0).reverse();
      const shown = parts.length > TIP_LINES ? [...parts].sort((a, b) => b[1] - a[1]).slice(0, TIP_LINES) : parts;
      showTip(x, y, this.options.title(at), [
        ["total", format(this.totals[i])],
        ...this.options.lines?.(at) ?? [],
        ...shown.map(([each, value]) => [each.name, format(value), each.colour]),
        ...parts.length > shown.length ? [[`and ${parts.length - shown.length} smaller`, ""]] : []
      ]);
    }
    press(event) {
      if (event.button !== 0) return;
      this.element.focus({ preventScroll: true });
      this.drag = { from: this.place(event.clientX), x: event.clientX, moved: false, shift: event.shiftKey };
      try {
        this.element.setPointerCapture(event.pointerId);
      } catch {
      }
    }
    move(event) {
      if (this.drag && Math.abs(event.clientX - this.drag.x) > 4) this.drag.moved = true;
      if (this.drag?.moved && this.drag.shift && this.options.dragging === "zoom") {
        const by = this.drag.from - this.place(event.clientX);
        this.window(this.low + by, this.high + by);
        return;
      }
      this.point(this.place(event.clientX), event.clientX, event.clientY);
    }
    release(event) {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      const at = this.place(event.clientX);
      if (!drag.moved) {
        this.options.onclick?.(Math.floor(at), event);
        return;
      }
      const low = Math.min(drag.from, at), high = Math.max(drag.from, at);
      if (this.options.dragging === "select") this.options.onselect?.(Math.floor(low), Math.floor(high), event);
      else if (!drag.shift) this.window(low, high);
      this.draw();
    }
    key(event) {
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50 }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (by) {
        if (event.shiftKey) this.pan(by > 0 ? 0.2 : -0.2);
        else {
          const from = this.cursor < 0 ? (this.low + this.high) / 2 : this.cursor;
          const at = Math.max(0, Math.min(this.options.end - 1, from + by * this.data.group));
          if (at < this.low || at >= this.high) this.pan(by > 0 ? 0.5 : -0.5);
          const area = this.canvas.getBoundingClientRect();
          this.point(
            at,
            area.left + LEFT + (at - this.low) / (this.high - this.low) * (area.width - LEFT - RIGHT),
            area.top + 40
          );
        }
      } else if (event.key === "+" || event.key === "=") this.zoom(0.6, this.cursor < 0 ? void 0 : this.cursor);
      else if (event.key === "-") this.zoom(1 / 0.6, this.cursor < 0 ? void 0 : this.cursor);
      else if (event.key === "0") this.window(0, this.options.end);
      else if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0)
        this.options.onclick?.(Math.floor(this.cursor), event);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }
  };

  // src/variables.ts
  var MOST2 = 500;
  var COLUMNS = [
    "id",
    "name",
    "module",
    "category",
    "ipu",
    "bytes",
    "always_live",
    "first_step",
    "last_step",
    "op_id",
    "first_tile",
    "tiles",
    "tile_bytes"
  ];
  var held = /* @__PURE__ */ new WeakMap();
  async function load(source, report) {
    const [frame, ops, summary] = await Promise.all([
      source.frame(report, "variables", COLUMNS),
      opNames(source, report),
      source.json(report, "summary")
    ]);
    const steps = await source.frame(report, "program_steps", ["op_id"]).then(
      (found) => found.columns.op_id,
      () => new Float64Array(0)
    );
    const categories = summary.categories.map((each) => each[0]);
    return {
      count: frame.rows,
      categories,
      text: (name, row2) => frame.columns[name][row2],
      number: (name, row2) => frame.columns[name][row2],
      use: (row2) => categories[frame.columns.category[row2]] ?? "",
      born: (step) => ops.get(steps[step] ?? -1) ?? ""
    };
  }
  function here2(source, report) {
    const reports = held.get(source) ?? /* @__PURE__ */ new Map();
    held.set(source, reports);
    const found = reports.get(report) ?? load(source, report);
    reports.set(report, found);
    return found;
  }
  async function opNames(source, report) {
    const ops = await source.frame(report, "ops", ["id", "name"]);
    const ids = ops.columns.id, names = ops.columns.name;
    return new Map(names.map((name, row2) => [ids[row2], name]));
  }
  function row(from, at, size) {
    const always2 = from.number("always_live", at), first = from.number("first_step", at), last = from.number("last_step", at);
    return [
      from.number("id", at),
      from.text("name", at),
      from.text("module", at),
      from.use(at),
      size,
      always2,
      first,
      last,
      always2 ? "" : from.born(first),
      always2 ? "" : from.born(last)
    ];
  }
  function listed(rows, known2) {
    rows.sort((a, b) => b[4] - a[4]);
    const rest = rows.slice(MOST2);
    return {
      known: known2,
      variables: rows.slice(0, MOST2),
      left_out: [rest.length, rest.reduce((sum2, each) => sum2 + each[4], 0)]
    };
  }
  async function onTile(source, report, ipu, tile) {
    if (source.served) return source.json(report, "tile_variables", { ipu, tile });
    const from = await here2(source, report);
    if (!from.count) return { known: false, variables: [], left_out: [0, 0] };
    const tiles3 = await source.json(report, "tiles", { ipu });
    const summary = await source.json(report, "summary");
    const peak = Number(summary.ipus[ipu]?.peakStep ?? -1);
    const rows = [];
    const rest = new Map(tiles3.bands.map(([name, , values]) => [name, numbers(values)[tile] ?? 0]));
    for (let at = 0; at < from.count; at++) {
      if (from.number("ipu", at) !== ipu || from.number("tile_bytes", at) < 0) continue;
      if (!from.number("always_live", at) && !(from.number("first_step", at) <= peak && peak <= from.number("last_step", at)))
        continue;
      const offset = tile - from.number("first_tile", at), count = from.number("tiles", at), each = from.number("tile_bytes", at);
      if (offset < 0 || offset >= count) continue;
      const size = offset === count - 1 ? from.number("bytes", at) - each * (count - 1) : each;
      if (size <= 0) continue;
      rows.push(row(from, at, size));
      rest.set(from.use(at), (rest.get(from.use(at)) ?? 0) - size);
    }
    for (const [use2, size] of rest) if (size > 0) rows.push([-1, "(others)", "", use2, size, 1, -1, -1, "", ""]);
    return listed(rows, true);
  }
  async function alive(source, report, ipu, step) {
    if (source.served) return source.json(report, "alive", { ipu, step });
    const from = await here2(source, report);
    if (!from.count) {
      try {
        return await source.json(report, "alive", { ipu, step });
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        return { known: false, variables: [], left_out: [0, 0] };
      }
    }
    const rows = [];
    for (let at = 0; at < from.count; at++) {
      if (from.number("ipu", at) !== ipu || from.number("always_live", at)) continue;
      if (from.number("first_step", at) <= step && step <= from.number("last_step", at))
        rows.push(row(from, at, from.number("bytes", at)));
    }
    return listed(rows, true);
  }
  async function always(source, report, ipu) {
    if (source.served) return source.json(report, "alive", { ipu, step: 0, always: 1 });
    const from = await here2(source, report);
    const rows = [];
    for (let at = 0; at < from.count; at++) {
      if (from.number("ipu", at) === ipu && from.number("always_live", at))
        rows.push(row(from, at, from.number("bytes", at)));
    }
    return listed(rows, from.count > 0);
  }

  // src/liveness_panel.ts
  var POINTS = 1500;
  function asked(source, ipu) {
    return source.served ? { ipu, points: POINTS, names: 1 } : { ipu };
  }
  function curve(data) {
    return {
      data,
      at: numbers(data.at),
      live: numbers(data.live),
      temporary: numbers(data.temporary),
      op: numbers(data.op),
      again: numbers(data.again)
    };
  }
  function point(from, step) {
    return Math.max(0, Math.min(from.at.length - 1, Math.floor((step - from.data.first) / from.data.group)));
  }
  var LivenessPanel = class {
    constructor(context, report, label, onclick, onwindow) {
      this.context = context;
      this.report = report;
      this.label = label;
      this.onclick = onclick;
      this.onwindow = onwindow;
    }
    context;
    report;
    label;
    onclick;
    onwindow;
    element = el("div", {});
    chart = null;
    curve = null;
    names = /* @__PURE__ */ new Map();
    waiting = 0;
    async load(ipu) {
      const { source } = this.context;
      this.curve = curve(await source.json(this.report, "liveness", asked(source, ipu)));
      if (!source.served) this.names = await opNames(source, this.report);
      return this.curve;
    }
    opAt(step) {
      const from = this.curve;
      if (!from) return "";
      const i = point(from, step), op = from.op[i] ?? -1;
      const name = this.names.get(op) ?? (Object.hasOwn(from.data.names, String(op)) ? from.data.names[String(op)] : "");
      return name ? `${name}${from.again[i] ? " (again)" : ""}` : "";
    }
    draw(ipu, most, height) {
      const from = this.curve;
      if (!from) return;
      const { data } = from;
      const title = `${this.label}Memory of IPU ${ipu} over the program steps`;
      const chart = new StackedChart({
        label: `${title}: bytes`,
        height,
        end: Math.max(1, data.steps),
        axis: "program step",
        dragging: "zoom",
        most,
        limit: { value: data.room, name: `memory of the IPU: ${bytes(data.room)}` },
        format: bytes,
        title: (at) => {
          const i = point(this.curve, at);
          return `program step ${whole(this.curve.at[i] ?? at)}`;
        },
        lines: (at) => [["op", this.opAt(at) || "\u2013"]],
        onclick: (at, event) => this.onclick(this.curve.at[point(this.curve, at)] ?? at, event.shiftKey),
        onwindow: (low, high) => this.zoomed(low, high)
      });
      this.chart = chart;
      this.fill();
      const colours = [
        ["always live", REGIONS.always],
        ["tensors that come and go", USES.activations],
        ["temporaries of the op", USES.temporaries]
      ];
      this.element.replaceChildren(
        card(
          title,
          chart.element,
          el(
            "div",
            { class: "controls key" },
            legend(colours),
            el("span", { class: "spring" }),
            button("+", () => chart.zoom(0.5), { class: "small", "aria-label": "Zoom in" }),
            button("\u2212", () => chart.zoom(2), { class: "small", "aria-label": "Zoom out" }),
            button("All", () => chart.window(0, data.steps), { class: "small" }),
            saveButton(
              () => chart.canvas,
              () => title,
              () => colours
            )
          ),
          note(
            `The sum of all tiles, without gaps. A tile may be full long before the IPU reaches the line.${data.group > 1 ? ` Each column is the fullest of ${data.group} program steps.` : ""} Click to freeze the cursor, Shift and click to set a second one. Drag to zoom.`
          )
        )
      );
    }
    fill() {
      const from = this.curve;
      if (!from || !this.chart) return;
      const always2 = new Float64Array(from.live.length).fill(from.data.always);
      this.chart.setData({
        first: from.data.first,
        group: from.data.group,
        series: [
          { name: "always live", colour: REGIONS.always, values: always2 },
          { name: "tensors", colour: USES.activations, values: from.live },
          { name: "temporaries", colour: USES.temporaries, values: from.temporary }
        ]
      });
    }
    window(low, high) {
      this.chart?.window(low, high);
    }
    marks(marks) {
      if (!this.chart) return;
      this.chart.marks = marks;
      this.chart.draw();
    }
    redraw() {
      this.chart?.draw();
    }
    // a server has more points for a part than for the whole
    zoomed(low, high) {
      this.onwindow(low, high);
      const { source } = this.context, from = this.curve;
      if (!source.served || !from) return;
      clearTimeout(this.waiting);
      this.waiting = window.setTimeout(() => {
        const wide = high - low, first = Math.max(0, Math.floor(low - wide)), last = Math.min(from.data.steps - 1, Math.ceil(high + wide));
        if (Math.ceil((last - first + 1) / (3 * POINTS)) >= from.data.group && first >= from.data.first && last <= from.data.last)
          return;
        void source.json(this.report, "liveness", { ipu: from.data.ipu, first, last, points: 3 * POINTS, names: 1 }).then((answer) => {
          this.curve = curve(answer);
          this.fill();
        });
      }, 150);
    }
    total(step) {
      const from = this.curve;
      if (!from) return 0;
      const i = point(from, step);
      return from.data.always + (from.live[i] ?? 0) + (from.temporary[i] ?? 0);
    }
  };

  // src/variable_table.ts
  function lifeBar(row2, low, high, at) {
    const [, , , , , always2, first, last] = row2;
    const root = svg("svg", { viewBox: "0 0 300 12", height: 12, preserveAspectRatio: "none" });
    const from = always2 ? low : first, to = always2 ? high : last, all = Math.max(1, high - low + 1);
    root.append(
      svg("rect", { x: 0, y: 5.5, width: 300, height: 1, fill: "currentColor", opacity: 0.15 }),
      svg("rect", {
        x: 300 * (from - low) / all,
        y: 1,
        width: Math.max(3, 300 * (to - from + 1) / all),
        height: 10,
        fill: always2 ? "#3d6fd9" : "#d1495b"
      })
    );
    if (at >= 0)
      root.append(svg("rect", { x: 300 * (at - low) / all, y: 0, width: 2, height: 12, fill: "currentColor" }));
    return el(
      "span",
      {
        class: "life",
        role: "img",
        "aria-label": always2 ? "alive for the whole step" : `alive from program step ${first} to ${last}`
      },
      root
    );
  }
  var text = (row2) => `${row2[1]}\0${row2[2]}\0${row2[3]}\0${row2[8]}\0${row2[9]}`.toLowerCase();
  function variableTable(rows, steps, at, options2 = {}) {
    const columns = [
      { title: "variable", value: (row2) => row2[1], width: "minmax(10rem, 2fr)" },
      { title: "module", value: (row2) => row2[2] },
      { title: "use", value: (row2) => row2[3], width: "minmax(6rem, 9rem)" },
      { title: "bytes", number: true, value: (row2) => row2[4], text: (row2) => bytes(row2[4]) },
      {
        title: "made by",
        value: (row2) => row2[8] || (row2[5] ? "(before the step)" : ""),
        hint: "the op of the first program step in which it is alive"
      },
      {
        title: "last used by",
        value: (row2) => row2[9] || (row2[5] ? "(after the step)" : ""),
        hint: "the op of the last program step in which it is alive"
      }
    ];
    if (steps > 0) {
      const born = rows.filter((row2) => !row2[5]);
      const low = born.reduce((least, row2) => Math.min(least, row2[6]), at < 0 ? steps : at), high = born.reduce((most, row2) => Math.max(most, row2[7]), at);
      columns.push({
        title: `alive (${whole(low)} \u2013 ${whole(high)})`,
        hint: "program steps; the line is the cursor",
        value: (row2) => row2[6],
        cell: (row2) => lifeBar(row2, low, high, at),
        width: "minmax(9rem, 1.5fr)"
      });
    }
    return new DataTable(columns, {
      name: "variables",
      sort: 3,
      filter: text,
      placeholder: "Filter by name, module, use, op (f)",
      ...options2
    }).setRows(rows);
  }
  function variableDifference(before, after, names) {
    const size = (row2) => row2?.[4] ?? 0;
    const rows = paired(before, after, (row2) => `${row2[1]}\0${row2[3]}`).filter(
      (pair) => size(pair.before) !== size(pair.after) || pair.before?.[4] !== void 0
    );
    const columns = [
      {
        title: "variable",
        value: (pair) => (pair.before ?? pair.after)[1],
        width: "minmax(10rem, 2fr)"
      },
      { title: "module", value: (pair) => (pair.before ?? pair.after)[2] },
      { title: "use", value: (pair) => (pair.before ?? pair.after)[3], width: "minmax(6rem, 9rem)" },
      {
        title: names[0],
        number: true,
        value: (pair) => size(pair.before),
        text: (pair) => pair.before ? bytes(size(pair.before)) : "\u2013"
      },
      {
        title: names[1],
        number: true,
        value: (pair) => size(pair.after),
        text: (pair) => pair.after ? bytes(size(pair.after)) : "\u2013"
      },
      {
        title: "difference",
        number: true,
        value: (pair) => Math.abs(size(pair.after) - size(pair.before)),
        text: (pair) => delta(size(pair.before), size(pair.after), bytes),
        width: "minmax(9rem, 11rem)"
      }
    ];
    return new DataTable(columns, {
      name: "variables",
      sort: 5,
      filter: (pair) => text(pair.before ?? pair.after)
    }).setRows(rows);
  }
  function leftOut(list) {
    return list.left_out[0] ? `${whole(list.left_out[0])} smaller ones with ${bytes(list.left_out[1])} are not listed.` : "";
  }

  // src/liveness_view.ts
  async function render(host, context) {
    const { state, source } = context;
    const map = await context.json("summary");
    if (!map.ipus.length) {
      host.append(note("This report has no liveness."));
      return;
    }
    const fullest = map.ipus.reduce((best, ipu2, index) => ipu2.max > (map.ipus[best]?.max ?? 0) ? index : best, 0);
    let ipu = state.number("ipu", fullest, 0, map.ipus.length - 1);
    const others = context.other ? (await source.json(context.other.id, "summary")).ipus.length : 0;
    const details = el("div", { class: "stack" });
    let turn = 0;
    const cursors = () => {
      const first = state.number("at", -1), second = state.number("and", -1);
      return { first, second };
    };
    const click = (step, second) => {
      if (second) state.set({ and: step });
      else state.set({ at: step, and: null });
      void show();
    };
    const panels = [
      new LivenessPanel(
        context,
        context.report.id,
        context.other ? "Before: " : "",
        click,
        (low, high) => state.set({ from: low > 0 ? Math.floor(low) : null, to: Math.ceil(high) })
      )
    ];
    if (context.other) panels.push(new LivenessPanel(context, context.other.id, "After: ", click, () => void 0));
    const show = async () => {
      const mine = ++turn;
      const panel = panels[0];
      const { first, second } = cursors();
      const peak = map.ipus[ipu]?.peakStep ?? 0;
      const at = first < 0 ? peak : first;
      panels.forEach(
        (each, index) => each.marks([
          ...index ? [] : [{ at: peak, name: `fullest: ${map.ipus[ipu]?.peakOp ?? ""}`, dashed: true }],
          ...first < 0 ? [] : [{ at: first, name: `1: step ${whole(first)}`, colour: "--accent" }],
          ...second < 0 ? [] : [{ at: second, name: `2: step ${whole(second)}`, colour: "--bad" }]
        ])
      );
      const list = await alive(source, context.report.id, ipu, at);
      const steps = (await source.json(context.report.id, "liveness", asked(source, ipu))).steps;
      const buttons = el(
        "div",
        { class: "controls" },
        button(
          "Fullest moment",
          () => {
            state.set({ at: peak, and: null });
            void show();
          },
          { class: "small" }
        ),
        second < 0 ? null : button(
          "Remove the second cursor",
          () => {
            state.set({ and: null });
            void show();
          },
          { class: "small" }
        )
      );
      let shown;
      if (context.other && ipu < others) {
        const after = await alive(source, context.other.id, ipu, at).catch(() => ({
          known: false,
          variables: [],
          left_out: [0, 0]
        }));
        shown = card(
          `Alive in program step ${whole(at)}: before and after`,
          buttons,
          variableDifference(list.variables, after.variables, ["before", "after"]).element
        );
      } else if (second >= 0) {
        const other = await alive(source, context.report.id, ipu, second);
        const [a, b] = [panel.total(at), panel.total(second)];
        shown = card(
          `Difference between program steps ${whole(at)} and ${whole(second)}`,
          buttons,
          plainTable(
            "the two moments",
            [["moment"], ["program step", true], ["op"], ["in memory", true]],
            [
              ["1", whole(at), panel.opAt(at), bytes(a)],
              ["2", whole(second), panel.opAt(second), bytes(b)],
              ["difference", whole(second - at), "", delta(a, b, bytes)]
            ]
          ),
          variableDifference(list.variables, other.variables, [`step ${whole(at)}`, `step ${whole(second)}`]).element
        );
      } else {
        const op = panel.opAt(at);
        shown = card(
          `Alive in program step ${whole(at)}${first < 0 || at === peak ? " (the fullest moment)" : ""}${op ? `, ${op}` : ""}`,
          buttons,
          note(
            `${plural(list.variables.length + list.left_out[0], "tensor")} with ${bytes(list.variables.reduce((sum2, each) => sum2 + each[4], list.left_out[1]))}, and ${bytes(panel.total(at))} in all with what is always live and temporaries.` + (list.known ? "" : " This report keeps the largest tensors only.")
          ),
          variableTable(list.variables, steps, at).element,
          leftOut(list) ? note(leftOut(list)) : null
        );
      }
      if (mine === turn) details.replaceChildren(shown, alwaysLive());
    };
    const alwaysLive = () => {
      const box = el(
        "details",
        { class: "card" },
        el("summary", {}, el("b", { text: "Always live: in memory for the whole run" }))
      );
      box.addEventListener("toggle", () => {
        if (!box.open || box.childElementCount > 1) return;
        void Promise.all([
          always(source, context.report.id, ipu),
          context.other && ipu < others ? always(source, context.other.id, ipu) : null
        ]).then(([list, other]) => {
          box.append(
            other ? variableDifference(list.variables, other.variables, ["before", "after"]).element : variableTable(list.variables, 0, -1).element
          );
          if (leftOut(list)) box.append(note(leftOut(list)));
        });
      });
      return box;
    };
    const open = async () => {
      const absent = panels[1] && ipu >= others;
      if (panels[1]) panels[1].element.replaceChildren(...absent ? [note(`The other report has no IPU ${ipu}.`)] : []);
      const curves = await Promise.all(panels.slice(0, absent ? 1 : 2).map((panel) => panel.load(ipu)));
      let most = 0, room = 0;
      for (const each of curves) {
        room = Math.max(room, each.data.room);
        for (let i = 0; i < each.live.length; i++)
          most = Math.max(most, each.data.always + each.live[i] + each.temporary[i]);
      }
      panels.slice(0, curves.length).forEach((panel) => panel.draw(ipu, axisTop(most, room), curves.length > 1 ? 230 : 320));
      const steps = curves[0].data.steps;
      const from = state.number("from", 0, 0, steps), to = state.number("to", steps, 0, steps);
      if (from > 0 || to < steps) panels.forEach((panel) => panel.window(from, to));
      await show();
    };
    host.append(
      el(
        "div",
        { class: "controls sticky" },
        choice(
          "Show",
          map.ipus.map((_, n) => `IPU ${n}`),
          ipu,
          (index) => {
            ipu = index;
            state.set({ ipu, at: null, and: null, from: null, to: null });
            void open();
          }
        )
      ),
      ...panels.map((panel) => panel.element),
      details
    );
    context.redraw(() => panels.forEach((panel) => panel.redraw()));
    await open();
  }
  var livenessView = {
    id: "liveness",
    title: "Liveness",
    lead: "What is in memory at each point of a step. Program steps are ops in the order in which the device runs them.",
    key: "l",
    render
  };

  // src/tile_bands.ts
  var BY = ["use", "region", "layer"];
  function tilesOf(context, report, ipu, by) {
    return context.source.json(report, "tiles", by === "layer" ? { ipu, by } : { ipu });
  }
  async function bothTiles(context, ipu, by) {
    const { report, other } = context;
    return [
      await tilesOf(context, report.id, ipu, by),
      other ? await tilesOf(context, other.id, ipu, by).catch(() => null) : null
    ];
  }
  function bands(answer, by) {
    const made3 = answer.bands.map(([name, always2, values], index) => ({
      name,
      always: always2,
      values: numbers(values),
      colour: by === "layer" ? index === answer.bands.length - 1 ? "#c3cad6" : hue(index) : pick(USES, name, index)
    }));
    if (by !== "region") return made3;
    const sum2 = (name, colour, parts) => {
      const values = new Float64Array(answer.tiles);
      for (const part2 of parts)
        for (let i = 0; i < values.length; i++) values[i] = values[i] + part2.values[i];
      return { name, colour, values };
    };
    const gaps = made3.filter((each) => each.name === "gaps"), rest = made3.filter((each) => each.name !== "gaps");
    return [
      sum2(
        "always live",
        REGIONS.always,
        rest.filter((each) => each.always)
      ),
      sum2(
        "not always live",
        REGIONS.temporary,
        rest.filter((each) => !each.always)
      ),
      sum2("gaps", REGIONS.gaps, gaps)
    ];
  }
  function sumOf(values, tiles3) {
    return tiles3.reduce((sum2, tile) => sum2 + (values[tile] ?? 0), 0);
  }

  // src/tile_details.ts
  function named(tiles3) {
    if (tiles3.length === 1) return `tile ${tiles3[0]}`;
    return tiles3.length === 2 ? `tiles ${tiles3.join(" and ")}` : plural(tiles3.length, "tile");
  }
  async function usageCard(context, ipu, by, tiles3) {
    const [a, b] = await bothTiles(context, ipu, by);
    const series = bands(a, by);
    const after = b ? bands(b, by) : null;
    const two = tiles3.length === 2 && !after;
    const rows = series.map((each) => {
      const title = el("span", {}, legend([[each.name, each.colour]]));
      if (two) {
        const [one, other] = tiles3.map((tile) => each.values[tile] ?? 0);
        return { size: one + other, cells: [title, bytes(one), bytes(other), deltaCell(one, other, bytes)] };
      }
      const size = sumOf(each.values, tiles3);
      if (!after) return { size, cells: [title, bytes(size), percent(size, a.room * tiles3.length)] };
      const later = sumOf(after.find((found) => found.name === each.name)?.values ?? new Float64Array(0), tiles3);
      return { size: size + later, cells: [title, bytes(size), bytes(later), deltaCell(size, later, bytes, true)] };
    }).filter((row2) => row2.size > 0);
    const all = series.reduce((sum2, each) => sum2 + sumOf(each.values, tiles3), 0);
    const pair = two ? [`tile ${tiles3[0]}`, `tile ${tiles3[1]}`] : ["before", "after"];
    const heads = two || after ? [[by], [pair[0], true], [pair[1], true], ["difference", true]] : [[by], ["bytes", true], ["of its memory", true]];
    const have = tiles3.length === 1 ? "it has" : "they have";
    return card(
      `What ${named(tiles3)} of IPU ${ipu} hold${tiles3.length > 1 ? "" : "s"}`,
      note(`${bytes(all)} in total, ${percent(all, a.room * tiles3.length)} of what ${have}.`),
      plainTable(
        `memory of ${named(tiles3)}`,
        heads,
        rows.map((row2) => row2.cells)
      )
    );
  }
  async function variablesCard(context, ipu, tiles3) {
    const { source, report, other } = context;
    const [first, second] = tiles3;
    const list = await onTile(source, report.id, ipu, first);
    if (!list.known) {
      return card(
        `Variables of ${named(tiles3)}`,
        note("This report has no variables for single tiles: an earlier version wrote it.")
      );
    }
    const after = other ? await onTile(source, other.id, ipu, first).catch(() => null) : null;
    if (after) {
      const table = variableDifference(list.variables, after.variables, ["before", "after"]);
      return card(`Variables of tile ${first}: before and after`, table.element);
    }
    if (tiles3.length === 2 && second !== void 0) {
      const others = await onTile(source, report.id, ipu, second);
      const names = [`tile ${first}`, `tile ${second}`];
      return card(
        `Variables: tile ${second} against tile ${first}`,
        variableDifference(list.variables, others.variables, names).element
      );
    }
    return card(
      `Variables of tile ${first}${tiles3.length > 1 ? ", the first one selected" : ""}`,
      variableTable(list.variables, 0, -1).element,
      leftOut(list) ? note(leftOut(list)) : null
    );
  }

  // src/tile_list.ts
  var MOST_SELECTED = 2e3;
  function tileList(text3, most) {
    const found = /* @__PURE__ */ new Set();
    for (const part2 of text3.split(/[,;\s]+/)) {
      const range = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part2);
      if (!range) continue;
      const first = Number(range[1]), last = Math.min(most - 1, Number(range[2] ?? range[1]));
      for (let tile = first; tile <= last && found.size < MOST_SELECTED; tile++) found.add(tile);
    }
    return [...found].filter((tile) => tile < most).sort((a, b) => a - b);
  }
  function tileText(tiles3) {
    const parts = [];
    for (let i = 0; i < tiles3.length; i++) {
      let j = i;
      while (j + 1 < tiles3.length && tiles3[j + 1] === tiles3[j] + 1) j++;
      parts.push(j > i + 1 ? `${tiles3[i]}-${tiles3[j]}` : tiles3.slice(i, j + 1).join(","));
      i = j;
    }
    return parts.join(",");
  }
  function tileRanges(tiles3) {
    return tileText(tiles3).split(",").filter(Boolean).map((part2) => {
      const [first, last] = part2.split("-").map(Number);
      return [first, (last ?? first) + 1];
    });
  }

  // src/tilemap.ts
  var COLUMNS2 = 16;
  var TOGETHER = 4;
  function place(tile, tiles3) {
    if (tiles3 < COLUMNS2 * TOGETHER) return [tile, 0];
    const four = Math.floor(tile / TOGETHER);
    return [Math.floor(four / COLUMNS2) * TOGETHER + tile % TOGETHER, four % COLUMNS2];
  }
  function grid(tiles3) {
    if (tiles3 < COLUMNS2 * TOGETHER) return [Math.max(1, tiles3), 1];
    return [Math.ceil(tiles3 / (COLUMNS2 * TOGETHER)) * TOGETHER, COLUMNS2];
  }
  var TileMap = class {
    constructor(options2) {
      this.options = options2;
      this.element = el(
        "div",
        { class: "chart tilemap", tabindex: "0", role: "img", "aria-label": options2.label },
        this.canvas
      );
      const box = this.element;
      box.addEventListener("pointermove", (event) => {
        this.point(this.at(event), event.clientX, event.clientY);
      });
      box.addEventListener("pointerleave", () => this.point(null));
      box.addEventListener("blur", () => this.point(null));
      box.addEventListener("pointerdown", (event) => {
        this.from = this.at(event);
      });
      box.addEventListener("pointerup", (event) => {
        const from = this.from, to = this.at(event);
        this.from = null;
        if (from && to && from[0] === to[0])
          this.options.onselect(from[0], Math.min(from[1], to[1]), Math.max(from[1], to[1]), event);
      });
      box.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: TOGETHER, ArrowUp: -TOGETHER }[event.key];
        if (by) {
          const [ipu, tile] = this.hover ?? [this.options.ipus[0], 0 - by];
          const next = Math.max(0, Math.min(this.options.tiles - 1, tile + by));
          const area = this.canvas.getBoundingClientRect(), [x, y] = this.corner(ipu, next);
          this.point([ipu, next], area.left + x + 10, area.top + y + 10);
        } else if (event.key === "Enter" && this.hover)
          this.options.onselect(this.hover[0], this.hover[1], this.hover[1], event);
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
    options;
    canvas = el("canvas", { "aria-hidden": "true" });
    element;
    selected = /* @__PURE__ */ new Set();
    // tiles of `selectedIpu`
    selectedIpu = -1;
    picture = null;
    across = 1;
    cell = [1, 1];
    hover = null;
    from = null;
    // colours of all tiles, one pixel each
    painted() {
      const { ipus, tiles: tiles3 } = this.options;
      const [columns, rows] = grid(tiles3);
      const made3 = document.createElement("canvas");
      made3.width = columns;
      made3.height = rows * ipus.length;
      const pen = made3.getContext("2d");
      if (!pen) return made3;
      const image = pen.createImageData(made3.width, made3.height);
      ipus.forEach((ipu, number) => {
        for (let tile = 0; tile < tiles3; tile++) {
          const [x, y] = place(tile, tiles3), to = 4 * ((number * rows + y) * columns + x);
          const [red, green, blue] = this.options.colour(ipu, tile);
          image.data[to] = red;
          image.data[to + 1] = green;
          image.data[to + 2] = blue;
          image.data[to + 3] = 255;
        }
      });
      pen.putImageData(image, 0, 0);
      return made3;
    }
    refresh() {
      this.picture = null;
      this.draw();
    }
    draw() {
      const { ipus, tiles: tiles3 } = this.options;
      const width = Math.max(280, this.element.clientWidth);
      const [columns, rows] = grid(tiles3);
      const one = ipus.length === 1;
      this.across = one ? 1 : Math.max(
        1,
        Math.min(ipus.length, Math.floor(width / Math.max(96, columns + 6)), Math.ceil(Math.sqrt(ipus.length * 1.3)))
      );
      const wide = width / this.across - (one ? 0 : 8);
      const cellWide = wide / columns;
      this.cell = [cellWide, one ? Math.max(4, Math.min(14, cellWide * 1.2)) : Math.max(1, Math.min(5, cellWide * 1.4))];
      const title = one ? 0 : 14;
      const height = Math.ceil(ipus.length / this.across) * (rows * this.cell[1] + title + (one ? 0 : 6));
      const pen = fitted(this.canvas, width, height);
      const picture = this.picture ??= this.painted();
      pen.imageSmoothingEnabled = false;
      ipus.forEach((ipu, number) => {
        const [x, y] = this.corner(ipu, 0, true);
        pen.drawImage(picture, 0, number * rows, columns, rows, x, y, wide, rows * this.cell[1]);
        if (!one) {
          pen.fillStyle = themed("--soft");
          pen.font = "11px system-ui, sans-serif";
          pen.textAlign = "left";
          pen.fillText(`IPU ${ipu}`, x, y - 7);
        } else if (this.cell[0] >= 5) {
          pen.strokeStyle = themed("--card");
          pen.lineWidth = 0.5;
          pen.beginPath();
          for (let c = TOGETHER; c < columns; c += TOGETHER) {
            pen.moveTo(c * this.cell[0], 0);
            pen.lineTo(c * this.cell[0], height);
          }
          for (let r = 1; r < rows; r++) {
            pen.moveTo(0, r * this.cell[1]);
            pen.lineTo(wide, r * this.cell[1]);
          }
          pen.stroke();
        }
      });
      const frame = (ipu, tile, colour, line) => {
        const [x, y] = this.corner(ipu, tile);
        pen.strokeStyle = colour;
        pen.lineWidth = line;
        pen.strokeRect(x - 0.5, y - 0.5, this.cell[0] + 1, this.cell[1] + 1);
      };
      if (this.options.ipus.includes(this.selectedIpu)) {
        for (const tile of this.selected) {
          frame(this.selectedIpu, tile, themed("--card"), 4);
          frame(this.selectedIpu, tile, themed("--ink"), 2);
        }
      }
      if (this.hover) frame(this.hover[0], this.hover[1], themed("--ink"), 1.5);
    }
    // the corner of a tile, or of its IPU
    corner(ipu, tile, ofIpu = false) {
      const number = this.options.ipus.indexOf(ipu), one = this.options.ipus.length === 1;
      const [columns, rows] = grid(this.options.tiles);
      const wide = columns * this.cell[0] + (one ? 0 : 8), high = rows * this.cell[1] + (one ? 0 : 20);
      const x = number % this.across * wide, y = Math.floor(number / this.across) * high + (one ? 0 : 14);
      if (ofIpu) return [x, y];
      const [c, r] = place(tile, this.options.tiles);
      return [x + c * this.cell[0], y + r * this.cell[1]];
    }
    at(event) {
      const area = this.canvas.getBoundingClientRect();
      const { ipus, tiles: tiles3 } = this.options;
      const [columns, rows] = grid(tiles3), one = ipus.length === 1;
      const wide = columns * this.cell[0] + (one ? 0 : 8), high = rows * this.cell[1] + (one ? 0 : 20);
      const px = event.clientX - area.left, py = event.clientY - area.top;
      const number = Math.floor(py / high) * this.across + Math.floor(px / wide);
      const ipu = ipus[number];
      if (ipu === void 0 || px < 0 || py < 0) return null;
      const [x, y] = this.corner(ipu, 0, true);
      const c = Math.floor((px - x) / this.cell[0]), r = Math.floor((py - y) / this.cell[1]);
      if (c < 0 || r < 0 || c >= columns || r >= rows) return null;
      const tile = rows === 1 ? c : Math.floor(c / TOGETHER) * COLUMNS2 * TOGETHER + r * TOGETHER + c % TOGETHER;
      return tile < tiles3 ? [ipu, tile] : null;
    }
    point(at, x = 0, y = 0) {
      this.hover = at;
      this.draw();
      if (!at) {
        hideTip();
        return;
      }
      const [title, lines] = this.options.tip(at[0], at[1]);
      showTip(x, y, title, lines);
    }
  };

  // src/tile_map_card.ts
  var HOW = "Click a tile to select it, drag over several, hold Shift to add more. The map follows the columns of the chip; the exact place of each number is not published.";
  var Shades = class {
    constructor(values, room, relative) {
      this.room = room;
      this.relative = relative;
      this.least = values.reduce((low, value) => Math.min(low, value), Infinity);
      this.largest = values.reduce((high, value) => Math.max(high, value), 0);
      this.low = relative ? this.least : 0;
      this.most = relative ? this.largest : Math.max(room, this.largest);
    }
    room;
    relative;
    low;
    most;
    least;
    largest;
    of(value) {
      return scale(this.relative ? (value - this.least) / Math.max(1, this.largest - this.least) : value / this.room);
    }
    get end() {
      if (this.relative) return `${bytes(this.most)} (${percent(this.most, this.room)} of a tile)`;
      return this.most > this.room ? `${bytes(this.most)} (full at ${bytes(this.room)}, then red)` : `${bytes(this.room)} (full)`;
    }
  };
  function tileMapCard(settings) {
    const { before, after, ipu: shown, state } = settings;
    const a = numbers(before.bytes);
    const b = after ? numbers(after.bytes) : null;
    const { room, tiles: tiles3 } = before;
    const ipus = shown < 0 ? Array.from({ length: before.ipus }, (_, n) => n) : [shown];
    const same = b !== null && after?.tiles === tiles3 && ipus.every((ipu) => ipu < after.ipus);
    const first = (ipu, tile) => a[ipu * tiles3 + tile] ?? 0;
    const second = (ipu, tile) => b?.[ipu * tiles3 + tile] ?? 0;
    const visible = ipus.flatMap((ipu) => [...a.subarray(ipu * tiles3, (ipu + 1) * tiles3)]);
    const shades = new Shades(visible, room, state.get("colours") === "relative" && !same);
    const widest = ipus.reduce((most, ipu) => {
      for (let tile = 0; tile < tiles3; tile++) most = Math.max(most, Math.abs(second(ipu, tile) - first(ipu, tile)));
      return most;
    }, 1);
    const map = new TileMap({
      label: "Tiles coloured by the memory that they need; the table of the fullest tiles in Insights has the same figures",
      ipus,
      tiles: tiles3,
      colour: (ipu, tile) => same ? difference((second(ipu, tile) - first(ipu, tile)) / widest) : shades.of(first(ipu, tile)),
      tip: (ipu, tile) => {
        const value = first(ipu, tile);
        const lines = same ? [
          ["before", bytes(value)],
          ["after", bytes(second(ipu, tile))],
          ["difference", delta(value, second(ipu, tile), bytes)]
        ] : [
          ["needs", `${bytes(value)} (${whole(value)} B)`],
          ["of its memory", percent(value, room)]
        ];
        return [`tile ${whole(tile)} of IPU ${ipu}`, lines];
      },
      onselect: settings.onselect
    });
    const key = el("div", {
      class: "scale",
      role: "img",
      "aria-label": same ? "blue: less, red: more" : "dark: empty, yellow: full, red: no room"
    });
    const stops = Array.from(
      { length: 41 },
      (_, n) => css(same ? difference(n / 20 - 1) : shades.of(shades.low + n / 40 * (shades.most - shades.low)))
    );
    key.style.background = `linear-gradient(to right, ${stops.join(",")})`;
    const choose = toggles("colours", ["empty to full", "least to most"], shades.relative ? 1 : 0, (index) => {
      state.set({ colours: index ? "relative" : null });
      settings.again();
    });
    const { over } = settings;
    const room_ = over ? `${same ? "Before: " : ""}${plural(over, "tile")} of all IPUs ${over === 1 ? "needs" : "need"} more memory than a tile has. ` : "Every tile has room. ";
    const what = same ? "Difference of the bytes on each tile" : "Tile map";
    const whose = shown < 0 ? plural(before.ipus, "IPU") : `IPU ${shown}`;
    const element = card(
      `${what}: ${whose}, at the fullest moment`,
      map.element,
      el(
        "div",
        { class: "controls key" },
        el("span", { class: "label", text: same ? `\u2212${bytes(widest)}` : bytes(shades.low) }),
        key,
        el("span", { class: "label", text: same ? `+${bytes(widest)}` : shades.end }),
        same ? null : choose,
        el("span", { class: "spring" }),
        saveButton(
          () => map.canvas,
          () => "Memory of tiles"
        )
      ),
      b && !same ? note("The two reports differ in IPUs or tiles, so the map shows no difference.") : null,
      note(room_ + HOW)
    );
    return { map, element };
  }

  // src/memory_view.ts
  var Memory = class {
    constructor(host, context, before, after, summary) {
      this.host = host;
      this.context = context;
      this.before = before;
      this.after = after;
      this.summary = summary;
      const state = context.state;
      const fullest = summary.ipus.reduce(
        (best, ipu, index) => Number(ipu.max) > Number(summary.ipus[best]?.max ?? 0) ? index : best,
        0
      );
      this.ipu = state.get("ipu") === "all" ? -1 : state.number("ipu", fullest, 0, before.ipus - 1);
      this.by = BY.includes(state.get("by")) ? state.get("by") : "use";
      this.chosen = tileList(
        state.get("tiles", this.ipu < 0 ? "" : String(summary.ipus[this.ipu]?.fullest ?? "")),
        before.tiles
      );
    }
    host;
    context;
    before;
    after;
    summary;
    ipu;
    // -1: all
    by;
    chosen;
    maps = el("div", { class: "stack" });
    charts = el("div", { class: "stack" });
    details = el("div", { class: "stack" });
    input = el("input", {
      type: "text",
      class: "tiles",
      placeholder: "for example 1,5 or 10-20",
      "aria-label": "Tiles"
    });
    map = null;
    drawn = [];
    turn = 0;
    async show() {
      const ipus = ["all IPUs", ...Array.from({ length: this.before.ipus }, (_, n) => `IPU ${n}`)];
      this.input.value = tileText(this.chosen);
      this.input.addEventListener("change", () => this.select(tileList(this.input.value, this.before.tiles)));
      this.host.append(
        el(
          "div",
          { class: "controls sticky" },
          choice("Show", ipus, this.ipu + 1, (index) => {
            this.ipu = index - 1;
            this.context.state.set({ ipu: index ? index - 1 : "all" });
            void this.redraw();
          }),
          toggles("by", BY, BY.indexOf(this.by), (index) => {
            this.by = BY[index];
            this.context.state.set({ by: this.by });
            void this.redraw();
          }),
          el("label", { class: "choice" }, el("span", { text: "Tiles" }), this.input),
          button(
            "Fullest tile",
            () => {
              if (this.ipu < 0) this.fullestIpu();
              this.select([Number(this.summary.ipus[this.ipu]?.fullest ?? 0)]);
            },
            { class: "small" }
          )
        ),
        this.maps,
        this.charts,
        this.details
      );
      this.context.redraw(() => {
        this.map?.refresh();
        this.drawn.forEach((chart) => chart.draw());
      });
      await this.redraw();
    }
    fullestIpu() {
      this.ipu = this.summary.ipus.reduce(
        (best, ipu, index) => Number(ipu.max) > Number(this.summary.ipus[best]?.max ?? 0) ? index : best,
        0
      );
      this.context.state.set({ ipu: this.ipu });
      void this.redraw();
    }
    async redraw() {
      this.drawMap();
      await this.drawCharts();
      await this.drawDetails();
    }
    drawMap() {
      const { map, element } = tileMapCard({
        before: this.before,
        after: this.after,
        ipu: this.ipu,
        over: this.summary.ipus.reduce((sum2, ipu) => sum2 + Number(ipu.over), 0),
        state: this.context.state,
        onselect: (ipu, first, last, event) => {
          const picked = Array.from({ length: last - first + 1 }, (_, n) => first + n);
          const add = event.shiftKey || event.ctrlKey || event.metaKey;
          if (ipu !== this.ipu) {
            this.ipu = ipu;
            this.context.state.set({ ipu });
            this.select(picked, true);
          } else this.select(add ? [.../* @__PURE__ */ new Set([...this.chosen, ...picked])].sort((x, y) => x - y) : picked);
        },
        again: () => this.drawMap()
      });
      this.map = map;
      this.markMap();
      this.maps.replaceChildren(element);
      requestAnimationFrame(() => map.draw());
    }
    markMap() {
      if (!this.map) return;
      this.map.selected = new Set(this.chosen);
      this.map.selectedIpu = this.ipu;
    }
    async drawCharts() {
      const mine = ++this.turn;
      this.drawn = [];
      if (this.ipu < 0) {
        this.charts.replaceChildren(note("Select one IPU to see its tiles."));
        return;
      }
      const [a, b] = await bothTiles(this.context, this.ipu, this.by);
      if (mine !== this.turn) return;
      const made3 = [a, ...b ? [b] : []].map((answer) => [answer, bands(answer, this.by)]);
      let most = 0;
      for (const [, series] of made3) {
        for (let i = 0; i < a.tiles; i++)
          most = Math.max(
            most,
            series.reduce((sum2, each) => sum2 + (each.values[i] ?? 0), 0)
          );
      }
      this.charts.replaceChildren(
        ...made3.map(
          ([answer, series], index) => this.chart(answer, series, index > 0, b !== null, axisTop(most, a.room))
        )
      );
      this.markCharts();
    }
    chart(answer, series, later, compared2, most) {
      const which = compared2 ? later ? "After: " : "Before: " : "";
      const chart = new StackedChart({
        label: `Bytes on each tile of IPU ${this.ipu} by ${this.by}`,
        height: compared2 ? 240 : 320,
        end: answer.tiles,
        axis: "tile",
        dragging: "select",
        limit: { value: answer.room, name: `memory of a tile: ${bytes(answer.room)}` },
        most,
        format: bytes,
        title: (at) => `tile ${whole(Math.floor(at))}`,
        onclick: (at, event) => this.select(event.shiftKey ? [.../* @__PURE__ */ new Set([...this.chosen, at])].sort((x, y) => x - y) : [at]),
        onselect: (first, last) => this.select(Array.from({ length: last - first + 1 }, (_, n) => first + n)),
        onwindow: (low, high) => {
          if (!later)
            this.context.state.set({
              from: low > 0 ? Math.floor(low) : null,
              to: high < answer.tiles ? Math.ceil(high) : null
            });
        }
      });
      chart.setData({ first: 0, group: 1, series });
      const state = this.context.state;
      if (state.get("from") || state.get("to"))
        chart.window(state.number("from", 0, 0), state.number("to", answer.tiles, 1, answer.tiles));
      const full = this.summary.ipus[this.ipu];
      if (!later)
        chart.marks = [
          {
            at: Number(full?.fullest ?? -1),
            name: `fullest: tile ${whole(Number(full?.fullest ?? 0))}`,
            dashed: true
          }
        ];
      this.drawn.push(chart);
      const shown = series.filter((each) => each.values.some((value) => value > 0));
      const title = `${which}Bytes on each tile of IPU ${this.ipu} at its fullest moment, by ${this.by}`;
      return card(
        title,
        chart.element,
        el(
          "div",
          { class: "controls key" },
          legend(shown.map((each) => [each.name, each.colour])),
          el("span", { class: "spring" }),
          this.zooms(chart),
          saveButton(
            () => chart.canvas,
            () => title,
            () => shown.map((each) => [each.name, each.colour])
          )
        ),
        later ? null : note(
          `Fullest at ${full?.peakOp ?? "?"} (${full?.peakPhase ?? "?"}): ${whole(Number(full?.max ?? 0))} of ${whole(answer.room)} bytes. Click or drag to select tiles; + and \u2212 zoom.`
        )
      );
    }
    zooms(chart) {
      return el(
        "span",
        { class: "zooms" },
        button("+", () => chart.zoom(0.5), { class: "small", "aria-label": "Zoom in" }),
        button("\u2212", () => chart.zoom(2), { class: "small", "aria-label": "Zoom out" }),
        button("All", () => chart.window(0, Infinity), { class: "small" })
      );
    }
    markCharts() {
      const ranges = tileRanges(this.chosen);
      for (const chart of this.drawn) {
        chart.selected = ranges;
        chart.draw();
      }
    }
    select(tiles3, redrawAll = false) {
      this.chosen = tiles3.slice(0, MOST_SELECTED);
      this.input.value = tileText(this.chosen);
      this.context.state.set({ tiles: tileText(this.chosen) });
      if (redrawAll) {
        void this.redraw();
        return;
      }
      this.markMap();
      this.map?.draw();
      this.markCharts();
      void this.drawDetails();
    }
    async drawDetails() {
      const mine = this.turn, tiles3 = this.chosen;
      if (this.ipu < 0 || !tiles3.length) {
        this.details.replaceChildren(
          ...this.ipu < 0 ? [] : [note("Please select a tile: click the map or the chart, or type its number.")]
        );
        return;
      }
      const made3 = await Promise.all([
        usageCard(this.context, this.ipu, this.by, tiles3),
        variablesCard(this.context, this.ipu, tiles3)
      ]);
      if (mine === this.turn && tiles3 === this.chosen) this.details.replaceChildren(...made3);
    }
  };
  var memoryView = {
    id: "memory",
    title: "Memory",
    lead: "What each tile holds when its IPU is fullest. The fullest tile decides whether the program fits.",
    key: "m",
    async render(host, context) {
      const [map, other] = await context.both("tile_map");
      if (!map.ipus) {
        host.append(note("This report has no memory data."));
        return;
      }
      const summary = await context.json("summary");
      const wanted = context.state.number("variable", -1);
      if (wanted >= 0) await showVariable(context, wanted);
      await new Memory(host, context, map, other, summary).show();
    }
  };
  async function showVariable(context, id) {
    const found = await context.frame(
      "variables",
      ["id", "ipu", "first_tile", "tiles"],
      context.source.served ? id : 0,
      context.source.served ? 1 : void 0
    );
    const at = found.columns.id.indexOf(id);
    if (at < 0) return;
    const value = (name) => found.columns[name][at];
    const first = Math.max(0, value("first_tile")), count = Math.max(1, value("tiles"));
    context.state.set({
      ipu: value("ipu"),
      tiles: count > 1 ? `${first}-${first + count - 1}` : String(first),
      variable: null
    });
  }

  // src/flame.ts
  var HIGH = 24;
  var Flame = class {
    constructor(rows) {
      this.rows = rows;
      this.kids = rows.map(() => []);
      rows.forEach((row2, id) => {
        if (row2[1] >= 0) this.kids[row2[1]]?.push(id);
      });
      this.cycles = rows.map((row2) => row2[2] + row2[3] + row2[4]);
      const box = el(
        "div",
        {
          class: "chart",
          tabindex: "0",
          role: "img",
          "aria-label": "Cycles by module; choose a layer above for the same figures as a table"
        },
        this.canvas
      );
      this.back = button("Back to all", () => this.zoom(0), { class: "small", disabled: true });
      this.element = el(
        "div",
        {},
        box,
        el(
          "div",
          { class: "controls key" },
          this.back,
          el("span", { class: "label", text: "Click a box to enlarge it." })
        )
      );
      const at = (event) => {
        const area = this.canvas.getBoundingClientRect(), x = event.clientX - area.left, level = Math.floor((event.clientY - area.top) / HIGH);
        return this.boxes.find((each) => each.level === level && x >= each.x && x < each.x + each.wide);
      };
      box.addEventListener("pointermove", (event) => this.point(at(event)?.id ?? -1, event.clientX, event.clientY));
      box.addEventListener("pointerleave", () => this.point(-1, 0, 0));
      box.addEventListener("click", (event) => {
        const found = at(event);
        if (found) this.zoom(found.id);
      });
      box.addEventListener("keydown", (event) => {
        if (event.key === "Escape" && this.top) {
          event.stopPropagation();
          this.zoom(0);
        }
      });
    }
    rows;
    canvas = el("canvas", { "aria-hidden": "true" });
    element;
    kids;
    cycles;
    boxes = [];
    top = 0;
    hover = -1;
    back;
    path(id) {
      const found = [];
      for (let at = id; at > 0; at = this.rows[at][1]) found.unshift(this.rows[at][0]);
      return found;
    }
    zoom(id) {
      this.top = id;
      this.back.disabled = id === 0;
      hideTip();
      this.draw();
    }
    point(id, x, y) {
      if (id !== this.hover) {
        this.hover = id;
        this.draw();
      }
      const row2 = this.rows[id];
      if (!row2) {
        hideTip();
        return;
      }
      showTip(x, y, id ? this.path(id).join(".") : "all ops and the host", [
        ["cycles of work", whole(this.cycles[id])],
        ["of all", percent(this.cycles[id], this.cycles[0])],
        ["forward", whole(row2[2])],
        ["backward", whole(row2[3])],
        ["update, host and rest", whole(row2[4])],
        ["ops", whole(row2[5])]
      ]);
    }
    draw() {
      if (!this.rows.length) return;
      const width = Math.max(280, this.canvas.parentElement.clientWidth);
      this.boxes = [];
      let deepest = 0;
      const put = (id, level, x, wide) => {
        if (wide < 1 || level > 24) return;
        deepest = Math.max(deepest, level);
        this.boxes.push({ id, level, x, wide });
        const all = this.cycles[id];
        for (const kid of this.kids[id]) {
          const part2 = all ? wide * this.cycles[kid] / all : 0;
          put(kid, level + 1, x, part2);
          x += part2;
        }
      };
      put(this.top, 0, 0, width);
      const pen = fitted(this.canvas, width, (deepest + 1) * HIGH);
      for (const { id, level, x, wide } of this.boxes) {
        pen.fillStyle = id ? hue(id) : "#c3cad6";
        pen.globalAlpha = id === this.hover ? 0.75 : 1;
        pen.fillRect(x, level * HIGH, Math.max(0.5, wide - 1), HIGH - 1);
        pen.globalAlpha = 1;
        if (wide > 22) {
          pen.fillStyle = "#14181f";
          pen.fillText(
            cutText(pen, shortened(id ? this.rows[id][0] : "all ops and the host", 200), wide - 9),
            x + 5,
            level * HIGH + HIGH / 2
          );
        }
      }
    }
  };

  // src/sharebar.ts
  function shareBar(parts, format) {
    const total = parts.reduce((sum2, part2) => sum2 + part2[1], 0);
    const bar = el("div", { class: "share", role: "img", "aria-label": "shares of the total" });
    for (const [name, value, colour] of parts) {
      if (value <= 0 || !total) continue;
      const piece = el("div", {}, value > 0.12 * total ? el("span", { text: `${name} ${percent(value, total)}` }) : null);
      piece.style.flexGrow = String(value / total);
      piece.style.background = colour;
      piece.addEventListener(
        "pointermove",
        (event) => showTip(event.clientX, event.clientY, name, [
          ["value", format(value)],
          ["share", percent(value, total)]
        ])
      );
      piece.addEventListener("pointerleave", hideTip);
      bar.append(piece);
    }
    return el(
      "div",
      {},
      bar,
      legend(
        parts.filter((part2) => part2[1] > 0).map(([name, value, colour]) => [
          name,
          colour,
          `${format(value)} (${percent(value, total)})`
        ])
      )
    );
  }

  // src/why.ts
  function whyBlock(why) {
    const line = (key, value) => value ? el("p", {}, el("span", { class: "key", text: key }), value) : null;
    return el(
      "div",
      { class: "why" },
      line("", why.plan),
      line("= ", why.formula),
      line("with ", why.figures.map(([name, value]) => `${name} ${compact(value)}`).join(", ")),
      line("source: ", why.source),
      ...why.rejected.map(([plan, cycles, reason]) => line("not taken: ", `${plan}: ${whole(cycles)} cycles, ${reason}`)),
      ...why.parts.map(whyBlock)
    );
  }

  // src/op_details.ts
  async function opDetails(context, report, op) {
    let plan = null;
    if (op.plan >= 0) {
      try {
        plan = await context.source.json(report, "reason", { plan: op.plan });
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
      }
    }
    const facts = [
      ["computes", op.target],
      ["pass", op.phase],
      ["module", op.module || "\u2013"],
      ["source", op.source ? `${op.source}${op.fn ? ` in ${op.fn}` : ""}` : "\u2013"],
      ["where", `IPU ${op.ipu}, stage ${op.stage}`],
      ["runs per step", whole(op.runs)],
      ["cycles per step", whole(op.cycles)],
      [
        "FLOP per step",
        op.flops ? `${compact(op.flops)}, ${compact(op.cycles ? op.flops / op.cycles : 0)} per cycle` : "\u2013"
      ],
      ["temporaries on the fullest tile", bytes(op.temporary)],
      ...op.merged > 1 ? [["stands for", `${whole(op.merged)} equal ops`]] : [],
      ...plan ? plan.code.filter((part2) => part2[1]).map(([name, size]) => [`${name} on the fullest tile`, bytes(size)]) : []
    ];
    return el(
      "div",
      {},
      shareBar(
        [
          ["compute", op.compute, WORK.compute],
          ["exchange", op.exchange, WORK.exchange],
          ["sync", op.sync, WORK.sync]
        ],
        (cycles) => `${whole(cycles)} cycles`
      ),
      el(
        "div",
        { class: "columns" },
        plainTable("facts", [["what"], ["value"]], facts),
        el(
          "div",
          {},
          el("h4", { text: "Why it costs this much" }),
          op.unknown ? el("p", { class: "bad", text: "No planner knows this op. A fallback estimated its cost." }) : null,
          plan ? whyBlock(plan.why) : note(
            op.plan < 0 ? "This op has no plan of its own." : "Its plan is in the file, not on this page: tremula view FILE --op NAME"
          )
        )
      ),
      plan?.steps.length ? plainTable(
        "supersteps",
        [
          ["superstep"],
          ["times", true],
          ["slowest tile", true],
          ["mean tile", true],
          ["balance", true],
          ["exchange", true],
          ["sync", true],
          ["tiles that compute", true],
          ["that wait", true]
        ],
        plan.steps.map(([name, times, slowest, mean, exchange, sync, active, idle]) => [
          name,
          whole(times ?? 0),
          whole(slowest ?? 0),
          whole(mean ?? 0),
          percent(mean ?? 0, slowest ?? 0),
          whole(exchange ?? 0),
          whole(sync ?? 0),
          whole(active ?? 0),
          whole(idle ?? 0)
        ])
      ) : null
    );
  }

  // src/ops.ts
  var COLUMNS3 = [
    "id",
    "name",
    "target",
    "phase",
    "module",
    "source",
    "source_function",
    "ipu",
    "stage",
    "runs",
    "merged",
    "compute_cycles",
    "exchange_cycles",
    "sync_cycles",
    "cycles",
    "flops",
    "temporary_bytes",
    "code_bytes",
    "plan_id",
    "unknown"
  ];
  async function loadOps(source, report) {
    const { columns, rows, total } = await source.frame(report, "ops", COLUMNS3);
    const text3 = (name, row2) => columns[name][row2] ?? "";
    const number = (name, row2) => columns[name][row2] ?? 0;
    const made3 = [];
    for (let row2 = 0; row2 < rows; row2++) {
      made3.push({
        id: number("id", row2),
        name: text3("name", row2),
        target: text3("target", row2),
        phase: text3("phase", row2),
        module: text3("module", row2),
        source: text3("source", row2),
        fn: text3("source_function", row2),
        ipu: number("ipu", row2),
        stage: number("stage", row2),
        runs: number("runs", row2),
        merged: number("merged", row2),
        compute: number("compute_cycles", row2),
        exchange: number("exchange_cycles", row2),
        sync: number("sync_cycles", row2),
        cycles: number("cycles", row2),
        flops: number("flops", row2),
        temporary: number("temporary_bytes", row2),
        code: number("code_bytes", row2),
        plan: number("plan_id", row2),
        unknown: number("unknown", row2)
      });
    }
    return [made3, total];
  }
  function shortName(name) {
    return name.slice(name.lastIndexOf("/") + 1) || name;
  }

  // src/op_tables.ts
  var GROUPS = [
    "single ops",
    "layer (1 name of the module)",
    "layer (2 names)",
    "layer (3 names)",
    "module",
    "kind of op",
    "pass",
    "source line"
  ];
  function groupOf(op, by) {
    const mark = op.module.includes("/") ? "/" : ".";
    if (by >= 1 && by <= 3) return op.module.split(mark).slice(0, by).join(mark) || "(outside modules)";
    if (by === 4) return op.module || "(outside modules)";
    if (by === 5) return op.target;
    if (by === 6) return op.phase;
    return op.source || "(unknown)";
  }
  var text2 = (op) => `${op.name}\0${op.target}\0${op.module}\0${op.source}\0${op.phase}`.toLowerCase();
  var work = (flops) => flops ? compact(flops) : "\u2013";
  function remembered(state, columns, sort) {
    return {
      sort: state.number("sort", sort, 0, columns - 1),
      ...state.get("up") ? { up: state.get("up") === "1" } : {},
      wanted: state.get("find"),
      onfilter: (found) => state.set({ find: found }),
      onsort: (column2, up) => state.set({ sort: column2, up: up ? 1 : 0 })
    };
  }
  function opTable(ops, all, left, state, pick2) {
    const columns = [
      { title: "op", value: (op) => shortName(op.name), width: "minmax(9rem, 2fr)" },
      { title: "computes", value: (op) => op.target, width: "minmax(7rem, 1fr)" },
      { title: "module", value: (op) => op.module, width: "minmax(8rem, 1.5fr)" },
      { title: "pass", value: (op) => op.phase, width: "minmax(5rem, 6.5rem)" },
      numberColumn("IPU", (op) => op.ipu, String, "3.2rem"),
      numberColumn("cycles per step", (op) => op.cycles, whole, "8.5rem"),
      numberColumn(
        "share",
        (op) => op.cycles,
        (cycles) => percent(cycles, all),
        "4.5rem"
      ),
      numberColumn(
        "exchange",
        (op) => op.cycles ? op.exchange / op.cycles : 0,
        (share2) => percent(share2, 1),
        "5.2rem",
        "share of its cycles"
      ),
      numberColumn("FLOP", (op) => op.flops, work, "5rem"),
      numberColumn("code", (op) => op.code, bytes, "5.5rem", "of its plan, on the fullest tile"),
      { title: "source", value: (op) => op.source.replace(/^.*[\\/]/, ""), width: "minmax(7rem, 1fr)" }
    ];
    return new DataTable(columns, {
      name: "ops",
      filter: text2,
      placeholder: "Filter: name, kind, module, file, pass (f)",
      pick: pick2,
      ...remembered(state, columns.length, 5),
      ...left ? { note: left } : {}
    }).setRows(ops).element;
  }
  function opPairTable(before, after, cut, state, pick2) {
    const known2 = (pair) => !cut || pair.before !== null && pair.after !== null;
    const cycles = (op) => op?.cycles ?? 0;
    const one = (pair) => pair.before ?? pair.after;
    const by = (pair) => cycles(pair.after) - cycles(pair.before);
    const columns = [
      { title: "op", value: (pair) => shortName(one(pair).name), width: "minmax(9rem, 2fr)" },
      { title: "computes", value: (pair) => one(pair).target },
      { title: "module", value: (pair) => one(pair).module, width: "minmax(8rem, 1.5fr)" },
      { title: "pass", value: (pair) => one(pair).phase, width: "minmax(5rem, 6.5rem)" },
      numberColumn(
        "cycles before",
        (pair) => cycles(pair.before),
        (value, pair) => pair.before ? whole(value) : "\u2013",
        "8.5rem"
      ),
      numberColumn(
        "cycles after",
        (pair) => cycles(pair.after),
        (value, pair) => pair.after ? whole(value) : "\u2013",
        "8.5rem"
      ),
      {
        title: "difference",
        number: true,
        value: (pair) => known2(pair) ? Math.abs(by(pair)) : 0,
        width: "11rem",
        cell: (pair) => el("span", {
          class: by(pair) > 0 ? "bad" : by(pair) < 0 ? "good" : "",
          text: known2(pair) ? delta(cycles(pair.before), cycles(pair.after), compact) : "only the largest ops are here"
        })
      }
    ];
    return new DataTable(columns, {
      name: "ops matched by name",
      filter: (pair) => text2(one(pair)),
      pick: (pair) => pick2(one(pair), pair.before === null),
      ...remembered(state, columns.length, 6)
    }).setRows(paired(before, after, (op) => `${op.name}\0${op.phase}`)).element;
  }
  function groups(ops, others, by) {
    const found = /* @__PURE__ */ new Map();
    const group = (op) => {
      const name = groupOf(op, by);
      const made3 = found.get(name) ?? { name, ops: 0, before: 0, after: 0, flops: 0, code: 0, exchange: 0 };
      found.set(name, made3);
      return made3;
    };
    for (const op of ops) {
      const mine = group(op);
      mine.ops += op.merged;
      mine.before += op.cycles;
      mine.flops += op.flops;
      mine.exchange += op.exchange;
      mine.code = Math.max(mine.code, op.code);
    }
    for (const op of others ?? []) group(op).after += op.cycles;
    return [...found.values()];
  }
  function groupTable(ops, others, by, all, pick2) {
    const columns = [
      { title: GROUPS[by], value: (group) => group.name, width: "minmax(12rem, 3fr)" },
      numberColumn("ops", (group) => group.ops, whole, "5rem"),
      numberColumn(others ? "cycles before" : "cycles per step", (group) => group.before, whole, "9.5rem"),
      ...others ? [
        numberColumn("cycles after", (group) => group.after, whole, "9.5rem"),
        numberColumn(
          "difference",
          (group) => Math.abs(group.after - group.before),
          (_, group) => delta(group.before, group.after, compact),
          "11rem"
        )
      ] : [
        numberColumn(
          "share",
          (group) => group.before,
          (cycles) => percent(cycles, all),
          "5rem"
        ),
        numberColumn(
          "exchange",
          (group) => group.before ? group.exchange / group.before : 0,
          (share2) => percent(share2, 1),
          "6rem"
        ),
        numberColumn("FLOP", (group) => group.flops, work, "6rem"),
        numberColumn("largest code", (group) => group.code, bytes, "7rem")
      ]
    ];
    return new DataTable(columns, {
      name: "groups",
      filter: (group) => group.name.toLowerCase(),
      sort: others ? 4 : 2,
      pick: (group) => pick2(group.name)
    }).setRows(groups(ops, others, by)).element;
  }

  // src/roofline.ts
  var LEFT2 = 62;
  var RIGHT2 = 16;
  var TOP2 = 16;
  var BOTTOM2 = 40;
  var Roofline = class {
    constructor(dots, options2) {
      this.options = options2;
      this.dots = dots.filter((dot) => dot.flops > 0 && dot.cycles > 0).map((dot) => ({ ...dot, x: dot.exchange > 0 ? dot.flops / dot.exchange : Infinity, y: dot.flops / dot.cycles }));
      const xs = this.dots.map((dot) => dot.x).filter(Number.isFinite), ys = this.dots.map((dot) => dot.y);
      const bound = (values, pickOne, missing) => values.reduce((best, value) => pickOne(best, value), missing);
      this.lowX = Math.max(1e-3, options2.peak / 1e5, bound(xs, Math.min, 1e9) / 2);
      this.highX = Math.max(this.lowX * 10, bound(xs, Math.max, options2.peak || 1) * 2, (options2.peak || 1) * 4);
      this.lowY = Math.max(1e-3, options2.peak / 1e6, bound(ys, Math.min, 1e9) / 2);
      this.highY = Math.max(this.lowY * 10, options2.peak * 1.8, bound(ys, Math.max, 1) * 1.5);
      this.element = el(
        "div",
        {
          class: "chart",
          tabindex: "0",
          role: "img",
          "aria-label": "Roofline: floating-point operations per cycle against those per cycle of exchange; the table below has the same figures"
        },
        this.canvas
      );
      this.element.addEventListener("pointermove", (event) => this.point(this.near(event), event.clientX, event.clientY));
      this.element.addEventListener("pointerleave", () => this.point(-1, 0, 0));
      this.element.addEventListener("click", (event) => {
        const at = this.near(event);
        if (at >= 0) this.options.onpick(this.dots[at].row);
      });
      this.element.addEventListener("keydown", (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by && this.dots.length) {
          const at = (this.hover + by + this.dots.length) % this.dots.length, area = this.canvas.getBoundingClientRect();
          const dot = this.dots[at];
          this.point(at, area.left + this.sx(dot.x), area.top + this.sy(dot.y));
        } else if (event.key === "Enter" && this.hover >= 0) this.options.onpick(this.dots[this.hover].row);
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
    options;
    canvas = el("canvas", { "aria-hidden": "true" });
    element;
    chosen = -1;
    dots;
    lowX;
    highX;
    lowY;
    highY;
    hover = -1;
    get count() {
      return this.dots.length;
    }
    sx(value) {
      const wide = this.canvas.clientWidth - LEFT2 - RIGHT2;
      const at = Number.isFinite(value) ? (Math.log(value) - Math.log(this.lowX)) / (Math.log(this.highX) - Math.log(this.lowX)) : 1;
      return LEFT2 + Math.max(0, Math.min(1, at)) * wide;
    }
    sy(value) {
      const high = this.canvas.clientHeight - TOP2 - BOTTOM2;
      const at = (Math.log(value) - Math.log(this.lowY)) / (Math.log(this.highY) - Math.log(this.lowY));
      return TOP2 + high - Math.max(0, Math.min(1, at)) * high;
    }
    size(dot, all) {
      return 2.5 + 16 * Math.sqrt(dot.cycles / all);
    }
    draw() {
      const width = Math.max(280, this.element.clientWidth), height = 360;
      const pen = fitted(this.canvas, width, height);
      const soft = themed("--soft");
      pen.strokeStyle = themed("--grid");
      pen.fillStyle = soft;
      for (let power = Math.ceil(Math.log10(this.lowX)); 10 ** power <= this.highX; power++) {
        const x = this.sx(10 ** power);
        pen.beginPath();
        pen.moveTo(x, TOP2);
        pen.lineTo(x, height - BOTTOM2);
        pen.stroke();
        pen.textAlign = "center";
        pen.fillText(compact(10 ** power), x, height - BOTTOM2 + 13);
      }
      for (let power = Math.ceil(Math.log10(this.lowY)); 10 ** power <= this.highY; power++) {
        const y = this.sy(10 ** power);
        pen.beginPath();
        pen.moveTo(LEFT2, y);
        pen.lineTo(width - RIGHT2, y);
        pen.stroke();
        pen.textAlign = "right";
        pen.fillText(compact(10 ** power), LEFT2 - 7, y);
      }
      pen.textAlign = "center";
      pen.fillText(
        "FLOP per cycle of exchange (to the right: less exchange)",
        LEFT2 + (width - LEFT2 - RIGHT2) / 2,
        height - 9
      );
      pen.save();
      pen.translate(11, TOP2 + (height - TOP2 - BOTTOM2) / 2);
      pen.rotate(-Math.PI / 2);
      pen.fillText("FLOP per cycle, whole IPU", 0, 0);
      pen.restore();
      const all = this.dots.reduce((most, dot) => Math.max(most, dot.cycles), 1);
      for (const [index, dot] of this.dots.entries()) {
        pen.globalAlpha = 0.7;
        pen.fillStyle = dot.colour;
        pen.beginPath();
        pen.arc(this.sx(dot.x), this.sy(dot.y), this.size(dot, all), 0, 7);
        pen.fill();
        pen.globalAlpha = 1;
        if (index === this.hover || dot.row === this.chosen) {
          pen.strokeStyle = themed("--ink");
          pen.lineWidth = 2;
          pen.stroke();
          pen.lineWidth = 1;
        }
      }
      const peak = this.options.peak || Infinity, corner = Math.min(peak, this.highY);
      pen.strokeStyle = themed("--bad");
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(this.sx(Math.max(this.lowX, this.lowY)), this.sy(Math.max(this.lowX, this.lowY)));
      pen.lineTo(this.sx(corner), this.sy(corner));
      if (Number.isFinite(peak)) pen.lineTo(width - RIGHT2, this.sy(peak));
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = themed("--bad");
      if (Number.isFinite(peak)) {
        pen.textAlign = "right";
        pen.fillText(
          width > 640 ? this.options.peakName : `peak: ${compact(peak)} FLOP per cycle`,
          width - RIGHT2 - 2,
          this.sy(peak) - 9
        );
      }
    }
    near(event) {
      const area = this.canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
      let best = -1, nearest = 14 * 14;
      const all = this.dots.reduce((most, dot) => Math.max(most, dot.cycles), 1);
      this.dots.forEach((dot, index) => {
        const far = Math.max(0, Math.hypot(this.sx(dot.x) - x, this.sy(dot.y) - y) - this.size(dot, all)) ** 2;
        if (far < nearest) {
          nearest = far;
          best = index;
        }
      });
      return best;
    }
    point(at, x, y) {
      this.hover = at;
      this.draw();
      const dot = this.dots[at];
      if (!dot) {
        hideTip();
        return;
      }
      showTip(x, y, dot.name, [
        ["FLOP per cycle", compact(dot.y)],
        ...this.options.peak ? [["of the peak", percent(dot.y, this.options.peak)]] : [],
        ["FLOP per cycle of exchange", Number.isFinite(dot.x) ? compact(dot.x) : "no exchange"],
        ["cycles per step", whole(dot.cycles)],
        ["of all ops", this.options.share(dot.cycles)]
      ]);
    }
  };

  // src/roofline_card.ts
  var HALF_PEAK = { mk1: 64, mk2: 128, bow: 128, c600: 128 };
  var MOST_DOTS = 3e3;
  var MOST_KINDS = 7;
  var OTHERS = "#c3cad6";
  function rooflineCard(ops, target2, onpick) {
    const chip = String(target2.chip);
    const each = Object.hasOwn(HALF_PEAK, chip) ? HALF_PEAK[chip] : 0;
    const peak = each * Number(target2.tiles_per_ipu);
    const all = ops.reduce((sum2, op) => sum2 + op.cycles, 0);
    const kinds = /* @__PURE__ */ new Map();
    for (const op of ops) if (op.flops > 0) kinds.set(op.target, (kinds.get(op.target) ?? 0) + op.cycles);
    const ranked = [...kinds].sort((a, b) => b[1] - a[1]).slice(0, MOST_KINDS).map((kind) => kind[0]);
    const colour = (op) => ranked.includes(op.target) ? hue(ranked.indexOf(op.target)) : OTHERS;
    const dots = [...ops].sort((a, b) => b.cycles - a.cycles).slice(0, MOST_DOTS).map(({ name, flops, cycles, exchange, id }, index, sorted) => ({
      name,
      flops,
      cycles,
      exchange,
      colour: colour(sorted[index]),
      row: id
    }));
    const roof = new Roofline(dots, {
      peak,
      peakName: `peak of the matrix engine, half precision: ${compact(peak)} FLOP per cycle`,
      share: (cycles) => percent(cycles, all),
      onpick: (row2) => {
        const op = ops.find((found) => found.id === row2);
        if (op) onpick(op);
      }
    });
    if (!roof.count) return null;
    const colours = ranked.map((kind, index) => [kind, hue(index)]);
    if (kinds.size > ranked.length) colours.push(["others", OTHERS]);
    const flat = peak ? "on the flat part the matrix engine is always busy" : "and the peak of this chip is not known here";
    const element = el(
      "details",
      { class: "card", open: true },
      el("summary", {}, el("b", { text: "Roofline: how close ops come to the peak of the chip" })),
      roof.element,
      el(
        "div",
        { class: "controls key" },
        legend(colours),
        el("span", { class: "spring" }),
        saveButton(
          () => roof.canvas,
          () => "Roofline",
          () => colours
        )
      ),
      note(
        `One dot for each op with floating-point work; its size is its share of the cycles. An op cannot lie above the dashed line: on the slope all its time is exchange between tiles, ${flat}. Ops low on the right are bound by neither: see their plan. Dots at an edge lie beyond it; those at the right have no exchange.`
      )
    );
    return { roof, element };
  }

  // src/operations_view.ts
  var Operations = class {
    constructor(context, ops, others, total, cut) {
      this.context = context;
      this.ops = ops;
      this.others = others;
      this.total = total;
      this.cut = cut;
      this.all = ops.reduce((sum2, op) => sum2 + op.cycles, 0);
    }
    context;
    ops;
    others;
    total;
    cut;
    table = el("div", {});
    details = el("div", { class: "opdetails" });
    all;
    roof = null;
    show(host, summary, modules) {
      const { state } = this.context;
      const by = state.number("by", 0, 0, GROUPS.length - 1);
      const choose = choice("Show", GROUPS, by, (index) => {
        state.set({ by: index || null, of: null, sort: null, up: null });
        this.fill();
      });
      host.append(el("div", { class: "controls sticky" }, choose));
      if (!this.others) {
        this.flame(host, modules);
        this.roofline(host, summary);
      }
      host.append(el("section", { class: "card" }, this.table), this.details);
      this.fill();
      const wanted = state.number("op", -1);
      const op = this.ops.find((each) => each.id === wanted);
      if (op) this.pick(op);
    }
    flame(host, modules) {
      if (modules.length < 2) return;
      const flame = new Flame(modules);
      const title = el("b", { text: "Cycles by module" });
      host.append(el("details", { class: "card", open: true }, el("summary", {}, title), flame.element));
      this.context.redraw(() => flame.draw());
    }
    roofline(host, summary) {
      const made3 = rooflineCard(this.ops, summary.target, (op) => this.pick(op));
      if (!made3) return;
      this.roof = made3.roof;
      host.append(made3.element);
      this.context.redraw(() => made3.roof.draw());
    }
    // all groups, the ops of one group, or all ops
    fill() {
      const { state } = this.context;
      const by = state.number("by", 0, 0, GROUPS.length - 1);
      const of = by ? state.get("of") : "";
      if (by && !of) {
        const table = groupTable(this.ops, this.others, by, this.all, (name) => {
          state.set({ of: name, sort: null, up: null }, true);
          this.fill();
        });
        this.table.replaceChildren(table, note("Click a row to list its ops."));
        return;
      }
      const chosen = (ops) => of ? ops.filter((op) => groupOf(op, by) === of) : ops;
      const back = button("Back to all groups", () => {
        state.set({ of: null, sort: null, up: null }, true);
        this.fill();
      });
      const left = this.total > this.ops.length ? `the largest of ${whole(this.total)}` : "";
      this.table.replaceChildren(
        ...of ? [el("div", { class: "controls" }, el("b", { text: of }), back)] : [],
        this.others ? opPairTable(chosen(this.ops), chosen(this.others), this.cut, state, (op, later) => this.pick(op, later)) : opTable(chosen(this.ops), this.all, left, state, (op) => this.pick(op))
      );
    }
    pick(op, later = false) {
      this.context.state.set({ op: op.id });
      if (this.roof) {
        this.roof.chosen = op.id;
        this.roof.draw();
      }
      const close = () => {
        this.details.replaceChildren();
        this.context.state.set({ op: null });
      };
      const report = later && this.context.other ? this.context.other.id : this.context.report.id;
      void opDetails(this.context, report, op).then((made3) => {
        this.details.replaceChildren(card(op.name, button("Close", close, { class: "small" }), made3));
        this.details.scrollIntoView({ block: "nearest" });
      });
    }
  };
  var operationsView = {
    id: "operations",
    title: "Operations",
    lead: "Every op with its cycles, its plan, the reasons for its cost and your line of code.",
    key: "o",
    async render(host, context) {
      const [[ops, total], others, summary, tree] = await Promise.all([
        loadOps(context.source, context.report.id),
        context.other ? loadOps(context.source, context.other.id) : null,
        context.json("summary"),
        context.json("modules")
      ]);
      if (!ops.length) {
        host.append(note("This report has no ops."));
        return;
      }
      const cut = total > ops.length || others !== null && others[1] > others[0].length;
      new Operations(context, ops, others ? others[0] : null, total, cut).show(host, summary, tree.modules);
      if (total > ops.length)
        host.append(
          note(
            `This page holds the ${plural(ops.length, "op")} with the most cycles. \u201Ctremula view --serve\u201D shows all ${whole(total)}.`
          )
        );
    }
  };

  // src/pipeline_view.ts
  var FORWARD = "#7ab8e6";
  var BACKWARD = "#e58fa0";
  function turnsChart(data, span, context) {
    const ipus = [...new Set(data.stages.map((stage) => stage[1]))].sort((a, b) => a - b);
    const box = el("div", { class: "chart", role: "img", "aria-label": "First turns of the pipeline" });
    const last = data.turns.at(-1);
    const end = last ? last[0] + last[1] : 1;
    const backward = new Set(data.stages.filter((stage) => stage[5] > stage[3]).map((stage) => stage[0]));
    context.redraw(() => {
      const width = Math.max(480, box.clientWidth || 900), left = 56, high = 34, height = ipus.length * high + 26;
      const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height });
      const sx = (cycles) => left + (width - left - 6) * cycles / end;
      ipus.forEach((ipu, index) => root.append(svg("text", { x: 0, y: index * high + 21 }, `IPU ${ipu}`)));
      data.turns.forEach(([start, , work2], number) => {
        root.append(svg("line", { x1: sx(start), x2: sx(start), y1: 0, y2: ipus.length * high, class: "grid" }));
        for (const [ipu, stage, batch, offset, spent] of work2) {
          const x = sx(start + offset), wide = Math.max(0.8, sx(start + offset + spent) - x), y = ipus.indexOf(ipu) * high + 3;
          const rect = svg("rect", {
            x,
            y,
            width: wide,
            height: high - 6,
            rx: 2,
            class: "box",
            fill: backward.has(stage) ? BACKWARD : FORWARD
          });
          rect.addEventListener(
            "pointermove",
            (event) => showTip(event.clientX, event.clientY, `stage ${stage} on IPU ${ipu}`, [
              ["turn", whole(number)],
              ["micro-batch", whole(batch)],
              ["cycles", whole(spent)],
              ["time", span(spent)]
            ])
          );
          rect.addEventListener("pointerleave", hideTip);
          root.append(rect);
          if (wide > 26) root.append(svg("text", { x: x + 4, y: y + 18, class: "inside" }, String(batch)));
        }
      });
      for (let k = 0; k <= 4; k++) {
        root.append(
          svg(
            "text",
            { x: sx(end * k / 4), y: height - 4, "text-anchor": k === 4 ? "end" : k ? "middle" : "start" },
            span(end * k / 4)
          )
        );
      }
      box.replaceChildren(root);
    });
    return box;
  }
  async function part(host, context, report, label) {
    const [data, summary] = await Promise.all([
      context.source.json(report, "pipeline"),
      context.source.json(report, "summary")
    ]);
    const span = (cycles) => time(cycles / Number(summary.target.clock_hz));
    const of = label ? `${label}: ` : "";
    if (data.turns.length) {
      host.append(
        card(
          `${of}First ${plural(data.turns.length, "turn")}`,
          turnsChart(data, span, context),
          legend([
            ["mostly forward", FORWARD],
            ["mostly backward", BACKWARD]
          ]),
          note(
            "The numbers are micro-batches. A turn lasts until its busiest IPU has finished; then the IPUs exchange data. Gaps are bubbles: an IPU waits. The chart follows the schedule; it is not a recording."
          )
        )
      );
    } else
      host.append(
        note(`${of}This program is not a pipeline: its IPUs do not work on different micro-batches at the same time.`)
      );
    if (data.stages.length) {
      host.append(
        card(
          `${of}Stages`,
          plainTable(
            "stages",
            [
              ["stage", true],
              ["IPU", true],
              ["does"],
              ["forward", true],
              ["recomputed", true],
              ["backward", true],
              ["copied", true]
            ],
            data.stages.map(([stage, ipu, does, forward, again, back, copied]) => [
              whole(stage),
              whole(ipu),
              does.replaceAll(",", ", "),
              span(forward),
              span(again),
              span(back),
              bytes(copied)
            ])
          )
        )
      );
    }
    if (data.phases.length) {
      host.append(
        card(
          `${of}Fill, steady state and drain`,
          plainTable(
            "phases of the pipeline",
            [
              ["phase"],
              ["IPU", true],
              ["stage", true],
              ["turns", true],
              ["with work", true],
              ["cycles", true],
              ["busy", true]
            ],
            data.phases.map(([phase, ipu, stage, turns, active, elapsed, busy]) => [
              phase,
              whole(ipu),
              whole(stage),
              whole(turns),
              whole(active),
              whole(elapsed),
              percent(busy, elapsed)
            ])
          )
        )
      );
    }
    if (data.transfers.length) {
      host.append(
        card(
          `${of}Traffic beyond the chip`,
          plainTable(
            "transfers",
            [["what"], ["kind"], ["cycles per step", true], ["time", true], ["bytes", true], ["reason"]],
            data.transfers.map(([name, kind, cycles, size, why]) => [
              name,
              kind,
              whole(cycles),
              span(cycles),
              bytes(size),
              el("details", {}, el("summary", { text: "why" }), whyBlock(why))
            ])
          )
        )
      );
    }
  }
  var pipelineView = {
    id: "pipeline",
    title: "Pipeline",
    lead: "How micro-batches move through the stages, and the traffic between the IPUs and beyond.",
    key: "g",
    async render(host, context) {
      await part(host, context, context.report.id, context.other ? "Before" : "");
      if (context.other) await part(host, context, context.other.id, "After");
    }
  };

  // src/program_details.ts
  function programCard(context, found, label, hidden) {
    const [, type, kind, name, repeats, cycles, , children] = found.node;
    const rows = [
      ["type", type],
      ["kind", kind],
      ["cycles, all repeats", whole(cycles)],
      ["repeats", whole(repeats)],
      ["inside", plural(children, "program")]
    ];
    if (found.code_bytes) rows.push(["code on all tiles", bytes(found.code_bytes)]);
    if (found.compute_set)
      rows.push(
        ["compute set", found.compute_set[0]],
        ["vertices", whole(found.compute_set[1])],
        ["slowest tile", `${whole(found.compute_set[2])} cycles`]
      );
    const op = found.op;
    if (op) {
      rows.push(
        ["op", button(op[1], () => context.go("operations", { op: op[0] }), { class: "link" })],
        ["computes", op[2]]
      );
      if (op[3]) rows.push(["module", op[3]]);
      if (op[4]) rows.push(["source", el("code", { text: op[4] })]);
    }
    for (const [title, layer, file, fn, at] of found.context)
      rows.push([layer || "context", title + (file ? ` (${file}:${at}${fn ? ` in ${fn}` : ""})` : "")]);
    return card(
      label + name,
      plainTable("details", [["what"], ["value"]], rows),
      found.vertices.length ? plainTable(
        "vertices",
        [["vertex type"], ["count", true], ["tiles", true]],
        found.vertices.map(([vertex, count, tiles3]) => [vertex, whole(count), whole(tiles3)])
      ) : null,
      hidden > 0 ? note(`${plural(hidden, "smaller program")} inside ${hidden === 1 ? "is" : "are"} not on this page.`) : null
    );
  }

  // src/program_tree.ts
  var ServedTree = class {
    constructor(source, report) {
      this.source = source;
      this.report = report;
    }
    source;
    report;
    async children(node2) {
      const found = await this.source.json(this.report, "children", { node: node2 });
      while (found.children.length < Math.min(found.total, 2e4)) {
        const more = await this.source.json(this.report, "children", { node: node2, first: found.children.length });
        if (!more.children.length) break;
        found.children = [...found.children, ...more.children];
      }
      return found;
    }
    details(node2) {
      return this.source.json(this.report, "program_node", { node: node2 });
    }
    search(text3, after, back) {
      return this.source.json(this.report, "program_search", {
        text: text3,
        after,
        ...back ? { back: 1 } : {}
      });
    }
  };
  var HeldTree = class {
    constructor(source, report, columns) {
      this.source = source;
      this.report = report;
      this.columns = columns;
      const ids = columns.id, parents = columns.parent;
      ids.forEach((id, row2) => {
        this.rows.set(id, row2);
        const parent = parents[row2], list = this.below.get(parent);
        if (list) list.push(id);
        else this.below.set(parent, [id]);
      });
    }
    source;
    report;
    columns;
    rows = /* @__PURE__ */ new Map();
    below = /* @__PURE__ */ new Map();
    text(name, row2) {
      return this.columns[name][row2] ?? "";
    }
    number(name, row2) {
      return this.columns[name][row2] ?? 0;
    }
    node(id) {
      const row2 = this.rows.get(id) ?? 0;
      return [
        id,
        this.text("type_name", row2),
        this.text("kind", row2),
        this.text("name", row2),
        this.number("repeats", row2),
        this.number("cycles", row2),
        this.number("op_id", row2),
        this.number("children", row2)
      ];
    }
    path(node2) {
      const found = [];
      for (let at = node2; at >= 0 && this.rows.has(at) && found.length < 100; at = this.number("parent", this.rows.get(at)))
        found.unshift(at);
      return found;
    }
    children(node2) {
      const row2 = this.rows.get(node2), list = this.below.get(node2) ?? [];
      return Promise.resolve({
        total: row2 === void 0 ? list.length : this.number("children", row2),
        children: list.map((id) => this.node(id))
      });
    }
    async details(node2) {
      const row2 = this.rows.get(node2) ?? 0, op = this.number("op_id", row2);
      const found = {
        node: this.node(node2),
        path: this.path(node2),
        code_bytes: this.number("code_bytes", row2),
        compute_set: null,
        vertices: [],
        op: null,
        context: []
      };
      if (op >= 0) {
        const ops = await this.source.frame(this.report, "ops", ["id", "name", "target", "module", "source", "plan_id"]);
        const at = ops.columns.id.indexOf(op);
        const text3 = (name) => ops.columns[name][at];
        if (at >= 0)
          found.op = [
            op,
            text3("name"),
            text3("target"),
            text3("module"),
            text3("source"),
            ops.columns.plan_id[at]
          ];
      }
      const set = this.number("compute_set", row2);
      if (set >= 0) await this.vertices(found, set);
      return found;
    }
    async vertices(found, set) {
      const sets = await this.source.frame(this.report, "compute_sets", [
        "id",
        "name",
        "plan_id",
        "superstep",
        "vertices",
        "cycles"
      ]);
      const at = sets.columns.id.indexOf(set);
      if (at < 0) return;
      const of = (name) => sets.columns[name][at];
      found.compute_set = [sets.columns.name[at], of("vertices"), of("cycles")];
      const all = await this.source.frame(this.report, "vertices", [
        "plan_id",
        "superstep",
        "vertex_type",
        "count",
        "tiles"
      ]);
      const types = await this.source.frame(this.report, "vertex_types", ["name"]);
      const value = (name, row2) => all.columns[name][row2];
      for (let row2 = 0; row2 < all.rows; row2++) {
        if (value("plan_id", row2) === of("plan_id") && value("superstep", row2) === of("superstep")) {
          found.vertices.push([
            types.columns.name[value("vertex_type", row2)] ?? "",
            value("count", row2),
            value("tiles", row2)
          ]);
        }
      }
    }
    search(text3, after, back) {
      const wanted = text3.toLowerCase(), hits2 = [];
      this.columns.id.forEach((id, row2) => {
        if (this.text("name", row2).toLowerCase().includes(wanted) || this.text("type_name", row2).toLowerCase().includes(wanted))
          hits2.push(id);
      });
      if (!hits2.length) return Promise.resolve({ total: 0, place: 0, node: -1, path: [] });
      let place2 = back ? hits2.findLastIndex((id) => id < after) : hits2.findIndex((id) => id > after);
      if (place2 < 0) place2 = back ? hits2.length - 1 : 0;
      const node2 = hits2[place2];
      return Promise.resolve({ total: hits2.length, place: place2 + 1, node: node2, path: this.path(node2) });
    }
  };
  async function programTree(source, report) {
    if (source.served) return new ServedTree(source, report);
    const frame = await source.frame(report, "programs", [
      "id",
      "parent",
      "type_name",
      "kind",
      "name",
      "repeats",
      "cycles",
      "op_id",
      "compute_set",
      "code_bytes",
      "children"
    ]);
    return new HeldTree(source, report, frame.columns);
  }

  // src/program_view.ts
  var ROW2 = 28;
  var AROUND2 = 10;
  var HEIGHT = 620;
  var node = (line) => line.before ?? line.after;
  var COLOURS = {
    OnTileExecute: "#d1495b",
    DoExchange: "#4ea8de",
    GlobalExchange: "#2a6f97",
    Sync: "#e9c46a",
    StreamCopyBegin: "#7a5cc7",
    StreamCopyMid: "#7a5cc7",
    StreamCopyEnd: "#7a5cc7",
    Repeat: "#2a9d8f",
    Call: "#2a9d8f"
  };
  function within(name, around) {
    return around && name.startsWith(`${around}/`) ? `\u2026${name.slice(around.length)}` : name;
  }
  var Tree = class {
    constructor(context, tree, other) {
      this.context = context;
      this.tree = tree;
      this.other = other;
      this.space.append(this.rows);
      this.scroll.append(this.space);
      this.scroll.style.height = `${HEIGHT}px`;
      this.scroll.addEventListener("scroll", () => this.draw());
      this.scroll.addEventListener("keydown", (event) => void this.key(event));
      const input = el("input", {
        type: "search",
        placeholder: "Search the program (f)",
        "aria-label": "Search the program",
        value: context.state.get("find")
      });
      const go = (back) => void this.search(input.value.trim(), back);
      input.addEventListener("input", () => {
        context.state.set({ find: input.value.trim() });
        if (!input.value.trim()) this.status.textContent = "";
      });
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter") {
          event.preventDefault();
          go(event.shiftKey);
        }
      });
      this.element = el(
        "div",
        {},
        el(
          "div",
          { class: "controls" },
          input,
          button("Next", () => go(false), { class: "small", id: "next" }),
          button("Previous", () => go(true), { class: "small", id: "previous" }),
          this.status,
          el("span", { class: "spring" }),
          button("Close all", () => void this.start(), { class: "small" }),
          copyButton(() => this.csv())
        ),
        el("div", { class: other ? "split one" : "split" }, el("div", {}, this.head(), this.scroll), this.details)
      );
    }
    context;
    tree;
    other;
    element;
    lines = [];
    chosen = null;
    scroll = el("div", { class: "treebox", tabindex: "0", role: "tree", "aria-label": "Program tree" });
    space = el("div", { class: "space", role: "presentation" });
    rows = el("div", { class: "rows", role: "presentation" });
    status = el("span", { class: "label", role: "status" });
    details = el("div", { class: "details" });
    head() {
      return el(
        "div",
        { class: "treehead", "aria-hidden": "true" },
        el("span", { text: "program" }),
        el("span", { class: "number", text: "times" }),
        ...(this.other ? ["before", "after", "difference"] : ["cycles"]).map(
          (text3) => el("span", { class: text3 === "difference" ? "number wide" : "number", text: text3 })
        )
      );
    }
    async start() {
      this.lines = await this.below(null);
      for (let depth = 0; depth < 4; depth++) {
        for (const line of this.lines.filter((each) => each.depth === depth && !each.open && node(each)[7] <= 12))
          await this.expand(line);
      }
      const wanted = this.context.state.number("node", -1);
      if (wanted >= 0) await this.reveal((await this.tree.details(wanted)).path);
      else if (this.lines[0]) this.choose(this.lines[0], false);
      this.draw();
    }
    async below(parent) {
      const before = !parent || parent.before ? await this.tree.children(parent?.before?.[0] ?? -1) : { total: 0, children: [] };
      const after = this.other && (!parent || parent.after) ? await this.other.children(parent?.after?.[0] ?? -1) : { total: 0, children: [] };
      const depth = parent ? parent.depth + 1 : 0;
      if (parent) parent.hidden = before.total - before.children.length;
      const all = Math.max(
        before.children.reduce((sum2, each) => sum2 + each[5], 0),
        after.children.reduce((sum2, each) => sum2 + each[5], 0)
      );
      const made3 = (one, two) => ({
        before: one,
        after: two,
        depth,
        parent,
        open: false,
        kids: null,
        hidden: 0,
        share: all ? Math.max(one?.[5] ?? 0, two?.[5] ?? 0) / all : 0
      });
      if (!this.other) return before.children.map((each) => made3(each, null));
      const pairs = looselyPaired(before.children, after.children, (each) => `${each[2]}\0${each[3]}`);
      return pairs.map((pair) => made3(pair.before, pair.after));
    }
    async expand(line) {
      if (line.open || !this.count(line)) return;
      line.kids ??= await this.below(line);
      line.open = true;
      const at = this.lines.indexOf(line);
      const inside = (kids) => kids.flatMap((kid) => [kid, ...kid.open && kid.kids ? inside(kid.kids) : []]);
      this.lines.splice(at + 1, 0, ...inside(line.kids));
      this.draw();
    }
    collapse(line) {
      if (!line.open) return;
      line.open = false;
      const at = this.lines.indexOf(line);
      let end = at + 1;
      while (end < this.lines.length && this.lines[end].depth > line.depth) end++;
      this.lines.splice(at + 1, end - at - 1);
      this.draw();
    }
    count(line) {
      return Math.max(line.before?.[7] ?? 0, line.after?.[7] ?? 0);
    }
    async reveal(path) {
      let line;
      for (const id of path) {
        if (line) await this.expand(line);
        line = (line ? line.kids ?? [] : this.lines.filter((each) => !each.depth)).find(
          (each) => each.before?.[0] === id
        );
        if (!line) return;
      }
      if (line) this.choose(line);
    }
    async search(text3, back) {
      if (!text3) return;
      const after = this.chosen?.before?.[0] ?? -1;
      const found = await this.tree.search(text3, after, back);
      this.status.textContent = found.total ? `${whole(found.place)} of ${whole(found.total)}` : "not found";
      if (found.node >= 0) await this.reveal(found.path);
    }
    choose(line, remember = true) {
      this.chosen = line;
      const at = this.lines.indexOf(line), top = at * ROW2;
      if (top < this.scroll.scrollTop || top + ROW2 > this.scroll.scrollTop + this.scroll.clientHeight)
        this.scroll.scrollTop = Math.max(0, top - this.scroll.clientHeight / 3);
      if (remember && line.before) this.context.state.set({ node: line.before[0] });
      this.draw();
      void this.show(line);
    }
    draw() {
      const first = Math.max(0, Math.floor(this.scroll.scrollTop / ROW2) - AROUND2);
      const last = Math.min(this.lines.length, Math.ceil((this.scroll.scrollTop + HEIGHT) / ROW2) + AROUND2);
      this.space.style.height = `${this.lines.length * ROW2}px`;
      this.rows.style.transform = `translateY(${first * ROW2}px)`;
      this.rows.replaceChildren(...this.lines.slice(first, last).map((line) => this.row(line)));
    }
    row(line) {
      const [, type, kind, name, repeats] = node(line);
      const kids = this.count(line);
      const toggle = el("button", {
        type: "button",
        class: "twist",
        tabindex: "-1",
        "aria-hidden": "true",
        text: kids ? line.open ? "\u25BE" : "\u25B8" : ""
      });
      toggle.addEventListener("click", (event) => {
        event.stopPropagation();
        if (line.open) this.collapse(line);
        else void this.expand(line);
      });
      const dot = el("span", { class: "swatch", "aria-hidden": "true" });
      dot.style.background = COLOURS[type] ?? "#aeb6c2";
      const before = line.before?.[5] ?? 0, after = line.after?.[5] ?? 0;
      const bar = el("span", { class: "bar", "aria-hidden": "true" });
      bar.style.setProperty("--share", `${(100 * Math.min(1, line.share)).toFixed(2)}%`);
      const title = el(
        "span",
        { class: "what" },
        toggle,
        dot,
        el("span", { class: "type", text: type === "Unknown" ? kind : type }),
        el("span", { class: "name", text: within(name, line.parent ? node(line.parent)[3] : ""), title: name }),
        kids && !line.open ? el("span", { class: "label", text: `(${whole(kids)})` }) : null
      );
      title.style.paddingLeft = `${Math.min(20, line.depth) * 0.9}rem`;
      const made3 = el(
        "div",
        {
          class: `treerow${line === this.chosen ? " chosen" : ""}`,
          role: "treeitem",
          "aria-level": line.depth + 1,
          "aria-expanded": kids ? String(line.open) : null,
          "aria-selected": String(line === this.chosen)
        },
        title,
        el("span", { class: "number", text: repeats > 1 ? `\xD7 ${whole(repeats)}` : "" }),
        ...this.other ? [
          el("span", { class: "number", text: line.before ? compact(before) : "\u2013" }),
          el("span", { class: "number", text: line.after ? compact(after) : "\u2013" }),
          el("span", {
            class: `number wide ${after > before ? "bad" : after < before ? "good" : ""}`,
            text: delta(before, after, compact)
          })
        ] : [el("span", { class: "number" }, bar, compact(before))]
      );
      made3.addEventListener("click", () => this.choose(line));
      made3.addEventListener("dblclick", () => {
        if (line.open) this.collapse(line);
        else void this.expand(line);
      });
      return made3;
    }
    async show(line) {
      const parts = [];
      const of = async (tree, at, label) => {
        if (at) parts.push(programCard(this.context, await tree.details(at[0]), label, line.hidden));
      };
      await of(this.tree, line.before, this.other ? "Before: " : "");
      if (this.other) await of(this.other, line.after, "After: ");
      if (line === this.chosen) this.details.replaceChildren(...parts);
    }
    csv() {
      return csv(
        ["depth", "type", "name", "repeats", ...this.other ? ["cycles before", "cycles after"] : ["cycles"]],
        this.lines.map((line) => {
          const [, type, , name, repeats, cycles] = node(line);
          return [
            line.depth,
            type,
            name,
            repeats,
            ...this.other ? [line.before?.[5] ?? 0, line.after?.[5] ?? 0] : [cycles]
          ];
        })
      );
    }
    async key(event) {
      const at = this.chosen ? this.lines.indexOf(this.chosen) : -1, line = this.chosen;
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[event.key];
      if (by === void 0 && !["ArrowRight", "ArrowLeft", "Enter", " "].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      if (by !== void 0) {
        const next = this.lines[Math.max(0, Math.min(this.lines.length - 1, at + by))];
        if (next) this.choose(next);
      } else if (!line) return;
      else if (event.key === "ArrowRight") {
        if (line.open && line.kids?.[0]) this.choose(line.kids[0]);
        else await this.expand(line);
      } else if (event.key === "ArrowLeft") {
        if (line.open) this.collapse(line);
        else if (line.parent) this.choose(line.parent);
      } else if (line.open) this.collapse(line);
      else await this.expand(line);
    }
  };
  var programView = {
    id: "program",
    title: "Program Tree",
    lead: "What the device runs, in order. Cycles count one run of the parent, summed over IPUs. The bar below a number is its share of the parent.",
    key: "p",
    async render(host, context) {
      const tree = await programTree(context.source, context.report.id);
      const made3 = new Tree(context, tree, context.other ? await programTree(context.source, context.other.id) : null);
      host.append(el("section", { class: "card" }, made3.element));
      await made3.start();
    }
  };

  // src/summary_data.ts
  var figure = (summary, name) => Object.hasOwn(summary.figures, name) ? summary.figures[name] : null;

  // src/summary_tables.ts
  function target(a, b) {
    const lines = (s) => {
      const t = s.target, replicas = Number(t.replicas), each = Number(t.ipus_per_replica);
      return [
        ["chip", String(t.title)],
        ["system", `${t.system}, ${plural(Number(t.system_ipus), "IPU")}`],
        ["IPUs used", `${whole(replicas * each)} (${plural(replicas, "replica")} of ${plural(each, "IPU")})`],
        ["tiles per IPU", whole(Number(t.tiles_per_ipu))],
        ["memory per tile", bytes(Number(t.tile_memory_bytes))],
        ["memory per IPU", bytes(Number(t.tile_memory_bytes) * Number(t.tiles_per_ipu))],
        ["clock", `${(Number(t.clock_hz) / 1e6).toFixed(0)} MHz`]
      ];
    };
    const after = b ? lines(b) : null;
    return card(
      "Target",
      plainTable(
        "target",
        after ? [["what"], ["before", true], ["after", true]] : [["what"], ["value", true]],
        lines(a).map(([name, value], index) => after ? [name, value, after[index]?.[1] ?? ""] : [name, value])
      )
    );
  }
  function counts(a, b) {
    const after = new Map(b?.graph);
    return card(
      "Graph of one replica",
      b ? plainTable(
        "counts",
        [["what"], ["before", true], ["after", true], ["difference", true]],
        a.graph.map(([name, count]) => [
          name,
          whole(count),
          after.has(name) ? whole(after.get(name)) : "\u2013",
          after.has(name) ? deltaCell(count, after.get(name), whole) : ""
        ])
      ) : plainTable(
        "counts",
        [["what"], ["count", true]],
        a.graph.map(([name, count]) => [name, whole(count)])
      )
    );
  }
  function figures(a, b) {
    const rows = Object.entries(a.figures).map(([name, [value, unit, low, high, band]]) => {
      const after = b ? figure(b, name) : null;
      if (!b) return [words(name), quantity(value, unit), band ? `${quantity(low, "")} \u2013 ${quantity(high, "")}` : ""];
      return [
        words(name),
        quantity(value, unit),
        after ? quantity(after[0], unit) : "\u2013",
        after ? deltaCell(value, after[0], (x) => quantity(x, "")) : ""
      ];
    });
    return card(
      "All figures",
      plainTable(
        "figures",
        b ? [["figure"], ["before", true], ["after", true], ["difference", true]] : [["figure"], ["modelled", true], ["likely range", true]],
        rows
      )
    );
  }
  function options(a, b) {
    const after = new Map(b?.options.map(([section, name, value]) => [`${section}\0${name}`, value]));
    const sections = [...new Set(a.options.map((option) => option[0]))];
    return card(
      b ? "Options: those that differ are marked" : "Options",
      ...sections.map(
        (section) => el(
          "details",
          { open: section === "run" },
          el("summary", { text: `${words(section)} (${a.options.filter((option) => option[0] === section).length})` }),
          plainTable(
            `options of ${section}`,
            b ? [["option"], ["before"], ["after"]] : [["option"], ["value"]],
            a.options.filter((option) => option[0] === section).map(([, name, value]) => {
              if (!b) return [name, value];
              const other = after.get(`${section}\0${name}`) ?? "\u2013";
              return [name, value, other === value ? other : el("b", { class: "changed", text: other })];
            })
          )
        )
      )
    );
  }
  function jsonTree(value, name, depth) {
    if (value !== null && typeof value === "object" && depth < 12) {
      const entries = Object.entries(value);
      return el(
        "details",
        { open: depth < 2 },
        el("summary", { text: `${name} (${plural(entries.length, "entry", "entries")})` }),
        el("div", { class: "indent" }, ...entries.slice(0, 500).map(([key, each]) => jsonTree(each, key, depth + 1)))
      );
    }
    return el(
      "p",
      { class: "leaf" },
      el("span", { class: "label", text: `${name}: ` }),
      typeof value === "string" ? value : JSON.stringify(value) ?? ""
    );
  }
  function phases(work2) {
    if (!work2.phases.length) return null;
    return card(
      "Work by pass, all IPUs",
      plainTable(
        "passes",
        [["pass"], ["ops", true], ["cycles per step", true], ["compute", true], ["exchange", true], ["sync", true]],
        work2.phases.map(([name, compute, exchange, sync, ops]) => {
          const all = compute + exchange + sync;
          return [name, whole(ops), whole(all), percent(compute, all), percent(exchange, all), percent(sync, all)];
        })
      )
    );
  }

  // src/summary_view.ts
  function big(label, value, below, tone = "", extra = null) {
    return el(
      "div",
      { class: "card" },
      el("div", { class: "label", text: label }),
      el("div", { class: `figure ${tone}`, text: value }),
      extra,
      note(below || " ")
    );
  }
  function likely(entry, format) {
    return entry[4] ? `likely ${format(entry[2])} to ${format(entry[3])}` : "error band not known";
  }
  var FITS = {
    yes: "Fits",
    likely: "Likely fits",
    unlikely: "Probably does not fit",
    no: "Does not fit"
  };
  var BIG = [
    { label: "Modelled throughput", name: "throughput", format: (value) => `${compact(value)} samples/s`, less: false },
    { label: "Modelled time of a step", name: "seconds_per_step", format: time, less: true },
    { label: "Fullest tile", name: "max_tile_bytes", format: bytes, less: true },
    { label: "Tile balance", name: "tile_balance", format: (value) => percent(value, 1), less: false }
  ];
  function tiles2(a, b) {
    const found = el("div", { class: "cards" });
    const [fits, verdict, probability] = a.fits, tile = figure(a, "max_tile_bytes");
    const room = Number(a.target.tile_memory_bytes);
    if (tile) {
      const sure = probability === null ? "" : ` Probability that it fits: ${percent(probability, 1)}.`;
      const chance = (value) => value === null ? "not known" : percent(value, 1);
      const other = b ? `probability that it fits: ${chance(probability)} \u2192 ${chance(b.fits[2])}` : "";
      const share2 = el(
        "div",
        { class: "meter", role: "img", "aria-label": `fullest tile ${percent(tile[0], room)} of its memory` },
        el("div", { class: fits ? "good" : "bad" })
      );
      share2.firstChild.style.width = `${Math.min(100, 100 * tile[0] / room)}%`;
      const answer = FITS[verdict] ?? "Not known", later2 = b ? FITS[b.fits[1]] ?? "Not known" : answer;
      found.append(
        big(
          "Does it fit?",
          later2 === answer ? answer : `${answer} \u2192 ${later2.toLowerCase()}`,
          other || `The fullest tile needs ${bytes(tile[0])}, ${percent(tile[0], room)} of its memory (${likely(tile, bytes)}).${sure}`,
          fits ? "good" : "bad",
          share2
        )
      );
    }
    for (const each of BIG) {
      const entry = figure(a, each.name), after = b ? figure(b, each.name) : null;
      if (!entry || each.name === "max_tile_bytes" && !b) continue;
      const below = each.name === "tile_balance" ? "mean tile divided by slowest tile, in compute" : likely(entry, each.format);
      if (!after) found.append(big(each.label, each.format(entry[0]), below));
      else {
        const better = after[0] === entry[0] ? "" : after[0] < entry[0] === each.less ? "good" : "bad";
        found.append(
          big(
            each.label,
            delta(entry[0], after[0], each.format),
            `${each.format(entry[0])} \u2192 ${each.format(after[0])}`,
            better
          )
        );
      }
    }
    const most = binding(a), later = b ? binding(b) : null;
    if (most)
      found.append(
        big(
          "Bottleneck",
          most[0],
          later ? `${most[1]} of a step \u2192 ${later[0]}, ${later[1]}` : `takes ${most[1]} of a step`
        )
      );
    return found;
  }
  function binding(summary) {
    const all = summary.breakdown.reduce((sum2, part2) => sum2 + part2[2], 0);
    const most = [...summary.breakdown].sort((x, y) => y[2] - x[2])[0];
    return most && all ? [most[1], percent(most[2], all)] : null;
  }
  function advice(summary, title) {
    const list = summary.advice.slice(0, 3).map(
      ([name, effect, cause, cost, code]) => el(
        "li",
        {},
        el("b", { text: name }),
        el("p", { text: effect }),
        cause ? note(`From ${cause}.`) : null,
        cost ? note(`Cost: ${cost}`) : null,
        code.length ? el("pre", { text: code.join("\n") }) : null
      )
    );
    return card(
      title,
      ...summary.verdict.map((text3) => el("p", { text: text3 })),
      el("p", { class: "work" }),
      list.length ? el("ol", { class: "advice" }, ...list) : note("This profile holds no advice. Run \u201Ctremula estimate run PROGRAM\u201D to get some.")
    );
  }
  function breakdown(a, b) {
    if (!a.breakdown.length) return null;
    const clock = Number(a.target.clock_hz);
    const bar = (summary) => shareBar(
      summary.breakdown.map(([name, title, cycles, colour], index) => [title, cycles, colour || pick({}, name, index)]),
      (cycles) => time(cycles / Number(summary.target.clock_hz))
    );
    if (!b) return card("Where the time of a step goes", bar(a));
    const names = [...new Set([...a.breakdown, ...b.breakdown].map((part2) => part2[0]))];
    const of = (summary, name) => summary.breakdown.find((part2) => part2[0] === name);
    const rows = names.map((name) => [
      of(a, name)?.[1] ?? of(b, name)?.[1] ?? name,
      (of(a, name)?.[2] ?? 0) / clock,
      (of(b, name)?.[2] ?? 0) / Number(b.target.clock_hz)
    ]).sort((x, y) => Math.abs(y[2] - y[1]) - Math.abs(x[2] - x[1]));
    return card(
      "Where the time of a step goes",
      el("p", { class: "label", text: "before" }),
      bar(a),
      el("p", { class: "label", text: "after" }),
      bar(b),
      plainTable(
        "parts of a step",
        [["part"], ["before", true], ["after", true], ["difference", true]],
        rows.map(([name, before, after]) => [name, time(before), time(after), deltaCell(before, after, time, true)])
      )
    );
  }
  var summaryView = {
    id: "summary",
    title: "Summary",
    lead: "Does the program fit, how fast is it, what limits it, and what can you change?",
    key: "s",
    async render(host, context) {
      const [a, b] = await context.both("summary");
      const about = [
        `File ${a.folder}/${a.file}, schema version ${a.version}, written by ${a.meta.written_by ?? "unknown"} at ${a.meta.written_at ?? "unknown"}.`,
        ...context.source.served ? [] : ["This page is one file. It makes no network requests."],
        ...a.notes.map((each) => `Left out: ${each}.`)
      ];
      const apps = (s) => Object.entries(s.application ?? {}).map(([name, value]) => jsonTree(value, name, 0));
      host.append(
        tiles2(a, b),
        b ? el(
          "div",
          { class: "columns" },
          advice(a, "Before: why, and what to do"),
          advice(b, "After: why, and what to do")
        ) : advice(a, "Why, and what to do")
      );
      const parts = breakdown(a, b), passes = el("div", { class: "stack" });
      if (parts) host.append(parts);
      host.append(passes);
      host.append(
        el("div", { class: "columns" }, target(a, b), counts(a, b)),
        ...b ? [figures(a, b), options(a, b)] : [el("div", { class: "columns" }, figures(a, b), options(a, b))]
      );
      if (apps(a).length) host.append(card("Framework and application", ...apps(a)));
      if (a.files?.length)
        host.append(
          card(
            "Files of the report",
            plainTable(
              "files",
              [["file"], ["size", true]],
              a.files.map(([name, size]) => [name, bytes(size)])
            )
          )
        );
      host.append(card("About this report", ...about.map((text3) => el("p", { text: text3 }))));
      const works = await context.both("work");
      host.querySelectorAll(".work").forEach((line, index) => {
        line.textContent = works[index]?.verdict.join(" ") ?? "";
      });
      const table = b ? null : phases(works[0]);
      if (table) passes.append(table);
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
  function parseTime(text3) {
    const found = /^\s*([\d.,]+(?:e[+-]?\d+)?)\s*(ns|us|µs|μs|ms|s|min|h)\s*$/i.exec(text3);
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
        if (Math.abs(time2) >= 1e9 && step >= 1e6) return (time2 / 1e9).toFixed(decimals(step / 1e9)) + " G";
        if (Math.abs(time2) >= 1e6 && step >= 1e3) return (time2 / 1e6).toFixed(decimals(step / 1e6)) + " M";
        return whole2(time2);
      },
      span: (length) => `${whole2(length)} ${Math.round(length) === 1 ? "cycle" : "cycles"}` + (perMicrosecond > 0 ? ` (${microseconds(length / perMicrosecond)})` : ""),
      parse: (text3) => {
        const found = /^\s*([\d.,]+(?:e\d+)?)\s*(k|m|g)?\s*(cycles?)?\s*$/i.exec(text3);
        if (found) {
          const factor = { k: 1e3, m: 1e6, g: 1e9 }[(found[2] ?? "").toLowerCase()] ?? 1;
          return Number((found[1] ?? "").replaceAll(",", "")) * factor;
        }
        return parseTime(text3) * perMicrosecond;
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
  function mixed(under, over, share2) {
    const part2 = share2 <= 0 ? 0 : share2 >= 1 ? 1 : share2;
    const rest = 1 - part2;
    const red = (under & 255) * rest + (over & 255) * part2;
    const green = (under >>> 8 & 255) * rest + (over >>> 8 & 255) * part2;
    const blue = (under >>> 16 & 255) * rest + (over >>> 16 & 255) * part2;
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
  var HUES2 = [
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
    const text3 = colour.trim();
    if (/^#[0-9a-f]{6}$/i.test(text3)) {
      const value = parseInt(text3.slice(1), 16);
      return packed(value >> 16, value >> 8 & 255, value & 255);
    }
    if (/^#[0-9a-f]{3}$/i.test(text3)) {
      const [r, g, b] = [...text3.slice(1)].map((digit) => parseInt(digit + digit, 16));
      return packed(r ?? 0, g ?? 0, b ?? 0);
    }
    const parts = /^rgba?\(\s*(\d+)[ ,]+(\d+)[ ,]+(\d+)/.exec(text3);
    return parts ? packed(Number(parts[1]), Number(parts[2]), Number(parts[3])) : packed(128, 128, 128);
  }
  function readTheme(node2) {
    const style = getComputedStyle(node2);
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
  function hue2(text3) {
    let hash = 2166136261;
    for (let at = 0; at < text3.length; at++) hash = Math.imul(hash ^ text3.charCodeAt(at), 16777619);
    return (hash >>> 0) % HUES2.length;
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
        this.pixels = Uint32Array.from(HUES2, pixel);
        const table = spans.labels.map(hue2);
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
  function fitted2(text3, width) {
    const letters = Math.floor(width / letter);
    if (letters < 2) return "";
    const clean = plain(text3);
    if (clean.length <= letters) return clean;
    return letters < 4 ? clean.slice(0, letters) : clean.slice(0, letters - 1) + "\u2026";
  }
  function fittedEnd(text3, width) {
    const letters = Math.floor(width / letter);
    const clean = plain(text3);
    if (clean.length <= letters || letters < 4) return fitted2(clean, width);
    return "\u2026" + clean.slice(clean.length - letters + 1);
  }
  function plain(text3) {
    const short = text3.length > 300 ? text3.slice(0, 299) + "\u2026" : text3;
    return short.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\uFFFD");
  }

  // src/timeline/flame_row.ts
  var FlameRow = class {
    constructor(spans, options2) {
      this.options = options2;
      this.id = options2.id;
      this.name = options2.name;
      if (options2.note !== void 0) this.note = options2.note;
      if (options2.parent !== void 0) this.parent = options2.parent;
      this.sketched = options2.sketched ?? true;
      this.band = options2.band ?? 18;
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
        found = Uint8Array.from(set.spans.labels, (text3) => text3.toLowerCase().includes(this.needle) ? 1 : 0);
        this.marks.set(set, found);
      }
      return found;
    }
    paint(pane) {
      const { raster, ratio, from, to } = pane;
      const ground = pane.theme.groundPixel;
      const set = this.set(from, to);
      const marked = this.marked(set);
      const scale2 = pane.scale * ratio;
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
          const first = clamp(Math.floor((start - from) * scale2), 0, width - 1);
          const last = clamp(Math.floor((end - from) * scale2), first, width - 1);
          const share2 = time2 * scale2 / (last - first + 1);
          for (let x = first; x <= last; x++) {
            busy[x] += share2;
            if (time2 >= widest[x]) {
              widest[x] = Math.max(time2, Number.MIN_VALUE);
              colour[x] = shade(item);
            }
          }
        };
        tree.visit(
          from,
          to,
          1.5 / scale2,
          (at, start, end) => {
            const item = tree.items[at];
            const left = Math.round((Math.max(start, from) - from) * scale2);
            const right = Math.round((Math.min(end, to) - from) * scale2);
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
      const { context, from, to, scale: scale2 } = pane;
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
          26 / scale2,
          (at, start, end) => {
            const left = (Math.max(start, from) - from) * scale2;
            const right = (Math.min(end, to) - from) * scale2;
            if (right - left < 26) return;
            const item = tree.items[at];
            const count = set.events(item);
            const words2 = this.options.words?.(set, item) ?? (count > 1 ? `${count.toLocaleString("en-US")} \xD7 ${set.label(item)} \u2026` : set.label(item));
            const text3 = fitted2(words2, right - left - 8);
            if (!text3) return;
            const dim = marked && !marked[set.spans.label[item]];
            context.globalAlpha = dim ? 0.5 : 1;
            context.fillStyle = dim ? pane.theme.ink : "#161b24";
            context.fillText(text3, left + 4, top + this.band / 2, right - left - 6);
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
      const wanted = labels.map((text3) => text3.toLowerCase().includes(needle));
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
    draw(pane) {
      if (!this.note) return;
      const { context } = pane;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillStyle = pane.theme.soft;
      context.fillText(fitted2(this.note, pane.width - 16), 8, pane.top + pane.height / 2);
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
    get(row2) {
      let low = 0;
      let high = this.pieces.length;
      while (low < high) {
        const middle = low + high >> 1;
        if (this.pieces[middle].first <= row2) low = middle + 1;
        else high = middle;
      }
      const found = this.pieces[low - 1];
      return found && row2 < found.first + found.start.length ? found : null;
    }
  };
  var LoadedSteps = class {
    constructor(load2, changed) {
      this.load = load2;
      this.changed = changed;
    }
    load;
    changed;
    kept = /* @__PURE__ */ new Map();
    missing = /* @__PURE__ */ new Set();
    wishes = [];
    running = /* @__PURE__ */ new Set();
    get(row2) {
      const chunk = Math.floor(row2 / CHUNK);
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
    constructor(lane, store, options2) {
      this.lane = lane;
      this.options = options2;
      this.store = store;
      this.id = options2.id;
      this.name = options2.name;
      if (options2.note !== void 0) this.note = options2.note;
      if (options2.parent !== void 0) this.parent = options2.parent;
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
    sums = [];
    height(folded) {
      return folded ? 12 : this.split ? 64 : this.options.tall;
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
      for (let row2 = begin; row2 < end; row2++) {
        const steps = row2 - low.first < low.start.length ? low : high;
        const at = row2 - steps.first;
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
      const scale2 = pane.scale * ratio * factor;
      const from = (pane.from - offset) / factor;
      const to = (pane.to - offset) / factor;
      const add = (kind, start, end, cycles) => {
        if (cycles <= 0 || end <= start) return;
        const low = Math.max(0, (start - from) * scale2);
        const high = Math.min(width, (end - from) * scale2);
        const dense = cycles / (end - start);
        const sum2 = this.sums[kind];
        const last = Math.min(width - 1, Math.floor(high));
        for (let x = Math.floor(low); x <= last; x++) sum2[x] += dense * (Math.min(high, x + 1) - Math.max(low, x));
      };
      this.visit(
        from,
        to,
        ENTER / scale2,
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
      const scale2 = pane.scale * factor;
      const from = (pane.from - offset) / factor;
      const to = (pane.to - offset) / factor;
      const least = 48 / scale2;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      const band = (pane.height - 4) / 4;
      this.visit(
        from,
        to,
        least,
        (steps, at) => {
          const left = (Math.max(steps.start[at], from) - from) * scale2;
          const right = (Math.min(steps.start[at] + steps.cycles[at], to) - from) * scale2;
          const kind = steps.kind[at];
          const row2 = this.split ? kind === 4 ? 1 : kind : 0;
          const top = pane.top + 2 + (this.split ? band * row2 : 0);
          const tall = this.split ? band : pane.height - 4;
          if (right - left >= 3) {
            context.fillStyle = pane.theme.ground;
            context.fillRect(right - 0.75, top, 0.75, tall);
          }
          if (right - left < 34 || tall < 11) return;
          const name = this.options.label(steps, at);
          const text3 = name.includes("/") ? fittedEnd(name, right - left - 8) : fitted2(name, right - left - 8);
          if (!text3) return;
          context.fillStyle = INK[kind];
          context.fillText(text3, left + 4, top + tall / 2 + 0.5, right - left - 6);
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
      const row2 = /^s\d+$/.test(key) ? Number(key.slice(1)) : NaN;
      if (!(row2 >= this.lane.first && row2 < this.lane.first + this.lane.steps)) return null;
      const steps = this.store.get(row2);
      const at = steps ? row2 - steps.first : -1;
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
    const place2 = (event) => {
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
        actions.zoom(Math.exp(Math.max(-240, Math.min(240, dy)) * (event.ctrlKey ? 0.01 : 2e-3)), place2(event)[0]);
      },
      { passive: false }
    );
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 && event.button !== 1) return;
      const [x, y] = place2(event);
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
      const [x, y] = place2(event);
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
    plot.addEventListener("dblclick", (event) => actions.open(...place2(event)));
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
    const node2 = document.createElement("button");
    node2.type = "button";
    node2.className = name;
    node2.addEventListener("click", click);
    return node2;
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
      const { row: row2 } = placed;
      const node2 = document.createElement("div");
      node2.dataset.row = row2.id;
      const text3 = document.createElement("span");
      text3.className = "tl-name";
      text3.textContent = plain(row2.name);
      node2.title = plain(row2.name) + (row2.note ? "\n" + plain(row2.note) : "");
      const fold = small("tl-fold", () => this.fold(row2.id));
      const pin = small("tl-pin", () => this.pin(row2.id));
      if (row2.foldable) node2.append(fold);
      node2.append(text3);
      if (row2.note && (row2.heading || placed.height >= 36)) {
        const note2 = document.createElement("span");
        note2.className = "tl-note";
        note2.textContent = plain(row2.note);
        text3.append(note2);
      }
      if (!row2.heading) node2.append(pin);
      return { node: node2, fold, pin };
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
          const { row: row2 } = placed;
          seen.add(row2.id);
          let label = this.known.get(row2.id);
          if (!label) {
            label = this.made(placed);
            this.known.set(row2.id, label);
          }
          const { node: node2, fold, pin } = label;
          if (node2.parentNode !== into) into.append(node2);
          node2.className = "tl-label" + (row2.heading ? " tl-heading" : "") + (placed.pinned ? " tl-pinned" : "") + (placed.height < 20 ? " tl-thin" : "");
          node2.style.top = `${placed.top - by}px`;
          node2.style.height = `${placed.height}px`;
          node2.style.paddingLeft = `${4 + 10 * Math.max(0, placed.level - 1)}px`;
          fold.textContent = placed.folded ? "\u25B8" : "\u25BE";
          fold.setAttribute("aria-expanded", String(!placed.folded));
          fold.setAttribute("aria-label", `${placed.folded ? "unfold" : "fold"} ${plain(row2.name)}`);
          pin.textContent = placed.pinned ? "\u2605" : "\u2606";
          pin.setAttribute("aria-pressed", String(placed.pinned));
          pin.setAttribute("aria-label", `${placed.pinned ? "unpin" : "pin to the top"}: ${plain(row2.name)}`);
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
      this.byId = new Map(rows.map((row2) => [row2.id, row2]));
      this.place();
    }
    get all() {
      return this.rows;
    }
    get(id) {
      return this.byId.get(id);
    }
    level(row2) {
      let level = 0;
      for (let up = row2.parent; up !== void 0 && level < 8; up = this.byId.get(up)?.parent) level++;
      return level;
    }
    hidden(row2) {
      let steps = 0;
      for (let up = row2.parent; up !== void 0 && steps < 8; up = this.byId.get(up)?.parent, steps++) if (this.folded.has(up)) return true;
      return false;
    }
    place() {
      this.pinned = [];
      this.scrolled = [];
      this.pinnedHeight = this.height = 0;
      for (const id of this.pins) {
        const row2 = this.byId.get(id);
        if (!row2) continue;
        const folded = !row2.heading && this.folded.has(id);
        const height = row2.height(folded);
        this.pinned.push({ row: row2, top: this.pinnedHeight, height, folded, pinned: true, level: 0 });
        this.pinnedHeight += height;
      }
      for (const row2 of this.rows) {
        if (this.pins.includes(row2.id) || this.hidden(row2)) continue;
        const folded = this.folded.has(row2.id);
        const height = row2.height(folded);
        this.scrolled.push({ row: row2, top: this.height, height, folded, pinned: false, level: this.level(row2) });
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
      const row2 = this.byId.get(id);
      let steps = 0;
      for (let up = row2?.parent; up !== void 0 && steps < 8; up = this.byId.get(up)?.parent, steps++) this.folded.delete(up);
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
    const scale2 = width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale2);
      context.fillStyle = theme.line;
      context.fillRect(x, RULER - 6, 1, 6);
      context.fillStyle = theme.soft;
      const text3 = clock.moment(mark * step, step);
      const wide = context.measureText(text3).width;
      if (x + 4 + wide < width) context.fillText(text3, x + 4, 11);
    }
    context.fillStyle = theme.line;
    context.fillRect(0, RULER - 1, width, 1);
  }
  function paintGrid(raster, theme, from, to, step, ratio) {
    const scale2 = raster.width / (to - from);
    const first = Math.ceil(from / step);
    const last = Math.min(first + 400, Math.floor(to / step));
    const colour = pixel(theme.grid);
    for (let mark = first; mark <= last; mark++) {
      const x = Math.round((mark * step - from) * scale2);
      raster.box(x, Math.round(RULER * ratio), x + Math.max(1, Math.round(ratio)), raster.height, colour);
    }
  }

  // src/timeline/overlay.ts
  function drawOutline(row2, pane, item, colour, thick) {
    if (!item || item.row !== row2.id) return;
    const left = clamp((item.from - pane.from) * pane.scale, -3, pane.width + 3);
    const right = clamp((item.to - pane.from) * pane.scale, left + 2, pane.width + 3);
    const tall = pane.folded ? pane.height - 4 : item.height || pane.height - 4;
    pane.context.strokeStyle = colour;
    pane.context.lineWidth = thick;
    pane.context.strokeRect(left, pane.top + (pane.folded ? 2 : item.top) + 0.5, right - left, tall - 1);
  }
  function drawArea({ context, theme, from, width, height, scale: scale2 }, area, seen, below) {
    const left = clamp((area.from - from) * scale2, 0, width);
    const right = clamp((area.to - from) * scale2, 0, width);
    context.fillStyle = theme.accent;
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
  function drawMatches({ context, theme, from, width, scale: scale2 }, matches) {
    context.fillStyle = theme.bad;
    let before = -9;
    for (const match of matches) {
      const x = Math.round((match.from - from) * scale2);
      if (x - before < 2 || x < 0 || x > width) continue;
      before = x;
      context.fillRect(x - 0.5, RULER - 6, 2, 6);
    }
  }
  function drawCursor({ context, theme, from, width, height, scale: scale2 }, x, clock) {
    context.fillStyle = theme.ink;
    context.globalAlpha = 0.55;
    context.fillRect(Math.round(x), RULER, 1, height - RULER);
    context.globalAlpha = 1;
    const text3 = clock.moment(from + x / scale2, 1 / scale2);
    context.font = "11px system-ui, sans-serif";
    const wide = context.measureText(text3).width + 10;
    const left = clamp(x - wide / 2, 0, width - wide);
    context.fillStyle = theme.ink;
    context.fillRect(left, 2, wide, 17);
    context.fillStyle = theme.ground;
    context.textBaseline = "middle";
    context.fillText(text3, left + 5, 11);
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
    for (const node2 of labels.querySelectorAll(".tl-label")) {
      const place2 = node2.getBoundingClientRect();
      const y = (place2.top + place2.bottom) / 2 - box.top;
      if (y < RULER || y > picture.height / ratio) continue;
      context.font = node2.classList.contains("tl-heading") ? "600 12px system-ui, sans-serif" : "12px system-ui, sans-serif";
      context.fillStyle = theme.ink;
      context.fillText(fitted2(node2.querySelector(".tl-name")?.firstChild?.textContent ?? "", gutter - 12), 8, y);
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
    zoom(factor, share2) {
      const at = this.from + this.length * share2;
      const length = this.fitting(this.length * factor);
      this.show(at - length * share2, at + length * (1 - share2));
    }
    /** Move by a share of the width; more than 0 shows later times. */
    pan(share2) {
      const by = this.length * share2;
      this.show(this.from + by, this.to + by);
    }
    /** A share of the whole (400 %), a length (3 ms) or a range (1 ms - 3 ms); false if it is none. */
    typed(text3, clock) {
      const centre = (this.from + this.to) / 2;
      const around = (length) => {
        if (!(length > 0)) return false;
        this.show(centre - length / 2, centre + length / 2);
        return true;
      };
      const percent2 = /^\s*([\d.,e+]+)\s*%\s*$/i.exec(text3);
      if (percent2) return around((this.whole.to - this.whole.from) / Math.max(1, Number((percent2[1] ?? "").replaceAll(",", "")) / 100));
      const [first, second, more] = text3.split(/\s*(?:-|–|\.\.|to)\s*/).map((part2) => clock.parse(part2));
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
    async look(text3, rows) {
      const needle = text3.trim().toLowerCase().slice(0, 200);
      const turn = ++this.turn;
      this.matches = [];
      this.total = 0;
      this.at = -1;
      for (const row2 of rows) row2.mark?.(needle);
      if (!needle) return true;
      const found = await (this.ask ? this.ask(needle, MOST_MATCHES) : asked2(needle, rows)).catch(() => ({ matches: [], total: 0 }));
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
  async function asked2(needle, rows) {
    const all = { matches: [], total: 0 };
    for (const row2 of rows) {
      if (!row2.find) continue;
      const found = await row2.find(needle, MOST_MATCHES - all.matches.length);
      all.matches.push(...found.matches);
      all.total += found.total;
    }
    all.matches.sort((one, other) => one.from - other.from);
    return all;
  }

  // src/timeline/strip.ts
  var HIGH2 = 34;
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
      const height = Math.round(HIGH2 * ratio);
      if (this.canvas.width !== width || this.canvas.height !== height) {
        this.canvas.width = width;
        this.canvas.height = height;
        this.canvas.style.height = `${HIGH2}px`;
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
      const shown = rows.filter((row2) => row2.sketched).slice(0, MOST_ROWS);
      const each = (HIGH2 - 6) / Math.max(1, shown.length);
      const ground = { ...theme, groundPixel: theme.band };
      shown.forEach((row2, at) => {
        const pane = {
          raster: this.raster,
          context,
          theme: ground,
          top: 2 + at * each,
          height: each + 2,
          clipTop: 0,
          clipBottom: HIGH2,
          width: width / ratio,
          ratio,
          from,
          to,
          scale: width / ratio / (to - from || 1),
          folded: true
        };
        row2.paint(pane);
      });
      this.raster.show(context);
    }
  };

  // src/timeline/toolbar.ts
  function made(tag, properties, text3 = "") {
    const node2 = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) node2.setAttribute(name, value);
    if (text3) node2.textContent = text3;
    return node2;
  }
  var Toolbar = class {
    constructor(actions) {
      this.actions = actions;
      const button2 = (text3, title, click, name = "") => {
        const node2 = made("button", { type: "button", title, "aria-label": title, class: name }, text3);
        node2.addEventListener("click", click);
        return node2;
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
      let asked3 = "";
      const ask = () => {
        clearTimeout(waiting);
        asked3 = this.search.value;
        return actions.search(asked3);
      };
      this.search.addEventListener("input", () => {
        clearTimeout(waiting);
        if (this.search.value !== asked3) waiting = window.setTimeout(() => void ask(), 150);
      });
      this.search.addEventListener("keydown", (event) => {
        const by = event.shiftKey ? -1 : 1;
        if (event.key === "Enter" && this.search.value !== asked3) void ask().then(() => actions.next(by));
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
        const node2 = made("span", { class: "tl-group" });
        node2.append(...nodes);
        return node2;
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
    showZoom(share2) {
      this.share = share2;
      if (document.activeElement === this.zoomBox) return;
      this.zoomBox.classList.remove("tl-wrong");
      const percent2 = 100 / clamp(share2, 1e-15, 1);
      this.zoomBox.value = percent2 >= 1e6 ? `${percent2.toExponential(1)}%` : `${percent2 >= 1e3 ? Math.round(percent2) : Number(percent2.toPrecision(3))}%`;
    }
    showFound(at, known2, total) {
      this.steps.forEach((step) => step.disabled = known2 === 0);
      if (!this.search.value.trim()) this.found.textContent = "";
      else if (total === 0) this.found.textContent = "not found";
      else
        this.found.textContent = `${at >= 0 ? `${(at + 1).toLocaleString("en-US")} of ` : ""}${total.toLocaleString("en-US")}` + (known2 < total ? ` (the first ${known2.toLocaleString("en-US")} can be visited)` : "");
    }
    searching() {
      this.found.textContent = "searching";
    }
  };

  // src/timeline/timeline.ts
  function made2(tag, name) {
    const node2 = document.createElement(tag);
    node2.className = name;
    return node2;
  }
  var Timeline = class {
    constructor(options2) {
      this.options = options2;
      this.span = new Range(options2.least);
      this.finder = new Search(options2.search);
      this.bar = new Toolbar({
        zoom: (factor) => this.zoom(factor),
        all: () => this.showAll(),
        typed: (text3) => {
          const understood = this.span.typed(text3, this.options.clock);
          if (understood) this.changed();
          return understood;
        },
        selecting: (on) => this.canvas.classList.toggle("tl-selecting", on),
        search: (text3) => this.search(text3),
        next: (by) => this.next(by),
        image: () => saveImage(this.canvas, this.labels.node, this.theme, this.options.file)
      });
      this.labels = new Labels((id) => this.fold(id), (id) => this.pin(id));
      this.strip = new Strip(() => this.span.whole, () => this.span, () => this.options.least, (from, to) => this.show(from, to));
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute("aria-label", `${options2.label}. Keys: w and s zoom, a and d move, 0 shows all, n goes to the next match.`);
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
        pan: (share2) => this.pan(share2),
        scroll: (pixels) => this.scroller.scrollTop += pixels,
        all: () => this.showAll(),
        zoomToPicked: () => this.picked && this.reveal(this.picked, 0.8),
        selecting: () => this.bar.setSelecting(!this.bar.selecting),
        find: () => this.bar.search.focus(),
        next: (by) => this.next(by),
        pin: () => {
          const row2 = this.picked?.row ?? this.hovered?.row;
          if (row2) this.pin(row2);
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
      for (const row2 of rows) {
        const extent = whole2 ? null : row2.extent();
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
    pan(share2) {
      this.span.pan(share2);
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
    reveal(item, share2 = 0) {
      this.layout.reveal(item.row);
      const length = Math.max(item.to - item.from, this.options.least / 4);
      const shown = this.span.length;
      const centre = (item.from + item.to) / 2;
      if (share2 > 0 || length > shown || length < shown * 0.01) {
        const wide = share2 > 0 ? length / share2 : length > shown ? length / 0.8 : length / 0.06;
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
    async search(text3) {
      const looked = this.finder.look(text3, this.layout.all);
      this.redraw();
      if (text3.trim()) this.bar.searching();
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
      const scale2 = this.span.length / this.width;
      for (const { placed, y: top } of this.visible()) {
        if (!placed.pinned && y < RULER + this.layout.pinnedHeight) continue;
        if (y >= top && y < top + placed.height) return placed.row.at(this.span.from + x * scale2, y - top, 4 * scale2, placed.folded);
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
      const { theme, raster, width, height } = this;
      const { from, to, length } = this.span;
      raster.resize(wide, high);
      raster.clear(theme.groundPixel);
      raster.clip(0, high);
      const step = this.options.clock.tick(length * 90 / width);
      paintGrid(raster, theme, from, to, step, ratio);
      const split = RULER + this.layout.pinnedHeight;
      const panes = visible.map(({ placed, y }) => [placed.row, {
        raster,
        context,
        theme,
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
      for (const [row2, pane] of panes) {
        raster.clip(pane.clipTop * ratio, pane.clipBottom * ratio);
        row2.paint(pane);
      }
      raster.show(context);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      calibrate(context);
      drawRuler(context, theme, this.options.clock, from, to, step, width);
      for (const [row2, pane] of panes) {
        context.save();
        context.beginPath();
        context.rect(0, pane.clipTop, width, pane.clipBottom - pane.clipTop);
        context.clip();
        context.fillStyle = theme.grid;
        context.fillRect(0, pane.top + pane.height - 0.5, width, 0.5);
        row2.draw(pane);
        drawOutline(row2, pane, this.hovered, theme.soft, 1);
        drawOutline(row2, pane, this.picked, theme.ink, 2);
        context.restore();
      }
      if (this.layout.pinned.length) {
        context.fillStyle = theme.accent;
        context.fillRect(0, split - 1, width, 1);
      }
      const plot = { context, theme, from, width, height, scale: width / length };
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

  // src/timeline_state.ts
  var MOST3 = 40;
  var written = (value) => String(Number(value.toPrecision(15)));
  function writeState(state, shown) {
    state.set({
      t: `${written(shown.from)},${written(shown.to)}`,
      pins: shown.pins.slice(0, MOST3).join(",") || null,
      folded: shown.folded.slice(0, MOST3).join(",") || null,
      area: shown.area ? [written(shown.area.from), written(shown.area.to), ...shown.area.rows.slice(0, 2 * MOST3)].join(",") : null,
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
    const [row2, key] = list("pick");
    if (row2 !== void 0 && key !== void 0) found.picked = { row: row2, key };
    return found;
  }

  // src/trace_data.ts
  var KIND_OF_TYPE = { 7: 0, 8: 1, 9: 4, 10: 3, 11: 3, 12: 3 };
  var COLUMNS4 = ["start", "cycles", "type", "program", "compute_set"];
  function asSteps(first, columns, from = 0, to) {
    const part2 = (name) => columns[name].subarray(from, to);
    const more = columns.mean_tile_cycles ? { more: { mean: part2("mean_tile_cycles"), bytesIn: part2("bytes_in"), bytesOut: part2("bytes_out") } } : {};
    return {
      ...more,
      first,
      start: part2("start"),
      cycles: part2("cycles"),
      kind: Uint8Array.from(part2("type"), (type) => KIND_OF_TYPE[type] ?? 2),
      program: Int32Array.from(part2("program")),
      computeSet: Int32Array.from(part2("compute_set"))
    };
  }
  var Names = class _Names {
    constructor(source, report, frame, changed) {
      this.source = source;
      this.report = report;
      this.frame = frame;
      this.changed = changed;
      if (!source.served) {
        source.frame(report, `execution_${frame}`, ["name", "id"]).then(({ columns }) => {
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
    get(row2) {
      const found = this.known.get(row2);
      if (found !== void 0 || row2 < 0) return found ?? "";
      const part2 = Math.floor(row2 / _Names.PART);
      if (this.source.served && !this.asked.has(part2)) {
        this.asked.add(part2);
        this.source.frame(this.report, this.frame, ["name"], part2 * _Names.PART, _Names.PART).then(({ first, columns }) => {
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
      this.store = source.served ? new LoadedSteps(async (first, rows) => asSteps(first, (await source.frame(report, "steps", COLUMNS4, first, rows)).columns), changed) : new KeptSteps([]);
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
        let part2;
        try {
          part2 = await this.source.frame(this.report, "pyramid", names, first, 1e5);
        } catch (error) {
          if (error instanceof Missing) break;
          throw error;
        }
        const column2 = (name) => part2.columns[name];
        const lane = column2("lane"), level = column2("level");
        for (let at = 0; at < part2.rows; ) {
          let end = at + 1;
          while (end < part2.rows && lane[end] === lane[at] && level[end] === level[at]) end++;
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
        first += part2.rows;
        if (!part2.rows || first >= part2.total || !this.source.served) break;
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
        const { columns } = await this.source.frame(this.report, "steps", [...COLUMNS4, "id", "mean_tile_cycles", "bytes_in", "bytes_out"]);
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
        const part2 = (values) => values.subarray(at, last);
        const labels = /* @__PURE__ */ new Map();
        const label = Array.from(part2(batch), (number, place2) => {
          const of = stage[at + place2];
          const text3 = number < 0 && of < 0 ? SUMMED : (number >= 0 ? `micro-batch ${number}` : "once") + (of >= 0 ? `, stage ${of}` : "");
          return labels.get(text3) ?? (labels.set(text3, labels.size), labels.size - 1);
        });
        const spans = {
          start: part2(start).slice(),
          end: part2(end).slice(),
          label,
          labels: [...labels.keys()],
          colours: HUES2,
          colour: Int32Array.from(part2(batch), (number) => number < 0 ? HUES2.length - 2 : number % HUES2.length)
        };
        found.set(lane[at], { spans, stage: part2(stage), batch: part2(batch), busy: part2(busy), stages: new Set(part2(stage).filter((each) => each >= 0)).size });
        at = last;
      }
      return found;
    }
  };
  var SUMMED = "more micro-batches, summed up";
  function joined2(one, other) {
    const both = (a, b) => {
      const made3 = new Float64Array(a.length + b.length);
      made3.set(a);
      made3.set(b, a.length);
      return made3;
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
        const row2 = piece.first + at;
        const lane = trace.info.lanes.find((each) => row2 >= each.first_step && row2 < each.first_step + each.steps);
        if (!lane) continue;
        total++;
        if (steps.length < most) steps.push([lane.lane, row2, piece.start[at], piece.cycles[at], name]);
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
          const share2 = (Math.min(high, end) - Math.max(low, start)) / (high - low || 1);
          base.sums.forEach((sum2, kind) => {
            found[FIELDS[kind]] += sum2[at] * share2;
            found.cycles += sum2[at] * share2;
          });
          found.steps += lastRow - firstRow;
          found.mean_tile_cycles = found.bytes_in = found.bytes_out = NaN;
          rough++;
          continue;
        }
        for (let row2 = firstRow; row2 < lastRow; row2++) {
          const steps = trace.store.get(row2);
          if (!steps) continue;
          const place2 = row2 - steps.first, from = steps.start[place2], to = from + steps.cycles[place2];
          const inside = Math.min(to, end) - Math.max(from, start);
          if (inside <= 0) continue;
          const kind = steps.kind[place2];
          const share2 = inside / (to - from), mean = (steps.more?.mean[place2] ?? NaN) * share2;
          found[FIELDS[kind]] += inside;
          found.cycles += inside;
          found.steps++;
          if (kind === 0) found.mean_tile_cycles += mean;
          found.bytes_in += (steps.more?.bytesIn[place2] ?? NaN) * share2;
          found.bytes_out += (steps.more?.bytesOut[place2] ?? NaN) * share2;
          if (kind === 2) continue;
          const name = trace.name(steps, place2) || "(no name)";
          const total = names.get(name) ?? [0, 0, 0, 0];
          names.set(name, [total[0] + inside, total[1] + (kind === 0 ? inside : 0), total[2] + (kind === 0 ? mean : 0), total[3] + 1]);
        }
      }
      return [found];
    });
    const ranked = [...names].sort((one, other) => other[1][0] - one[1][0]);
    return {
      start,
      end,
      lanes,
      ops_total: ranked.length,
      by: "compute set",
      ops: ranked.slice(0, 200).map(([name, [cycles, compute, mean, steps]]) => [-1, name, "", cycles, compute, mean, steps]),
      ...rough ? { note: "For part of this area the page holds only sums of 16 steps, without names, tile balance and bytes. \u201Ctremula view --serve\u201D shows every step." } : {}
    };
  }
  async function keptStep(trace, step) {
    const steps = trace.store.get(step);
    if (!steps) return null;
    const at = step - steps.first;
    const found = await trace.source.frame(trace.report, "steps", ["id", "mean_tile_cycles", "active_tiles", "bytes_in", "bytes_out", "micro_batch", "stage", "op_id"]).catch(() => null);
    const place2 = found ? found.columns.id.indexOf(step) : -1;
    const value = (name, missing) => found && place2 >= 0 ? found.columns[name][place2] ?? missing : missing;
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
    const row2 = ops ? ops.columns.id.indexOf(detail.op_id) : -1;
    if (ops && row2 >= 0) {
      const text3 = (name) => ops.columns[name][row2] ?? "";
      detail.op = { name: text3("name"), target: text3("target"), phase: text3("phase"), module: text3("module"), source: text3("source"), function: text3("source_function") };
    }
    return detail;
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
    return legend(KIND_WORDS.map(([, words2, colour]) => [words2, colour]));
  }
  var sum = (rows, of) => rows.reduce((total, row2) => total + of(row2), 0);
  function figures2(info) {
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
  function figure2(value, label, hint, more = "") {
    return el(
      "div",
      { class: "card", title: hint },
      el("div", { class: "figure", text: value }),
      el("div", { class: "label", text: label }),
      more ? el("div", { class: "note", text: more }) : null
    );
  }
  function summaryCards(info, other) {
    const a = figures2(info), b = other ? figures2(other) : null;
    const compared2 = (before, after, format) => after === void 0 ? "" : `second: ${format(after)}` + (format(before) === format(after) ? ", the same" : `, ${delta(before, after, format)}`);
    const part2 = (value) => `${(100 * value).toFixed(1)}%`;
    return el(
      "div",
      { class: "cards trace-cards" },
      figure2(time(a.run / info.clock_hz), `for the run: ${whole(a.run)} cycles, modelled`, "From the first to the last cycle of the run", compared2(a.run, b?.run, whole)),
      figure2(part2(a.efficiency), "parallel efficiency, modelled", "The share of all tile cycles in which a tile computes", compared2(a.efficiency, b?.efficiency, part2)),
      figure2(part2(a.balance), "tile balance, modelled", "The mean active tile divided by the slowest one, while they compute", compared2(a.balance, b?.balance, part2)),
      figure2(bytes(a.streamed), "copied to and from the host, modelled", "Bytes of the stream copies of all IPUs", compared2(a.streamed, b?.streamed, bytes)),
      figure2(bytes(a.crossed), "exchanged between IPUs, modelled", "Bytes that IPUs send to other IPUs", compared2(a.crossed, b?.crossed, bytes))
    );
  }
  function proportions(info) {
    return shareBar(KIND_WORDS.map(([kind, words2, colour]) => [words2, sum(info.lanes, (lane) => lane[kind]), colour]), (value) => `${whole(value)} cycles`);
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
  var known = (value, text3) => Number.isNaN(value) ? "\u2013" : text3(value);
  var share = (part2, all) => known(part2, (value) => percent(value, all));
  function selectionCard(found, clock, title, other, go) {
    const length = found.end - found.start;
    const all = sum(found.lanes, (lane) => lane.cycles);
    const of = (selected2, kind) => sum(selected2.lanes, (lane) => lane[kind]);
    const kinds = KIND_WORDS.map(([kind, words2]) => [
      words2,
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
      share(lane.mean_tile_cycles, lane.compute),
      known(lane.bytes_in, bytes),
      known(lane.bytes_out, bytes)
    ]);
    const ops = found.ops.map(([op, name, module, cycles, computed, mean, steps]) => {
      const link = el("button", { type: "button", class: "link", text: name, title: module, onclick: () => go(op) });
      return [op >= 0 ? link : name, whole(cycles), percent(cycles, all), computed ? share(mean, computed) : "", whole(steps)];
    });
    return card(
      title,
      el("p", { class: "lead", text: `${whole(length)} cycles (${time(length / clock)}) on ${plural(found.lanes.length, "IPU")}, modelled: ${percent(compute, all)} compute, tile balance ${share(sum(found.lanes, (lane) => lane.mean_tile_cycles), compute)}, ${known(sum(found.lanes, (lane) => lane.bytes_in), bytes)} in, ${known(sum(found.lanes, (lane) => lane.bytes_out), bytes)} out.` }),
      found.note ? note(found.note) : null,
      el(
        "div",
        { class: "columns" },
        el(
          "div",
          {},
          el("h3", { text: "By kind" }),
          plainTable("by kind", [["kind"], ["cycles", true], ["share", true], ...other ? [["second", true], ["difference", true]] : []], kinds),
          el("h3", { text: "By IPU" }),
          plainTable("by IPU", [["IPU"], ["steps", true], ["compute", true], ["exchange", true], ["waiting", true], ["balance", true], ["in", true], ["out", true]], lanes)
        ),
        el(
          "div",
          {},
          el("h3", { text: `By ${found.by ?? "op"}, without waiting` }),
          plainTable(`by ${found.by ?? "op"}`, [[found.by ?? "op"], ["cycles", true], ["share", true], ["balance", true], ["steps", true]], ops),
          found.ops_total > found.ops.length ? note(`the largest ${whole(found.ops.length)} of ${whole(found.ops_total)}`) : null
        )
      )
    );
  }
  function stepCard(step, clock, tiles3, go) {
    const link = (text3, view, values) => el("button", { type: "button", class: "link", text: text3, onclick: () => go(view, values) });
    const lines = [
      ["cycles", `${whole(step.cycles)} (${time(step.cycles / clock)}), from ${whole(step.start)} on, modelled`],
      ["on", `IPU ${step.ipu}` + (step.stage >= 0 ? `, stage ${step.stage}` : "") + (step.micro_batch >= 0 ? `, micro-batch ${step.micro_batch}` : "")],
      ["op", step.op ? link(`${step.op.name} (${step.op.target}, ${step.op.phase})`, "operations", { op: step.op_id }) : null],
      ["module", step.op?.module || null],
      ["source", step.op?.source ? step.op.source + (step.op.function ? ` in ${step.op.function}` : "") : null],
      ["compute set", step.compute_set_name ? `${step.compute_set_name}${step.vertices ? ` (${plural(step.vertices, "vertex", "vertices")})` : ""}` : null],
      ["tiles", step.active_tiles ? `${whole(step.active_tiles)} of ${whole(tiles3)} take part` : null],
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
    const clock = trace.info.clock_hz, count = trace.info.lanes.length, tall = count <= 8 ? 40 : count <= 16 ? 30 : 22;
    const shares = (sums, total) => sums.flatMap((value, kind) => value > 0 ? [[KINDS[kind] ?? "", `${whole(value)} cycles, ${percent(value, total)}`, KIND_COLOURS[kind] ?? ""]] : []);
    return trace.info.lanes.map((info, at) => new LaneRow(trace.lanes[at], trace.store, {
      id: `${letter2}${info.lane}`,
      name: `IPU ${info.ipu}`,
      note: `${percent(info.compute, info.cycles)} compute`,
      parent: `${letter2}-lanes`,
      offset: 0,
      factor,
      tall,
      label: (steps, step) => trace.name(steps, step) || ["compute", "exchange", "waiting", "stream copy", "between IPUs"][steps.kind[step]] || "",
      stepTip: (steps, step, label) => ({ title: label, lines: [
        [KINDS[steps.kind[step]] ?? "", `${whole(steps.cycles[step])} cycles, ${time(steps.cycles[step] / clock)}`, KIND_COLOURS[steps.kind[step]] ?? ""],
        ["from cycle", whole(steps.start[step])],
        ["on", `IPU ${info.ipu}, modelled`]
      ] }),
      groupTip: (count2, from, to, sums) => ({ title: `IPU ${info.ipu}: ${plural(count2, "step")}`, lines: [
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
        sketched: false,
        words: (_, span) => batch[span] < 0 && stage[span] < 0 ? SUMMED : batch[span] < 0 ? `stage ${stage[span]}` : found.stages > 1 ? `${batch[span]} \xB7 s${stage[span]}` : String(batch[span]),
        tip: (set, span) => {
          const length = found.spans.end[span] - found.spans.start[span];
          return { title: set.label(span), lines: [["cycles", `${whole(length)}, ${time(length / side.trace.info.clock_hz)}`], ["working", percent(busy[span], length)], ["on", `IPU ${info.ipu}, modelled`]] };
        }
      })];
    });
  }
  function rowsOf(side, compared2) {
    const stages = stageRows(side), name = compared2 ? side.letter === "a" ? "First: " : "Second: " : "", of = compared2 ? `${side.title}: ` : "";
    return [
      ...stages.length ? [new HeadingRow(`${side.letter}-stages`, `${name}Pipeline`, `${of}the number is the micro-batch, s the stage; gaps are bubbles`), ...stages] : [],
      new HeadingRow(`${side.letter}-lanes`, `${name}IPUs`, `${of}from the bottom up: compute, exchange, stream copies, waiting`),
      ...laneRows(side)
    ];
  }
  function differences(a, b) {
    const total = (info, kind) => info.lanes.reduce((sum2, lane) => sum2 + lane[kind], 0);
    const run = (info) => Math.max(0, ...info.lanes.map((lane) => lane.cycles));
    const moved = (info, key) => info.lanes.reduce((sum2, lane) => sum2 + lane[key], 0);
    return plainTable("difference of the two runs", [["modelled"], ["first", true], ["second", true], ["difference", true]], [
      ["time of the run", time(run(a) / a.clock_hz), time(run(b) / b.clock_hz), delta(run(a) / a.clock_hz, run(b) / b.clock_hz, time)],
      ...KIND_WORDS.map(([kind, words2]) => [`cycles of ${words2}, all IPUs`, whole(total(a, kind)), whole(total(b, kind)), delta(total(a, kind), total(b, kind), whole)]),
      ...[["stream_in", "bytes from the host"], ["stream_out", "bytes to the host"], ["ipus_in", "bytes between IPUs"]].map(([key, words2]) => [words2, bytes(moved(a, key)), bytes(moved(b, key)), delta(moved(a, key), moved(b, key), bytes)])
    ]);
  }
  var sentences = (text3) => text3.split("; ").map((part2) => part2.charAt(0).toUpperCase() + part2.slice(1) + ".").join(" ");
  async function search(sides, needle, most) {
    const all = { matches: [], total: 0 };
    for (const { trace, letter: letter2, factor } of sides) {
      const answer = trace.source.served ? await trace.source.json(trace.report, "execution_search", { run: trace.info.run, text: needle }) : keptSearch(trace, needle, most);
      all.total += answer.total;
      for (const [lane, step, start, cycles, text3] of answer.steps)
        all.matches.push({ row: `${letter2}${lane}`, key: `s${step}`, from: start * factor, to: (start + cycles) * factor, text: text3 });
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
  async function render2(host, context) {
    const redraw = () => timeline?.redraw();
    let timeline = null, restored = false;
    const wanted = context.state.get("run");
    const first = await openTrace(context.source, context.report.id, /^\d{1,6}$/.test(wanted) ? Number(wanted) : null, redraw);
    const second = context.other ? await openTrace(context.source, context.other.id, null, redraw).catch(() => null) : null;
    const { info } = first;
    if (!info.lanes.length) {
      host.append(note("This profile has no recorded run. It holds the program and its costs, but no execution steps."));
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
      // not before what the address says was taken up
      onstate: (state2) => {
        if (restored) writeState(context.state, state2);
      },
      onpick: (item) => void pick2(item),
      onarea: (chosen2) => void select(chosen2)
    });
    const shown = timeline;
    context.onclose(() => shown.destroy());
    context.onkey((event) => shown.key(event));
    let asked3 = 0, chosen = 0;
    const select = async (chosenArea) => {
      const turn = ++asked3;
      if (!chosenArea) {
        area.replaceChildren();
        return;
      }
      const found = await Promise.all(sides.map((side) => selected(side, chosenArea)));
      if (turn !== asked3) return;
      const [one, two] = [found[0] ?? null, found[1] ?? null];
      const go = (op) => context.go("operations", { op });
      const base = one ?? two;
      area.replaceChildren(base ? selectionCard(base, info.clock_hz, "Selected area", one && two ? two : null, go) : "");
    };
    const pick2 = async (item) => {
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
      for (const row2 of shown.layout.all) if (row2 instanceof LaneRow) row2.split = on;
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
        void render2(host, context);
      }));
    }
    const run = info.runs.find((each) => each.id === info.run);
    host.append(
      summaryCards(info, sides[1]?.trace.info ?? null),
      said,
      el("section", { class: "card trace-card" }, shown.node, laneLegend()),
      detail,
      area,
      ...sides[1] ? [card("Difference between the two runs, modelled", differences(info, sides[1].trace.info))] : [],
      card("Where the cycles go, modelled", proportions(info), laneTable(info))
    );
    if (run?.note && run.note !== "modelled, not measured") said.append(note(sentences(run.note)));
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
        said.append(note(`This page holds the first ${whole(trace.stepsHere)} of ${whole(Math.max(steps, trace.info.steps_total))} steps one by one, and sums of 16 steps for the rest. \u201Ctremula view --serve\u201D shows every step.`));
    }
    fill();
    split(isSplit());
    const state = readState(context.state);
    if (!state.folded?.length && info.lanes.length > 16) state.folded = sides.map((side) => `${side.letter}-stages`);
    restored = true;
    shown.setState(state);
  }
  var traceView = {
    id: "trace",
    title: "Execution Trace",
    lead: "What each IPU does, and when. Use the wheel to zoom and drag to move. Hold Shift and drag to select an area. Click a step for its details.",
    key: "t",
    render: render2
  };

  // src/graph.ts
  var VIEWS = [
    summaryView,
    insightsView,
    memoryView,
    livenessView,
    programView,
    operationsView,
    traceView,
    pipelineView
  ];
  openSource().then(async (source) => {
    const every = await source.reports();
    const reports = every.filter((report) => report.kind === "profile");
    if (!reports.length) throw new Error("There is no report to show.");
    new Frame(source, reports, VIEWS).open();
    if (source.served && every.length > reports.length) {
      document.getElementById("actions")?.prepend(el("a", { class: "link", href: "/system", text: "Host traces" }));
    }
  }).catch((error) => {
    document.getElementById("view")?.append(el("p", { class: "bad", role: "alert", text: error instanceof Error ? error.message : String(error) }));
    console.error(error);
  });
})();
