// What if: facts added or taken back, rules changed; what all of it does; undo; save under a new name.
import { html, useState } from "../vendor/htm-preact.js";
import { address, tell, useAnswer } from "../api.js";
import { Answer, Effect, EntityBox, Failure, Heading, Preview, changeText, count, ofCurrent, plain, to } from "../parts.js";

export function WhatIf({ params, exhibit, version, changed }) {
  const state = useAnswer("what-if", ofCurrent({}), version);
  const [change, setChange] = useState(null);
  return html`<${Heading} title="What if" view="what-if" csv more=${html`<a href=${address("rules", ofCurrent({ format: "text" }))} download>rule file</a>`}>
      <p class="muted">Changes are yours alone, until this server ends. Files stay as they are; “Save as” writes new ones.</p><//>
    <${Accepted} version=${version} onTry=${setChange} />
    <${Try} params=${params} exhibit=${exhibit} onTry=${setChange} />
    ${change ? html`<${Preview} change=${change} kind=${exhibit.kind} onLeft=${() => setChange(null)} onKept=${() => { setChange(null); changed(); }} />` : null}
    <${Answer} state=${state}>${(data) => html`
      <section class="card"><h2>Your changes <span class="count">${data.changes.length}</span></h2>
        ${data.changes.length ? html`<ol class="changes">${data.changes.map((one) => html`<li>${changeText(one)}</li>`)}</ol>
          <div class="buttons"><button type="button" onClick=${async () => { await tell("undo", ofCurrent()); changed(); }}>Undo the last change</button>
          <button type="button" onClick=${async () => { await tell("reset", ofCurrent()); changed(); }}>Undo all changes</button></div>`
          : html`<p class="muted">None yet. Add or remove a fact here or on an entity's page, or accept, reject and edit <a href=${to("/rules")}>rules</a>.</p>`}</section>
      ${data.changes.length ? html`<section class="card"><h2>What they do together</h2><${Effect} effect=${data.effect} kind=${data.kind} /></section>` : null}
      <${Save} kind=${data.kind} editable=${data.editable} />`}<//>`;
}

// Links that were accepted are no facts by themselves; here they can be, and be saved.
function Accepted({ version, onTry }) {
  const state = useAnswer("decisions", ofCurrent({ most: 1 }), version);
  const accepted = state.data ? state.data.counts.accept : 0;
  if (!accepted) return null;
  return html`<section class="card"><p class="accepted-links"><a href=${to("/queue", { show: "accepted" })}>${count(accepted, "accepted link")}</a> <button type="button" onClick=${() => onTry({ kind: "add-accepted" })}>See what they change as facts</button></p></section>`;
}

function Try({ params, exhibit, onTry }) {
  const [head, setHead] = useState(params.head || "");
  const [relation, setRelation] = useState(params.relation || "");
  const [tail, setTail] = useState(params.tail || "");
  const whole = head && relation && tail;
  const change = (kind) => onTry({ kind, triple: [head, relation, tail] });
  return html`<form class="question card" aria-label="Try a fact" onSubmit=${(event) => { event.preventDefault(); if (whole) change("add-fact"); }}>
    <${EntityBox} id="if-head" text="head" value=${head} onInput=${setHead} onPick=${setHead} />
    <div class="entity-box"><label class="small-label" for="if-relation">relation</label>
      <input id="if-relation" list="if-relations" value=${relation} autocomplete="off" onInput=${(event) => setRelation(event.target.value)} />
      <datalist id="if-relations">${(exhibit.relations || []).map((one) => html`<option value=${one}>${plain(one)}</option>`)}</datalist></div>
    <${EntityBox} id="if-tail" text="tail" value=${tail} onInput=${setTail} onPick=${setTail} />
    <button type="submit" class="primary" disabled=${!whole}>Add this fact</button>
    <button type="button" disabled=${!whole} onClick=${() => change("remove-fact")}>Remove this fact</button></form>`;
}

function Save({ kind, editable }) {
  const [what, setWhat] = useState("rules");
  const [name, setName] = useState("");
  const [done, setDone] = useState(null);
  const [failed, setFailed] = useState(null);
  const example = { rules: "mine.rules", facts: "mine.tsv", model: "my-model" }[what];
  async function save(event) {
    event.preventDefault();
    setFailed(null);
    setDone(null);
    try { setDone(await tell("save", ofCurrent({ what, name: name || example }))); } catch (error) { setFailed(error); }
  }
  return html`<form class="card save" onSubmit=${save} aria-label="Save as"><h2>Save as</h2>
    <label class="small-label" for="what">what</label>
    <select id="what" onChange=${(event) => setWhat(event.target.value)}><option value="rules">rules, as a rule file</option>
      <option value="model">rules, as a rule model</option><option value="facts">facts</option></select>
    <label class="small-label" for="file">name</label><input id="file" value=${name} placeholder=${example} onInput=${(event) => setName(event.target.value)} />
    <button type="submit" class="primary">Save</button>
    <div aria-live="polite">${done ? html`<p class="done">Saved as <b>${done.file}</b>: ${count(done.rules ?? done.triples, done.rules === undefined ? "fact" : "rule")}.</p>` : null}
    ${failed ? html`<${Failure} error=${failed} />` : null}</div></form>`;
}
