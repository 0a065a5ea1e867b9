// The rules: what is known of each, examples and counter-examples; accept, reject, edit, add, and what that changes.
import { html, useState } from "../vendor/htm-preact.js";
import { address, useAnswer } from "../api.js";
import { Answer, Heading, Preview, RuleText, TripleText, WhyLink, Failure, addLabels, count, go, keep, ofCurrent, to } from "../parts.js";
import { Share } from "./entity.js";

const STEP = 50;

export function Rules({ params, path, exhibit, about, version, changed }) {
  const wanted = { about: params.about, search: params.search, sort: params.sort, start: params.start, most: STEP };
  const [change, setChange] = useState(null);
  const [failed, setFailed] = useState(null);
  const one = path === "/rule" && params.rule;
  const state = useAnswer("rules", ofCurrent(one ? { search: "", most: 1 } : wanted), version);
  const ofRule = useAnswer(one ? "rule" : null, ofCurrent({ rule: params.rule }), version);
  const known = ofRule.data && ofRule.data.known;
  addLabels(ofRule.data && ofRule.data.labels); // before the heading is made
  async function accept(rule) {
    try { await keep({ kind: "accept-rule", rule }); changed(); } catch (error) { setFailed(error); }
  }
  const formats = html`<a href=${address("rules", ofCurrent({ format: "text" }))} download>rule file</a>`;
  const actions = { change: setChange, accept };
  return html`<${Heading} title=${one ? "Rule" : "Rules"} view=${one ? "rule" : "rules"} params=${one ? { rule: params.rule } : wanted} csv=${!one} more=${one ? null : formats}>
      ${one ? html`<p><${RuleText} rule=${params.rule} /></p>` : null}<//>
    ${failed ? html`<${Failure} error=${failed} />` : null}
    ${change ? html`<${Preview} change=${change} kind=${exhibit.kind} onLeft=${() => setChange(null)} onKept=${() => { setChange(null); changed(); if (one && change.kind !== "restore-rule") go(to("/rules", { about: known && known.member_weight !== undefined ? "entities" : undefined })); }} />` : null}
    ${one ? html`<section class="card"><div class="buttons">
        <${Decide} known=${known} rule=${params.rule} actions=${actions} />
        <a class="button" href=${to("/rule-graph", { rule: params.rule })}>Show it in the graph of rules</a></div>
        <${Measures} known=${known} />
        <${Answer} state=${ofRule}>${(data) => html`<${BothKinds} data=${data} />`}<//></section>`
      : html`<${Answer} state=${state}>${(data) => html`
      ${data.editable ? null : html`<p class="note">These rules were read from the weights of a model. Rejecting one leaves it out of what you save; the model's answers stay.</p>`}
      <${Add} onAdd=${(rule) => setChange({ kind: "add-rule", rule })} />
      <${About} data=${data} />
      <${Controls} key=${data.about} params=${params} data=${data} />
      <table class="rules fold"><caption class="hidden">Rules</caption><thead><tr><th scope="col">rule</th>
        ${data.rules.some((row) => row.weight !== undefined) ? html`<th scope="col" class="number">weight</th>` : null}
        <th scope="col" class="number">confidence</th><th scope="col" class="number">support</th><th scope="col">decision</th></tr></thead>
        <tbody>${data.rules.map((row) => html`<${Row} key=${row.rule} row=${row} weights=${data.rules.some((other) => other.weight !== undefined)} actions=${actions} version=${version} />`)}</tbody></table>
      ${data.rules.length ? null : data.total ? html`<p class="muted">No rule has all these words. <a href=${to("/rules", { about: params.about })}>Show all ${count(data.total, "rule")}</a></p>`
        : html`<p class="muted">There is no rule yet. Write one above, or start with a model: <code>reshuffle serve MODEL FACTS</code>.</p>`}
      <${Pages} data=${data} params=${params} />`}<//>`}`;
}

function Decide({ known, rule, actions }) {
  if (known && known.status === "rejected") return html`<span class="chip no">rejected</span><button type="button" onClick=${() => actions.change({ kind: "restore-rule", rule })}>Restore this rule</button>`;
  return html`${known && known.status === "accepted" ? html`<span class="chip yes">accepted</span>` : html`<button type="button" onClick=${() => actions.accept(rule)}>Accept this rule</button>`}
    <button type="button" onClick=${() => actions.change({ kind: "reject-rule", rule })}>Reject this rule</button>`;
}

// What is known of a rule, in one line.
function Measures({ known }) {
  if (!known || !known.is_listed) return null;
  const both = known.member_weight !== undefined && known.member_weight !== known.weight;
  const told = [
    known.weight === undefined || known.weight === null ? null : both ? `weight ${known.weight.toFixed(2)} for the entity, ${known.member_weight.toFixed(2)} for members` : `weight ${known.weight.toFixed(2)}`,
    known.confidence === null || known.confidence === undefined ? null : `confidence ${known.confidence.toFixed(2)}`,
    known.predictions ? `right for ${known.support.toLocaleString()} of ${known.predictions.toLocaleString()}` : known.support ? `support ${known.support.toLocaleString()}` : null,
  ].filter(Boolean);
  return told.length ? html`<p class="muted">${told.join(" · ")}</p>` : null;
}

// Rules about particular entities stand apart: there may be hundreds of thousands.
function About({ data }) {
  if (!data.about_entities) return null;
  return html`<div class="segments" role="group" aria-label="Which rules">
    <button type="button" aria-pressed=${data.about !== "entities"} onClick=${() => go(to("/rules"))}>Paths</button>
    <button type="button" aria-pressed=${data.about === "entities"} onClick=${() => go(to("/rules", { about: "entities" }))}>About particular entities <span class="count">${data.about_entities.toLocaleString()}</span></button></div>`;
}

function Add({ onAdd }) {
  const [text, setText] = useState("");
  return html`<form class="add" onSubmit=${(event) => { event.preventDefault(); if (text.trim()) onAdd(text.trim()); }}>
    <label class="small-label" for="new-rule">Add a rule</label>
    <input id="new-rule" class="mono" value=${text} spellcheck=${false} placeholder="parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)" onInput=${(event) => setText(event.target.value)} />
    <button type="submit" disabled=${!text.trim()}>See what it does</button></form>`;
}

function Controls({ params, data }) {
  const [text, setText] = useState(params.search || "");
  const keys = ["reading", ...(data.rules.some((row) => row.weight !== undefined) ? ["weight"] : []), "confidence", "support", "head"];
  const counts = data.statuses;
  return html`<form class="controls" role="search" aria-label="Filter rules" onSubmit=${(event) => { event.preventDefault(); go(to("/rules", { about: params.about, search: text, sort: params.sort })); }}>
    <label class="small-label" for="filter">Filter</label>
    <input id="filter" value=${text} placeholder="a relation, a part of a rule" onInput=${(event) => setText(event.target.value)} />
    <label class="small-label" for="sort">Sort by</label>
    <select id="sort" onChange=${(event) => go(to("/rules", { about: params.about, search: text, sort: event.target.value }))}>
      ${keys.map((key) => html`<option value=${key} selected=${(params.sort || "reading") === key}>${key === "reading" ? "order of the list" : key}</option>`)}</select>
    <span class="muted">${data.count === data.total ? count(data.total, "rule") : `${data.count.toLocaleString()} of ${count(data.total, "rule")}`}${counts.accepted ? ` · ${counts.accepted} accepted` : ""}${counts.rejected ? ` · ${counts.rejected} rejected` : ""}${counts.added ? ` · ${counts.added} added` : ""}</span></form>`;
}

function Pages({ data, params }) {
  if (data.count <= STEP) return null;
  const link = (start, name) => html`<a href=${to("/rules", { about: params.about, search: params.search, sort: params.sort, start: start || undefined })}>${name}</a>`;
  return html`<nav class="pages" aria-label="Pages of rules">${data.start > 0 ? link(Math.max(0, data.start - STEP), "← before") : null}
    <span>${data.start + 1}–${Math.min(data.count, data.start + STEP)} of ${data.count.toLocaleString()}</span>
    ${data.start + STEP < data.count ? link(data.start + STEP, "next →") : null}</nav>`;
}

function Row({ row, weights, actions, version }) {
  const [open, setOpen] = useState(false);
  const [editing, setEditing] = useState(null);
  const rejected = row.status === "rejected";
  const columns = weights ? 5 : 4;
  return html`<tr class=${"status-" + row.status}>
      <td><button type="button" class="disclosure" aria-expanded=${open} aria-label=${`${open ? "Hide" : "Show"} examples of ${row.rule}`} onClick=${() => setOpen(!open)}>${open ? "▾" : "▸"}</button>
        <a class="rule-link" href=${to("/rule", { rule: row.rule })}><${RuleText} rule=${row.rule} /></a></td>
      ${weights ? html`<td class="number" data-label="weight">${row.weight === undefined ? "" : row.weight.toFixed(2)}</td>` : null}
      <td class="number" data-label="confidence">${row.confidence === null || row.confidence === undefined ? "–" : html`<${Share} value=${row.confidence} />`}</td>
      <td class="number" data-label="support">${row.support === null || row.support === undefined ? "–" : row.support.toLocaleString()}${row.predictions ? html`<span class="muted"> / ${row.predictions.toLocaleString()}</span>` : null}</td>
      <td class="decisions">${rejected
        ? html`<span class="chip no">rejected</span><button type="button" class="small" onClick=${() => actions.change({ kind: "restore-rule", rule: row.rule })}>Restore</button>`
        : html`${row.status === "accepted" ? html`<span class="chip yes">accepted</span>` : html`<button type="button" class="small" aria-label=${`Accept ${row.rule}`} onClick=${() => actions.accept(row.rule)}>Accept</button>`}
          <button type="button" class="small" aria-label=${`Reject ${row.rule}`} onClick=${() => actions.change({ kind: "reject-rule", rule: row.rule })}>Reject</button>
          <button type="button" class="small" aria-label=${`Edit ${row.rule}`} onClick=${() => setEditing(editing === null ? row.rule : null)}>Edit</button>
          ${row.status === "added" ? html`<span class="chip new">added</span>` : null}`}</td></tr>
    ${editing === null ? null : html`<tr class="inner"><td colspan=${columns}><form class="add" onSubmit=${(event) => { event.preventDefault(); actions.change({ kind: "edit-rule", rule: row.rule, to: editing }); setEditing(null); }}>
      <label class="small-label" for="edited">Edit the rule</label><input id="edited" class="mono" value=${editing} spellcheck=${false} onInput=${(event) => setEditing(event.target.value)} />
      <button type="submit" disabled=${editing.trim() === row.rule || !editing.trim()}>See what it does</button></form></td></tr>`}
    ${open ? html`<tr class="inner"><td colspan=${columns}><${Examples} rule=${row.rule} version=${version} /></td></tr>` : null}`;
}

function Examples({ rule, version }) {
  const state = useAnswer("rule", ofCurrent({ rule }), version);
  return html`<${Answer} state=${state}>${(data) => html`<${BothKinds} data=${data} />`}<//>`;
}

function BothKinds({ data }) {
  return html`<div class="columns">
    <${Instances} title="Examples" told="it concludes a fact" found=${data.examples} kind="plus" />
    <${Instances} title="Counter-examples" told="what it concludes is no fact" found=${data.counter_examples} kind="minus" why />
  </div>`;
}

function Instances({ title, told, found, kind, why }) {
  return html`<section class=${"changed " + kind}><h3>${title} <span class="muted">${told}</span></h3>
    ${found.length ? html`<ul class="plain-list">${found.map((one) => html`<li><${TripleText} triple=${one.triple} /> ${why ? html`<${WhyLink} triple=${one.triple} />` : null}
      <div class="by">from ${one.facts.map((fact, place) => html`${place ? ", " : ""}<${TripleText} triple=${fact} />`)}</div></li>`)}</ul>` : html`<p class="muted">none found</p>`}</section>`;
}
