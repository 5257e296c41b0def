// What the page does beyond links and forms. Everything works without it.
"use strict";
(() => {
  const main = document.getElementById("main");
  const said = document.getElementById("said");
  const help = document.getElementById("keys");
  const KEYS_OFF = "aspectra.keys.off"; // in the browser's own store

  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const keysOn = () => { try { return !localStorage.getItem(KEYS_OFF); } catch { return true; } };

  // Parts that need scripts are hidden until they run.
  const reveal = (within) => all("[data-scripts]", within).forEach((one) => { one.hidden = false; });

  // Addresses are for sharing: fields that were left empty are not sent.
  document.addEventListener("formdata", (event) => {
    if (event.target.method !== "get") return;
    for (const name of new Set(event.formData.keys())) {
      const filled = event.formData.getAll(name).filter((value) => value !== "");
      event.formData.delete(name);
      filled.forEach((value) => event.formData.append(name, value));
    }
  });

  // After new content: focus on its heading, its title in the navigation, and a word for screen readers.
  document.addEventListener("htmx:after:swap", (event) => {
    if (event.detail?.ctx?.target?.id === "suggested") {
      const found = all("#suggested input").length;
      said.textContent = found ? `${found} papers suggested` : "no paper is called so";
    }
    const heading = document.getElementById("results");
    if (!heading || heading.dataset.seen) return;
    heading.dataset.seen = "yes";
    heading.focus({ preventScroll: true });
    if (heading.getBoundingClientRect().top > innerHeight / 2) heading.scrollIntoView();
    said.textContent = heading.dataset.say || heading.textContent.trim();
    for (const link of all(".top nav a")) {
      const here = link.pathname === location.pathname;
      if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
  });
  for (const heading of all("#results")) heading.dataset.seen = "yes";

  // Errors of parts are shown below the page, until something else is done.
  const failed = document.getElementById("failed");
  document.addEventListener("htmx:config:request", () => failed.replaceChildren());
  document.addEventListener("htmx:error", () => {
    const part = document.createElement("p");
    part.className = "notice error";
    part.textContent = "There is no answer: does aspectra serve still run?";
    failed.replaceChildren(part);
  });

  // A suggested paper that is ticked moves to the chosen ones, and the field is free for the next.
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("#suggested input[type=checkbox]") && box.checked) {
      const field = document.getElementById("f-seed");
      const chosen = all("#seeds input").some((one) => one.value === box.value);
      if (chosen) box.closest("label").remove();
      else document.getElementById("seeds").append(box.closest("label"));
      document.getElementById("suggested").replaceChildren();
      field.value = "";
      field.focus();
      said.textContent = "chosen";
    }
    if (box.matches("[data-keys-on]")) {
      try { if (box.checked) localStorage.removeItem(KEYS_OFF); else localStorage.setItem(KEYS_OFF, "yes"); } catch { /* not kept */ }
    }
  });

  async function showHelp() {
    if (!help.childElementCount) {
      const answer = await fetch("/keys", { headers: { "HX-Request": "true" } });
      const part = new DOMParser().parseFromString(await answer.text(), "text/html");
      help.replaceChildren(...part.body.children);
    }
    reveal(help);
    const box = help.querySelector("[data-keys-on]");
    if (box) box.checked = keysOn();
    if (!help.open) help.showModal();
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      showHelp();
    }
  });

  // Keys. The paper that has the focus, or holds it, is the current one; without any, the first.
  const papers = () => all("[data-paper]", main);
  const current = () => document.activeElement?.closest?.("[data-paper]");
  const move = (step) => {
    const list = papers();
    const at = list.indexOf(current());
    const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + step))];
    if (!next) return;
    if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: next.offsetHeight > innerHeight ? "start" : "nearest" });
  };
  const press = (selector) => {
    const paper = current() || (papers().length === 1 ? papers()[0] : null);
    const found = paper?.querySelector(selector);
    if (!found) return false;
    found.click();
    return true;
  };
  const undo = () => {
    const form = main.querySelector("form[action='/undo']");
    if (form) form.requestSubmit();
    return Boolean(form);
  };
  const why = () => {
    const part = current()?.querySelector("[data-why]");
    if (part) part.open = !part.open;
    return Boolean(part);
  };
  const toQuestion = () => {
    const field = document.getElementById("f-text");
    if (field) { field.focus(); field.select(); } else location.assign("/");
  };
  const KEYS = {
    "/": toQuestion, j: () => move(1), k: () => move(-1), u: undo, w: why, "?": showHelp,
    i: () => press("[data-decide=include]"), m: () => press("[data-decide=maybe]"), x: () => press("[data-decide=exclude]"),
    c: () => press("[data-choose]"),
    Enter: () => document.activeElement === current() && press("[data-open]"),
  };
  // Other keys are named where they act: a field takes the focus, anything else is pressed.
  const named = (key) => {
    const found = /^[a-z]$/.test(key) && main.querySelector(`[data-key="${key}"]`);
    if (!found) return false;
    const fold = found.closest("details");
    if (fold) fold.open = true;
    if (found.matches("input, textarea, select")) found.focus(); else found.click();
    return true;
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog, [contenteditable]");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat && event.key !== "j" && event.key !== "k") return;
    const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : () => named(event.key);
    if (!keysOn() && event.key !== "Enter") return;
    if (act() !== false) event.preventDefault();
  });

  // A decision redraws its paper: the focus stays with it.
  let redrawn = "";
  document.addEventListener("htmx:before:swap", () => { redrawn = current()?.id || ""; });
  document.addEventListener("htmx:after:settle", () => {
    const paper = redrawn && document.getElementById(redrawn);
    if (paper && !paper.contains(document.activeElement) && document.activeElement === document.body) paper.focus({ preventScroll: true });
    redrawn = "";
  });

  reveal(document);
})();
