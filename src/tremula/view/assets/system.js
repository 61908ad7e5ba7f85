// made from web/src by "make web"; sources sha256:3b3a178e289a23a6531772a6a75721af720114d346fba1b8028d19ebf5bb4ebe
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

  // src/system.ts
  document.getElementById("view")?.append(el("p", { class: "note", text: "There is nothing to show yet." }));
})();
