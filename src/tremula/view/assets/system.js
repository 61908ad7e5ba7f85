// made from web/src by "make web"; sources sha256:767bcfbd8959bcdbefdcbfdaf7c444bbc646acd22460a5406abbb0db8c981084
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
