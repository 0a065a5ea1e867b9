// The queue of missing links: the likeliest first, decided about with one key each.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { address, ask, queryOf, tell } from "../api.js";
import { EntityBox, Failure, Heading, Name, RuleText, TripleText, addLabels, evidence, go, label, namesEntities, ofCurrent, plain, to } from "../parts.js";

const STEP = 50;
const LEAST_AHEAD = 15; // rows ahead of the cursor, before more are asked for
const SHOWN = [["open", "To decide"], ["postponed", "Postponed"], ["accepted", "Accepted"], ["rejected", "Rejected"]];
const DONE = { accept: "Accepted", reject: "Rejected", postpone: "Postponed" };
const KEYS = { a: "accept", r: "reject", p: "postpone" };

const keyOf = (link) => [link.head, link.relation, link.tail].join("\u0000");
const percent = (share) => `${share >= 0.995 && share < 1 ? ">99" : Math.round(100 * share)}%`;

export function Queue({ params, exhibit, version }) {
  const filters = { relation: params.relation, entity: params.entity, type: params.type, rule: params.rule, evidence: params.evidence, show: params.show };
  const key = queryOf(ofCurrent(filters)) + "#" + version;
  const [state, setState] = useState({ rows: null });
  const [at, setAt] = useState(0);
  const [told, setTold] = useState(null);
  const [failed, setFailed] = useState(null);
  const [job, setJob] = useState(null);
  const touched = useRef(false);
  const now = useRef({});
  const sending = useRef(Promise.resolve());
  now.current = { state, at, told };

  async function load({ start = 0, most = STEP, signal } = {}) {
    const data = await ask("queue", ofCurrent({ ...filters, start, most }), { signal, onProgress: setJob });
    addLabels(data.labels);
    setJob(null);
    return data;
  }
  function begin(signal) {
    return load({ signal }).then((data) => { setState({ ...data, rows: data.links, newer: false }); setFailed(null); })
      .catch((error) => { if (error.name !== "AbortError") setFailed(error); });
  }
  useEffect(() => {
    const stop = new AbortController();
    touched.current = false;
    setAt(0);
    setState((before) => ({ ...before, stale: true }));
    begin(stop.signal);
    return () => stop.abort();
  }, [key]);

  // The search goes on: its links come by themselves until somebody has begun to decide.
  const running = state.search && state.search.running;
  useEffect(() => {
    if (!running) return undefined;
    const stop = new AbortController();
    const timer = setInterval(async () => {
      try {
        if (!touched.current) return void begin(stop.signal);
        const data = await load({ most: 1, signal: stop.signal });
        setState((before) => ({ ...before, search: data.search, newer: before.newer || data.search.found !== before.search.found || data.search.done !== before.search.done }));
      } catch { /* the next time */ }
    }, 2500);
    return () => { clearInterval(timer); stop.abort(); };
  }, [running, key]);

  async function more() {
    const { rows } = now.current.state;
    if (!rows || now.current.asking) return;
    now.current.asking = true;
    try {
      await sending.current; // what was decided is no longer counted
      const data = await load({ start: now.current.state.rows.length });
      setState((before) => {
        const there = new Set(before.rows.map(keyOf));
        return { ...before, ...data, newer: before.newer, rows: [...before.rows, ...data.links.filter((link) => !there.has(keyOf(link)))] };
      });
    } catch (error) { setFailed(error); }
    now.current.asking = false;
  }

  function move(step) {
    touched.current = true;
    setAt((before) => {
      const next = Math.max(0, Math.min((now.current.state.rows || []).length - 1, before + step));
      requestAnimationFrame(() => { const row = document.getElementById(`link-${next}`); if (row) row.scrollIntoView({ block: "nearest" }); });
      return next;
    });
  }

  // The row goes at once; the server is told behind it, one decision after the other.
  function decide(decision, place = now.current.at) {
    const link = (now.current.state.rows || [])[place];
    if (!link || now.current.state.stale) return; // rows of other filters are about to go
    touched.current = true;
    const rows = now.current.state.rows.filter((_, other) => other !== place);
    now.current.state = { ...now.current.state, rows };
    setState((before) => ({ ...before, rows: before.rows.filter((other) => keyOf(other) !== keyOf(link)), count: before.count === null ? null : before.count - 1 }));
    setAt((before) => Math.max(0, Math.min(place < before ? before - 1 : before, rows.length - 1)));
    setTold({ decision, link, place });
    sending.current = sending.current.then(() => tell("decide", ofCurrent({ head: link.head, relation: link.relation, tail: link.tail, decision })))
      .then((answer) => setState((before) => ({ ...before, decisions: answer.counts })))
      .catch((error) => { setFailed(error); back(link, place); });
    if (rows.length - now.current.at < LEAST_AHEAD && now.current.state.more) more();
  }
  function back(link, place) {
    setState((before) => (before.rows.some((other) => keyOf(other) === keyOf(link)) ? before
      : { ...before, rows: [...before.rows.slice(0, place), link, ...before.rows.slice(place)], count: before.count === null ? null : before.count + 1 }));
    setAt(place);
  }
  function undo() {
    sending.current = sending.current.then(() => tell("undecide", ofCurrent())).then((answer) => {
      setState((before) => ({ ...before, decisions: answer.counts }));
      const last = now.current.told;
      if (answer.undone && last && keyOf(last.link) === keyOf(answer.undone)) back(last.link, last.place);
      else if (answer.undone) begin();
      setTold(answer.undone ? { undone: answer.undone } : { nothing: true });
    }).catch(setFailed);
  }

  useEffect(() => {
    const press = (event) => {
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
      const open = (now.current.state.show || "open") === "open";
      if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
      else if (event.key === "u") undo();
      else if (open && KEYS[event.key]) decide(KEYS[event.key]);
      else if (event.key === "w") {
        const link = (now.current.state.rows || [])[now.current.at];
        if (link) go(to("/why", { head: link.head, relation: link.relation, tail: link.tail, side: link.side }));
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [key]);

  const shown = params.show || "open";
  const set = (changes) => go(to("/queue", { ...filters, ...changes }));
  const counts = state.decisions || {};
  return html`<${Heading} title="Missing links" view="queue" params=${filters} csv
      more=${html`<a href=${address("decisions", ofCurrent({ format: "csv" }))} download>decisions</a>`}>
      ${state.search === null ? null : html`<p class="muted lead">${shown === "open" ? html`Links that are no facts yet, ${state.has_probability === false ? "the most plausible" : "the most likely"} first.` : "What you have decided about links."}</p>`}<//>
    ${failed ? html`<${Failure} error=${failed} />` : null}
    ${state.rows && state.search === null ? html`<${Nothing} exhibit=${exhibit} />` : html`
    <${Searching} state=${state} onShow=${() => { touched.current = false; setAt(0); begin(); }} onChange=${(search) => setState((before) => ({ ...before, search }))} />
    <div class="which"><div class="segments" role="group" aria-label="Which links">${SHOWN.map(([name, text]) => html`<button type="button" aria-pressed=${shown === name}
      onClick=${() => set({ show: name === "open" ? undefined : name })}>${text}${name === "open" ? null : html` <span class="count">${(counts[{ postponed: "postpone", accepted: "accept", rejected: "reject" }[name]] || 0).toLocaleString()}</span>`}</button>`)}</div><span class="muted">${state.count === undefined ? "" : state.count === null ? "many links" : `${state.count.toLocaleString()} ${state.count === 1 ? "link" : "links"}`}</span></div>
    <${FilterBar} key=${key} filters=${filters} state=${state} exhibit=${exhibit} set=${set} />
    <div class="decided-note" role="status">${told ? html`<${Told} told=${told} onUndo=${undo} />` : null}</div>
    ${state.rows === null ? html`<p class="waiting" role="status">${job ? `${job.stage} …` : "Opening the missing links …"}</p>`
      : html`<ol class=${"queue" + (state.stale && job ? " stale" : "")} aria-label="Missing links" aria-busy=${state.stale ? "true" : "false"}>${state.rows.map((link, place) => html`<${Row} key=${keyOf(link)} link=${link} place=${place} current=${place === at} open=${shown === "open"}
          onPoint=${() => { touched.current = true; setAt(place); }} onDecide=${(decision) => decide(decision, place)} />`)}</ol>
        ${state.rows.length ? null : html`<${Empty} state=${state} shown=${shown} filters=${filters} set=${set} />`}
        ${state.more ? html`<p class="more"><button type="button" onClick=${more}>Show more links</button></p>` : null}`}
    ${shown === "open" ? html`<p class="muted keys"><kbd>j</kbd> <kbd>k</kbd> next, previous · <kbd>a</kbd> accept · <kbd>r</kbd> reject · <kbd>p</kbd> postpone · <kbd>u</kbd> undo · <kbd>w</kbd> why</p>` : null}`}`;
}

function Searching({ state, onShow, onChange }) {
  const search = state.search;
  if (!search) return null;
  const share = search.total ? search.done / search.total : 1;
  const doing = async (what) => onChange(await tell("search-links", ofCurrent({ do: what })));
  if (search.error && !search.running && !search.stopped) return html`<div class="card failure" role="alert"><b>The search for missing links failed: ${search.error}</b></div>`;
  if (search.done >= search.total && !state.newer) return null;
  return html`<div class="searching" role="status">
    <progress aria-label="How much of the graph was searched" max="1" value=${share}></progress>
    <span>${search.done >= search.total ? "The search is complete." : search.running ? html`Searching: <b>${Math.floor(100 * share)}%</b> of the graph` : html`The search was stopped at <b>${Math.floor(100 * share)}%</b> of the graph`}</span>
    ${state.newer ? html`<button type="button" class="small" onClick=${onShow}>Show the links found since</button>` : null}
    ${search.done >= search.total ? null : search.running ? html`<button type="button" class="small" onClick=${() => doing("stop")}>Stop the search</button>`
      : html`<button type="button" class="small" onClick=${() => doing("go on")}>Go on searching</button>`}</div>`;
}

function FilterBar({ filters, state, exhibit, set }) {
  const [entity, setEntity] = useState(filters.entity ? label(filters.entity) : "");
  const relations = state.relations || [];
  const known = relations.some(([name]) => name === filters.relation);
  const open = (filters.show || "open") === "open";
  const given = [filters.relation, filters.entity, filters.type, filters.rule, filters.evidence].filter(Boolean).length;
  return html`<details class="filter-box" open=${given > 0 || innerWidth > 720}><summary>Filters${given ? ` (${given})` : ""}</summary>
  <form class="controls filters" aria-label="Filter links" onSubmit=${(event) => event.preventDefault()}>
    <div class="field"><label class="small-label" for="by-relation">Relation</label>
    <select id="by-relation" onChange=${(event) => set({ relation: event.target.value || undefined })}>
      <option value="">all relations</option>
      ${filters.relation && !known ? html`<option value=${filters.relation} selected>${plain(filters.relation)}</option>` : null}
      ${relations.map(([name, count]) => html`<option value=${name} selected=${name === filters.relation}>${plain(name)} (${count.toLocaleString()})</option>`)}</select></div>
    <${EntityBox} id="by-entity" text="Entity" placeholder="any" value=${entity} onInput=${(typed) => { setEntity(typed); if (!typed && filters.entity) set({ entity: undefined }); }} onPick=${(name) => set({ entity: name })} />
    ${open && (state.types || []).length ? html`<div class="field"><label class="small-label" for="by-type">Type</label>
      <select id="by-type" onChange=${(event) => set({ type: event.target.value || undefined })}><option value="">any</option>
      ${state.types.map(([name, count]) => html`<option value=${name} selected=${name === filters.type}>${label(name)} (${count.toLocaleString()})</option>`)}</select></div>` : null}
    ${open && exhibit.kind === "rule model" ? html`<label class="check"><input type="checkbox" checked=${filters.evidence === "reasons"} onChange=${(event) => set({ evidence: event.target.checked ? "reasons" : undefined })} /> only where rules say more than popularity</label>` : null}
    ${filters.rule ? html`<p class="filter-rule">by the rule <${RuleText} rule=${filters.rule} /> <button type="button" class="small" onClick=${() => set({ rule: undefined })}>Leave this filter</button></p>` : null}
    </form></details>`;
}

function Told({ told, onUndo }) {
  if (told.nothing) return html`<span class="muted">There is nothing to undo.</span>`;
  if (told.undone) return html`<span class="muted">Undone:</span> <${TripleText} triple=${[told.undone.head, told.undone.relation, told.undone.tail]} linked=${false} />`;
  return html`<b class=${"was " + told.decision}>${DONE[told.decision]}</b> <${TripleText} triple=${[told.link.head, told.link.relation, told.link.tail]} linked=${false} />
    <button type="button" class="small" onClick=${onUndo}>Undo</button>`;
}

function Row({ link, place, current, open, onPoint, onDecide }) {
  const name = `${label(link.head)} ${plain(link.relation)} ${label(link.tail)}`;
  const triple = [link.head, link.relation, link.tail];
  return html`<li id=${`link-${place}`} class=${"link-row" + (current && open ? " current" : "")} aria-current=${current && open ? "true" : undefined} onClick=${onPoint}>
    ${open ? html`<${Chance} link=${link} />` : html`<span class=${"was " + link.decision}>${DONE[link.decision]}</span>`}
    <div class="claim"><p><${TripleText} triple=${triple} /></p>
      ${open ? html`<${Because} link=${link} />` : html`<p class="muted because">${new Date(link.time).toLocaleString()}</p>`}</div>
    ${open ? html`<div class="decide">
      <button type="button" class="yes" aria-label=${`Accept ${name}`} onClick=${(event) => { event.stopPropagation(); onDecide("accept"); }}>Accept</button>
      <button type="button" class="no" aria-label=${`Reject ${name}`} onClick=${(event) => { event.stopPropagation(); onDecide("reject"); }}>Reject</button>
      <button type="button" aria-label=${`Postpone ${name}`} onClick=${(event) => { event.stopPropagation(); onDecide("postpone"); }}>Postpone</button></div>` : null}</li>`;
}

function Chance({ link }) {
  const share = link.probability;
  if (share === null || share === undefined) return html`<div class="chance" title="how high it is ranked; no probability">${link.score.toFixed(2)}<span class="muted">score</span></div>`;
  return html`<div class="chance"><b>${percent(share)}</b><meter min="0" max="1" value=${share} aria-label=${`likely to ${percent(share)}`}></meter></div>`;
}

// The best reason in one line: the facts that the rule walks along.
function Because({ link }) {
  const [best] = link.reasons || [];
  const why = html`<a class="why-link" href=${to("/why", { head: link.head, relation: link.relation, tail: link.tail, side: link.side })} aria-label=${`why: ${label(link.head)} ${plain(link.relation)} ${label(link.tail)}`}>why?</a> `;
  const others = Math.max(0, (link.rules || []).length - 1);
  if (!best || !best.rule) return html`<p class="because muted">by popularity alone: no rule leads to it ${why}</p>`;
  const carried = link.supported ? null : html`<span class="chip quiet" title="Distance and types add more than the rules do">mostly popularity</span> `;
  return html`<p class="because">${carried}<${Chain} from=${link.head} facts=${best.facts} />${namesEntities(best.rule) ? html` <span class="muted">(${evidence(best)})</span>` : null}${others ? html` <span class="muted">and ${others} more ${others === 1 ? "rule" : "rules"}</span>` : null} ${why}
    <a class="why-link" href=${to("/queue", { rule: best.rule })} aria-label=${`Links by the same rule: ${best.rule}`}>same rule</a></p>`;
}

function Chain({ from, facts }) {
  let here = from;
  const steps = [];
  for (const [head, relation, tail] of facts || []) {
    const forwards = head === here;
    if (!forwards && tail !== here) return html`${facts.map((fact, place) => html`${place ? ", " : ""}<${TripleText} triple=${fact} />`)}`;
    here = forwards ? tail : head;
    steps.push(html` <span class="relation" title=${relation}>${forwards ? "" : "← "}${plain(relation)}${forwards ? " →" : ""}</span> <${Name} name=${here} quiet />`);
  }
  return html`<${Name} name=${from} quiet />${steps}`;
}

function Empty({ state, shown, filters, set }) {
  if (shown !== "open") return html`<p class="card muted">No link was ${shown} yet. Decide about links under “To decide”.</p>`;
  const filtered = filters.relation || filters.entity || filters.type || filters.rule || filters.evidence;
  if (filtered) return html`<div class="card"><p>No link is left with these filters${state.search && state.search.running ? "; the search goes on" : ""}.</p>
    <button type="button" onClick=${() => set({ relation: undefined, entity: undefined, type: undefined, rule: undefined, evidence: undefined })}>Show all links</button></div>`;
  if (state.search && state.search.running) return html`<p class="card">The first links come in a few seconds.</p>`;
  if (state.search && state.search.done < state.search.total) return html`<p class="card">No link is left of those that were found before the search was stopped. Go on searching to find more.</p>`;
  return html`<p class="card">All links that were found are decided. Fit the weights again with your decisions: <code>reshuffle train FACTS -o MODEL --recipe rules --refit --decisions FILE</code></p>`;
}

function Nothing({ exhibit }) {
  return html`<section class="card"><h2>Nothing here ranks links</h2>
    ${exhibit.facts === 0 ? html`<p>There are no facts. Give them after the model: <code>reshuffle serve MODEL FACTS</code></p>`
      : html`<p>These rules say what follows, without scores: what follows from them is on the pages of entities, and what a change does under <a href=${to("/what-if")}>What if</a>.</p>
      <p>To rank missing links, learn a weighted list of rules from the facts: <code>reshuffle train FACTS -o MODEL --quick</code>, then <code>reshuffle serve MODEL FACTS</code>.</p>`}
    <p><a href=${to("/overview")}>See what is in the facts</a></p></section>`;
}
