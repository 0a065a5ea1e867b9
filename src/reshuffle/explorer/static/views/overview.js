// What is in the facts: relations with typical ends and their rules, and what a person should look at.
import { html, useState } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Answer, Heading, Name, RuleText, TripleText, label, ofCurrent, plain, to } from "../parts.js";

const AT_FIRST = 40;
const MOSTLY = 0.9; // of the facts, before a relation is called symmetric or functional
const percent = (share) => (share === 1 ? "all" : `${Math.floor(100 * share)}%`);
const some = (number, one, several) => `${number.toLocaleString()} ${number === 1 ? one : several}`;

export function Overview({ params, exhibit, version }) {
  const state = useAnswer("overview", ofCurrent({}), version);
  return html`
    <${Heading} title=${exhibit.title} view="overview" csv>
      <p class="muted lead">${exhibit.facts === undefined ? exhibit.kind
        : html`${some(exhibit.facts, "fact", "facts")} · ${some(exhibit.entities, "entity", "entities")} · ${some(exhibit.relations.length, "relation", "relations")}${exhibit.held_out ? html` · ${some(exhibit.held_out, "held-out fact", "held-out facts")}` : null} · ${exhibit.kind}`}</p><//>
    <${Answer} state=${state}>${(data) => (data.facts === 0 ? html`<section class="card"><h2>There are no facts here</h2>
        <p>Give a file of facts after the model to look at entities and missing links: <code>reshuffle serve MODEL FACTS</code>. Without facts, see the <a href=${to("/rules")}>rules</a>.</p></section>`
      : html`<${Findings} data=${data} /><${Relations} key=${params.relation} wanted=${params.relation} data=${data} kind=${exhibit.kind} />`)}<//>`;
}

// --- what to look at ------------------------------------------------------------------------------------------------

function Findings({ data }) {
  const { violations, exceptions, alike, lone } = data;
  const number = exceptions.reduce((sum, one) => sum + one.count, 0);
  return html`<section aria-labelledby="to-look-at"><h2 id="to-look-at">To look at</h2><div class="findings">
    ${violations.constraints ? html`<${Finding} bad count=${violations.count} more=${violations.more} title="broken constraints" told=${`of ${some(violations.constraints, "constraint", "constraints")}`}>
      <ul class="plain-list">${violations.found.map((one) => html`<li><details><summary><code>${one.constraint}</code></summary><pre tabindex="0">${one.text}</pre></details></li>`)}</ul><//>` : null}
    <${Finding} count=${number} title=${number === 1 ? "unusual second value" : "unusual second values"} told="where nearly every head has one tail">
      <ul class="plain-list">${exceptions.map((one) => html`<li><span class="relation" title=${one.relation}>${plain(one.relation)}</span> <span class="muted">one tail for ${percent(one.share)} of its heads, but</span>
        <ul class="plain-list">${one.heads.map((row) => html`<li><${Name} name=${row.head} />: ${row.tails.map((tail, place) => html`${place ? ", " : ""}<${Name} name=${tail} quiet />`)}${row.count > row.tails.length ? ` and ${row.count - row.tails.length} more` : ""}</li>`)}</ul></li>`)}</ul><//>
    <${Finding} count=${alike.count} title=${alike.count === 1 ? "name that is nearly another" : "names that are nearly others"} told="they differ in case, blanks or punctuation alone">
      <ul class="plain-list">${alike.names.map((group) => html`<li>${group.map((name, place) => html`${place ? " · " : ""}<${Name} name=${name} />${label(name) === name ? null : html` <span class="muted">${name}</span>`}`)}</li>`)}</ul><//>
    <${Finding} count=${lone.count} title=${lone.count === 1 ? "entity with a single fact" : "entities with a single fact"} told="little can be found out about them">
      <ul class="chips">${lone.names.map((name) => html`<li><${Name} name=${name} /></li>`)}</ul>${lone.count > lone.names.length ? html`<p class="muted">and ${(lone.count - lone.names.length).toLocaleString()} more</p>` : null}<//>
  </div></section>`;
}

function Finding({ count, more, title, told, bad, children }) {
  if (!count) return html`<div class="card finding none"><b>0</b> ${title} <span class="muted">${told}</span></div>`;
  return html`<details class=${"card finding" + (bad ? " bad" : "")}><summary><b>${count.toLocaleString()}${more ? "+" : ""}</b> ${title} <span class="muted">${told}</span></summary>${children}</details>`;
}

// --- relations ------------------------------------------------------------------------------------------------------

function Relations({ data, kind, wanted }) {
  const [typed, setTyped] = useState(wanted || "");
  const [all, setAll] = useState(false);
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = data.relations.filter((row) => words.every((word) => `${row.relation} ${label(row.relation)}`.toLowerCase().includes(word)));
  const shown = all ? found : found.slice(0, AT_FIRST);
  const most = Math.max(...data.relations.map((row) => row.facts), 1);
  return html`<section aria-labelledby="relations"><div class="which"><h2 id="relations">Relations <span class="count">${data.relations.length.toLocaleString()}</span></h2>
      ${data.about_entities ? html`<a href=${to("/rules", { about: "entities" })}>${some(data.about_entities, "rule", "rules")} about particular entities</a>` : null}
      <label class="hidden" for="of-relations">Filter relations</label><input id="of-relations" value=${typed} placeholder="Filter relations …" autocomplete="off" onInput=${(event) => setTyped(event.target.value)} /></div>
    <ul class="relation-list">${shown.map((row) => html`<${Relation} key=${row.relation} row=${row} most=${most} kind=${kind} known=${data.rules_known} />`)}</ul>
    ${found.length ? null : html`<p class="card muted">No relation has these words.</p>`}
    ${shown.length < found.length ? html`<p class="more"><button type="button" onClick=${() => setAll(true)}>Show all ${found.length.toLocaleString()} relations</button></p>` : null}</section>`;
}

function traits(row) {
  return [
    row.symmetric >= MOSTLY ? "symmetric" : row.symmetric >= 0.3 ? `${percent(row.symmetric)} both ways` : null,
    row.one_tail >= MOSTLY ? (row.one_tail === 1 ? "one tail per head" : `one tail for ${percent(row.one_tail)} of heads`) : null,
    row.one_head >= MOSTLY ? (row.one_head === 1 ? "one head per tail" : `one head for ${percent(row.one_head)} of tails`) : null,
  ].filter(Boolean);
}

function Ends({ title, number, typical }) {
  return html`<div class="ends"><span class="muted">${number.toLocaleString()} ${number === 1 ? title : title + "s"}:</span> ${typical.map(([name, times], place) => html`${place ? ", " : ""}<${Name} name=${name} quiet />${times > 1 ? html` <span class="muted">${times.toLocaleString()}×</span>` : null}`)}</div>`;
}

// The rules of a relation in words; of a list, the rule that is shown has the most weight, and others may be surer.
function howGood(rules) {
  const share = percent(rules.best.confidence);
  if (rules.count === 1) return `1 rule, right in ${share} of cases`;
  const shown = rules.best.weight === null || rules.best.weight === undefined ? "the surest" : "the one with the most weight";
  return `${rules.count.toLocaleString()} rules, ${rules.over_half.toLocaleString()} of them right in most cases; ${shown} in ${share}`;
}

function Relation({ row, most, kind, known }) {
  const best = row.rules && row.rules.best;
  return html`<li class="card relation-row">
    <div class="relation-head"><h3 title=${row.relation}>${plain(row.relation)}</h3><span class="facts-bar"><span class="fill" style=${{ width: `${Math.max(1, (100 * row.facts) / most)}%` }}></span></span><span class="muted">${some(row.facts, "fact", "facts")}</span></div>
    <div class="relation-body"><${Ends} title="head" number=${row.heads} typical=${row.typical_heads} /><${Ends} title="tail" number=${row.tails} typical=${row.typical_tails} />
      ${traits(row).length ? html`<div>${traits(row).map((one) => html`<span class="chip trait">${one}</span> `)}</div>` : null}</div>
    <div class="relation-rules">${!known ? null : best ? html`<div>${row.rules.best.confidence !== null && row.rules.best.confidence !== undefined ? html`<span class="muted">${howGood(row.rules)}:</span>` : html`<span class="muted">${some(row.rules.count, "rule", "rules")}${row.rules.count > 1 ? ", such as" : ""}:</span>`}</div>
        <a class="rule-link" href=${to("/rule", { rule: best.rule })}><${RuleText} rule=${best.rule} /></a>` : html`<span class="muted">No rule concludes it.</span>`}
      <p class="links">${kind === "rules" ? null : html`<a href=${to("/queue", { relation: row.relation })} aria-label=${`Missing links: ${plain(row.relation)}`}>missing links</a>`}
        ${best && row.rules.count > 1 ? html` <a href=${to("/rules", { search: row.relation })} aria-label=${`its rules: ${plain(row.relation)}`}>its rules</a>` : null}
        ${row.about_entities ? html` <a href=${to("/rules", { about: "entities", search: row.relation })} aria-label=${`${row.about_entities.toLocaleString()} about particular entities: ${plain(row.relation)}`}>${row.about_entities.toLocaleString()} about particular entities</a>` : null}</p></div></li>`;
}
