// The page: which view an address names, what stands above all of them, and the search.
import { html, render, useEffect, useState } from "./vendor/htm-preact.js";
import { ask, tell } from "./api.js";
import { EntityBox, Failure, addLabels, count, go, ofCurrent, setContext, to } from "./parts.js";
import { Classes } from "./views/classes.js";
import { Overview } from "./views/overview.js";
import { Queue } from "./views/queue.js";
import { Entity } from "./views/entity.js";
import { Why } from "./views/why.js";
import { Rules } from "./views/rules.js";
import { WhatIf } from "./views/whatif.js";
import { RuleGraph } from "./views/rulegraph.js";
import { Training } from "./views/training.js";

const VIEWS = {
  "/": Home, "/queue": Queue, "/overview": Overview, "/classes": Classes, "/entity": Entity, "/why": Why, "/rules": Rules, "/rule": Rules, "/what-if": WhatIf,
  "/rule-graph": RuleGraph, "/training": Training,
};
const TABS = [["/queue", "Missing links", ["/queue"]], ["/overview", "Overview", ["/overview", "/", "/entity"]], ["/classes", "Classes", ["/classes"]], ["/why", "Why", ["/why"]], ["/rules", "Rules", ["/rules", "/rule"]],
  ["/what-if", "What if", ["/what-if"]], ["/rule-graph", "Graph of rules", ["/rule-graph"]], ["/training", "Training", ["/training"]]];

// One begins with what there is to do: links to decide about, where something ranks them.
function ranks(exhibit) { return exhibit.kind !== "rules" && exhibit.facts !== 0; }

function Home(props) {
  return !ranks(props.exhibit) ? html`<${Overview} ...${props} />` : html`<${Queue} ...${props} />`;
}

function here() {
  return { path: location.pathname, params: Object.fromEntries(new URLSearchParams(location.search)) };
}

function App() {
  const [at, setAt] = useState(here());
  const [about, setAbout] = useState(null);
  const [version, setVersion] = useState(0);
  const [failed, setFailed] = useState(null);

  useEffect(() => {
    const moved = () => { setAt(here()); scrollTo(0, 0); };
    addEventListener("popstate", moved);
    addEventListener("click", follow);
    addEventListener("keydown", shortcut);
    return () => { removeEventListener("popstate", moved); removeEventListener("click", follow); removeEventListener("keydown", shortcut); };
  }, []);
  useEffect(() => {
    let waiting = null;
    const look = () => ask("", {}).then((data) => {
      setAbout(data);
      if (data.exhibits.some((one) => !one.loaded && one.key === (at.params.of || data.exhibits[0].key))) waiting = setTimeout(look, 700);
    }).catch(setFailed);
    look();
    return () => clearTimeout(waiting);
  }, [version, at.params.of]);

  if (failed) return html`<main class="page"><${Failure} error=${failed} /></main>`;
  if (!about) return html`<p class="waiting">Starting …</p>`;
  const exhibit = about.exhibits.find((one) => one.key === at.params.of) || about.exhibits[0];
  setContext({ of: exhibit.key === about.exhibits[0].key ? undefined : exhibit.key, prefixes: exhibit.prefixes, relations: exhibit.relations });
  addLabels(exhibit.labels);
  const View = VIEWS[at.path] || Overview;
  const changed = () => setVersion((before) => before + 1);
  return html`
    <a class="skip" href="#content">Skip to the content</a>
    <${Top} about=${about} exhibit=${exhibit} path=${at.path} changed=${changed} />
    <main id="content" class="page" tabindex="-1">
      <${View} key=${at.path + exhibit.key} params=${at.params} path=${at.path} exhibit=${exhibit} about=${about} version=${version} changed=${changed} />
    </main>
    <footer class="foot">reshuffle ${about.version} · ${exhibit.exactness || exhibit.kind} · <a href="/api/v1">API</a> · <kbd>/</kbd> searches</footer>`;
}

function Top({ about, exhibit, path, changed }) {
  const [typed, setTyped] = useState("");
  const tab = path === "/" ? (ranks(exhibit) ? "/queue" : "/overview") : path;
  useEffect(() => { // on a phone the tabs slide
    const here = document.querySelector(".tabs [aria-current]");
    if (here) here.closest("ul").scrollLeft += here.getBoundingClientRect().left - here.closest("ul").getBoundingClientRect().left - 40;
  }, [tab, exhibit.key]);
  async function undo() { await tell("undo", ofCurrent()); changed(); }
  return html`<header class="top">
    <a class="brand" href=${to("/")} aria-label="reshuffle explorer, start"><img src="/favicon.ico" alt="" width="26" height="26" /><span>reshuffle</span></a>
    <${EntityBox} id="search" text="Search entities, relations and rules" jump placeholder="Search entities, relations, rules …" value=${typed} onInput=${setTyped}
      onPick=${(name, kind) => { setTyped(""); go(kind === "rule" ? to("/rule", { rule: name }) : kind === "relation" ? to("/overview", { relation: name }) : to("/entity", { name })); }} />
    ${about.exhibits.length > 1 ? html`<label class="switch"><span class="hidden">What to explore</span>
      <select value=${exhibit.key} onChange=${(event) => go(path + "?of=" + encodeURIComponent(event.target.value))}>
        ${about.exhibits.map((one) => html`<option value=${one.key} selected=${one.key === exhibit.key}>${one.title}</option>`)}</select></label>`
      : html`<span class="exhibit">${exhibit.title}</span>`}
    <div class="changes-note" aria-live="polite">${exhibit.changes ? html`<a href=${to("/what-if")}>${count(exhibit.changes, "change")}</a>
      <button type="button" class="small" onClick=${undo}>Undo</button>` : null}</div>
    <nav aria-label="Views"><ul class="tabs">${TABS.filter(([href]) => path === href || ((href !== "/training" || exhibit.training) && (href !== "/queue" || ranks(exhibit)) && (href !== "/classes" || exhibit.classes))).map(([href, name, paths]) => html`<li><a href=${to(href)}
      aria-current=${paths.includes(tab) ? "page" : undefined}>${name}</a></li>`)}</ul></nav>
  </header>`;
}

// Links of the page change the address without loading it anew.
function follow(event) {
  const link = event.target.closest && event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.hasAttribute("download")) return;
  const href = link.getAttribute("href");
  if (!href.startsWith("/") || href.startsWith("/api/") || href.startsWith("/static/")) return;
  event.preventDefault();
  go(href);
}

function shortcut(event) {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    document.getElementById("search").focus();
  }
}

const root = document.getElementById("app");
root.textContent = "";
render(html`<${App} />`, root);
