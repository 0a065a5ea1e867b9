// Small pieces that several pages share. Every name from the data is put in as text.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { address, ask, cancel, queryOf, tell } from "./api.js";
import { RuleText, addLabels, count, label, plain, setNames } from "./names.js";

export { RuleText, addLabels, count, evidence, label, namesEntities, plain, ruleInWords, worded } from "./names.js";

// --- addresses ------------------------------------------------------------------------------------------------------

let current;

export function setContext({ of, prefixes, relations }) {
  current = of;
  setNames({ prefixes, relations });
}

export function to(path, params) {
  return path + queryOf({ of: current, ...params });
}

export function go(href) {
  history.pushState(null, "", href);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function ofCurrent(params) { return { of: current, ...params }; }

// --- names ----------------------------------------------------------------------------------------------------------

export function Name({ name, quiet }) {
  const shown = label(name);
  return html`<a class=${quiet ? "name quiet" : "name"} href=${to("/entity", { name })}
    title=${shown === name ? undefined : name}>${shown}</a>`;
}

export function TripleText({ triple, linked = true }) {
  const [head, relation, tail] = triple;
  return html`<span class="triple">
    ${linked ? html`<${Name} name=${head} />` : html`<b>${label(head)}</b>`}
    <span class="relation" title=${relation}>${plain(relation)}</span>
    ${linked ? html`<${Name} name=${tail} />` : html`<b>${label(tail)}</b>`}
  </span>`;
}

export function WhyLink({ triple, children, className, side }) {
  const [head, relation, tail] = triple;
  const told = `why: ${label(head)} ${plain(relation)} ${label(tail)}`;
  return html`<a class=${"why-link " + (className || "")} href=${to("/why", { head, relation, tail, side })}
    aria-label=${children ? undefined : told}>${children || "why?"}</a>`;
}

// --- waiting and failing ----------------------------------------------------------------------------------------------

export function Waiting({ job }) {
  if (!job) return html`<p class="waiting" role="status">…</p>`;
  const share = job.total ? Math.min(1, job.done / job.total) : null;
  const told = job.total ? `${job.done.toLocaleString()} of ${job.total.toLocaleString()} ${job.unit}` : "";
  return html`<div class="card progress" role="status">
    <div class="line"><b>${job.stage}</b> <span class="muted">${told} ${job.note}</span>
      <span class="muted">${job.seconds} s</span>
      <button type="button" class="small" onClick=${() => cancel(job.job)}>Cancel</button></div>
    <progress aria-label=${job.stage} max="1" value=${share === null ? undefined : share}></progress>
  </div>`;
}

export function Failure({ error }) {
  return html`<div class="card failure" role="alert"><b>${error.message}</b>${error.hint ? html`<p>${error.hint}</p>` : null}</div>`;
}

export function Answer({ state, children }) {
  addLabels(state.data && state.data.labels);
  if (state.error) return html`<${Failure} error=${state.error} />`;
  if (!state.data) return html`<${Waiting} job=${state.job} />`;
  return html`<div class=${state.stale && state.job ? "stale" : ""}>
    ${state.stale && state.job ? html`<${Waiting} job=${state.job} />` : null}${children(state.data)}</div>`;
}

// --- headings with the same page in other forms -------------------------------------------------------------------------

let shown = false;

export function Heading({ title, children, view, params, csv, svg, more }) {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${title} · reshuffle`;
    if (heading.current && heading.current.dataset.focus !== title) {
      heading.current.dataset.focus = title;
      // Who goes on to another page is taken to its heading; who loads the page begins at its top.
      if (shown && document.activeElement === document.body) heading.current.focus({ preventScroll: true });
      shown = true;
    }
  }, [title]);
  return html`<header class="heading">
    <div><h1 tabindex="-1" ref=${heading}>${title}</h1>${children}</div>
    <div class="forms" role="group" aria-label="This page in other forms">
      ${view ? html`<a href=${address(view, ofCurrent(params))}>JSON</a>` : null}
      ${csv ? html`<a href=${address(view, ofCurrent({ ...params, format: "csv" }))} download>CSV</a>` : null}
      ${svg ? html`<button type="button" class="link" onClick=${svg}>SVG</button>` : null}
      ${more}
    </div>
  </header>`;
}

// --- search as one types ------------------------------------------------------------------------------------------------

// With `jump` Enter goes to the best match, and relations and rules are found, too; else what was typed stays, since it
// may be a new name.
function entries({ names, relations = [], rules = [] }) {
  return [...names.map((name) => ({ name, kind: "entity" })), ...relations.map((name) => ({ name, kind: "relation" })), ...rules.map((name) => ({ name, kind: "rule" }))];
}

export function EntityBox({ id, value, onInput, onPick, placeholder, text, jump }) {
  const [names, setNames] = useState([]);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const stop = useRef(null);
  const input = useRef(null);

  function look(typed) {
    onInput(typed);
    if (stop.current) stop.current.abort();
    stop.current = new AbortController();
    ask("search", ofCurrent({ q: typed, most: 12, everything: jump ? "true" : undefined }), { signal: stop.current.signal })
      .then((data) => { addLabels(data.labels); setNames(entries(data)); setOpen(true); setAt(-1); })
      .catch((error) => { if (error.name !== "AbortError") setNames([]); });
  }
  // The list may still be that of fewer letters.
  async function first(typed) {
    const found = await ask("search", ofCurrent({ q: typed, most: 1, everything: "true" }));
    addLabels(found.labels);
    const [best] = entries(found);
    if (typed.trim() && best) pick(best);
  }
  function pick(entry) {
    setOpen(false);
    setAt(-1);
    onPick(entry.name, entry.kind);
  }
  function key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return look(input.current.value);
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((at + step + names.length) % Math.max(1, names.length));
    } else if (event.key === "Escape") {
      setOpen(false);
    } else if (event.key === "Enter" && open && at >= 0) {
      event.preventDefault();
      pick(names[at]);
    } else if (event.key === "Enter" && jump) {
      event.preventDefault();
      first(input.current.value);
    }
    return undefined;
  }
  const expanded = open && names.length > 0;
  return html`<div class="entity-box">
    <label for=${id} class=${jump ? "hidden" : "small-label"}>${text}</label>
    <input id=${id} ref=${input} type="text" role="combobox" autocomplete="off" spellcheck=${false}
      aria-expanded=${expanded} aria-controls=${id + "-list"} aria-autocomplete="list"
      aria-activedescendant=${expanded && at >= 0 ? `${id}-${at}` : undefined}
      placeholder=${placeholder} value=${value} onInput=${(event) => look(event.target.value)}
      onKeyDown=${key} onFocus=${(event) => { if (event.target.value === "" && jump) look(""); }}
      onBlur=${() => setTimeout(() => setOpen(false), 150)} />
    <ul id=${id + "-list"} role="listbox" aria-label=${text} hidden=${!expanded}>
      ${names.map(({ name, kind }, place) => html`<li key=${kind + name} id=${`${id}-${place}`} role="option" aria-selected=${place === at}
        class=${place === at ? "at" : ""} onMouseDown=${(event) => { event.preventDefault(); pick({ name, kind }); }}>
        ${kind === "rule" ? html`<${RuleText} rule=${name} />` : kind === "relation" ? plain(name) : label(name)}${kind === "entity" ? (label(name) === name ? null : html` <span class="muted">${name}</span>`) : html` <span class="muted">${kind}</span>`}</li>`)}
    </ul>
  </div>`;
}

// --- changes ------------------------------------------------------------------------------------------------------------

const DONE = {
  "add-fact": "added the fact", "remove-fact": "removed the fact", "accept-rule": "accepted", "reject-rule": "rejected",
  "add-accepted": "counted accepted links as facts:", "restore-rule": "restored", "add-rule": "added the rule", "edit-rule": "edited",
};
const TO_DO = {
  "add-fact": "add the fact", "remove-fact": "remove the fact", "accept-rule": "accept", "reject-rule": "reject",
  "add-accepted": "count accepted links as facts", "restore-rule": "restore", "add-rule": "add the rule", "edit-rule": "edit",
};

const BUTTONS = {
  "add-fact": "Add this fact", "remove-fact": "Remove this fact", "accept-rule": "Accept this rule", "reject-rule": "Reject this rule",
  "add-accepted": "Count them as facts", "restore-rule": "Restore this rule", "add-rule": "Add this rule", "edit-rule": "Replace this rule",
};

export function changeText(change, ahead) {
  const said = (ahead ? TO_DO : DONE)[change.kind];
  return html`<span class="verb">${said}</span> ${change.triple
    ? html`<${TripleText} triple=${change.triple} />`
    : change.rule ? html`<${RuleText} rule=${change.rule} />` : change.links ? count(change.links, "link") : null}${change.to ? html` <span class="verb">into</span> <${RuleText} rule=${change.to} />` : null}`;
}

export async function keep(change) { await tell("changes", ofCurrent({ change })); }

const percent = (share) => `${(100 * share).toFixed(1)}%`;

function HeldOut({ held }) {
  if (!held) return null;
  if (held.measure === "found") {
    return html`<p class="held"><b>${held.before}</b> of ${count(held.asked, "held-out fact")} found before, <b
      class=${held.after < held.before ? "worse" : held.after > held.before ? "better" : ""}>${held.after}</b> now.
      ${held.lost.length ? html` Lost: ${held.lost.slice(0, 3).map((triple, place) => html`${place ? ", " : ""}<${TripleText} triple=${triple} />`)}${held.lost.length > 3 ? ", …" : ""}` : null}</p>`;
  }
  const [before, after] = [held.before, held.after];
  const change = Number(after.mrr.toFixed(3)) - Number(before.mrr.toFixed(3)); // as it is read
  return html`<p class="held">On ${count(held.asked, "held-out fact")}: MRR <b>${before.mrr.toFixed(3)}</b> → <b
    class=${change < 0 ? "worse" : change > 0 ? "better" : ""}>${after.mrr.toFixed(3)}</b>,
    Hits@10 <b>${percent(before["hits@10"])}</b> → <b>${percent(after["hits@10"])}</b>.</p>`;
}

const MOST_RELATIONS = 8;
const MOST_MOVED = 12;

function Changed({ title, found, sign, most = 12 }) {
  const [all, setAll] = useState(false);
  const shown = all ? found.triples : found.triples.slice(0, most);
  return html`<section class=${"changed " + sign}>
    <h3>${title} <span class="count">${found.count.toLocaleString()}</span></h3>
    ${(found.relations || []).length > 1 ? html`<p class="by-relation">${found.relations.slice(0, MOST_RELATIONS).map(([name, number]) => html`<span class="chip quiet">${plain(name)} <b>${number.toLocaleString()}</b></span> `)}${found.relations.length > MOST_RELATIONS ? html`<span class="muted">and ${(found.relations.length - MOST_RELATIONS).toLocaleString()} more relations</span>` : null}</p>` : null}
    ${found.count ? html`<ul class="plain-list">${shown.map((triple) => html`<li key=${triple.join("\u0000")}>
      <${TripleText} triple=${triple} />${sign === "plus" ? html` <${WhyLink} triple=${triple} />` : null}</li>`)}</ul>`
      : html`<p class="muted">nothing</p>`}
    ${shown.length < found.triples.length ? html`<button type="button" class="small" onClick=${() => setAll(true)}>
      show ${Math.min(found.triples.length, found.count)}</button>` : null}
    ${all && found.count > found.triples.length ? html`<p class="muted">and ${(found.count - found.triples.length).toLocaleString()} more</p>` : null}
  </section>`;
}

function Moved({ moved }) {
  return html`<details class="moved"><summary>${count(moved.length, "other score")} ${moved.length === 1 ? "changes" : "change"}</summary>
    <ul class="plain-list">${moved.slice(0, MOST_MOVED).map((one) => html`<li key=${one.triple.join("\u0000")}><${TripleText} triple=${one.triple} /> <span class="muted">${one.before.toFixed(2)} → ${one.after.toFixed(2)}</span></li>`)}</ul>
    ${moved.length > MOST_MOVED ? html`<p class="muted">These change most.</p>` : null}</details>`;
}

export function Effect({ effect, kind }) {
  const rules = kind === "rules";
  return html`<div class="effect">
    <div class="columns">
      <${Changed} title=${rules ? "Appears" : "New among the best"} found=${effect.appeared} sign="plus" />
      <${Changed} title=${rules ? "Vanishes" : "No longer among the best"} found=${effect.vanished} sign="minus" />
    </div>
    ${effect.moved && effect.moved.length ? html`<${Moved} moved=${effect.moved} />` : null}
    ${!effect.complete && rules ? html`<p class="muted">Too much follows to compare all of it: from ${effect.derived[0].toLocaleString()}
      derived triples to ${effect.derived[1].toLocaleString()}. Shown is what was found near the change.</p>` : null}
    ${effect.asked < effect.questions ? html`<p class="muted">Compared for ${effect.asked.toLocaleString()} of the ${effect.questions.toLocaleString()} entities
      that it leads from: those from which it leads most often.</p>` : null}
    ${effect.held_out ? html`<${HeldOut} held=${effect.held_out} />` : null}
  </div>`;
}

// What a change would do, before it is kept.
export function Preview({ change, kind, onKept, onLeft }) {
  const [state, setState] = useState({});
  const [busy, setBusy] = useState(false);
  const key = JSON.stringify(change);
  useEffect(() => {
    const stop = new AbortController();
    setState({});
    ask("effect", ofCurrent({ change: key }), { signal: stop.signal, onProgress: (job) => { addLabels(job.part && job.part.labels); setState({ job }); } })
      .then((data) => { addLabels(data.labels); setState({ data }); })
      .catch((error) => { if (error.name !== "AbortError") setState({ error }); });
    return () => stop.abort();
  }, [key]);
  async function kept() {
    setBusy(true);
    try { await keep(change); onKept(); } catch (error) { setState({ error }); }
    setBusy(false);
  }
  return html`<section class="card preview" aria-label="What this change would do">
    <p class="preview-title">What would change if you ${changeText(change, true)}</p>
    <div aria-live="polite">${state.error ? html`<${Failure} error=${state.error} />`
      : state.data ? html`<${Effect} effect=${state.data.effect} kind=${kind} />` : html`<${Waiting} job=${state.job} />${state.job && state.job.part ? html`<p class="muted">So far:</p><${Effect} effect=${state.job.part} kind=${kind} />` : null}`}</div>
    <div class="buttons">
      <button type="button" class="primary" disabled=${!state.data || busy} onClick=${kept}>${BUTTONS[change.kind]}</button>
      <button type="button" onClick=${onLeft}>Cancel</button>
    </div>
  </section>`;
}
