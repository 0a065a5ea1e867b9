// One entity: its facts, what follows, what is predicted, and a neighbourhood that grows by click.
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { ask, useAnswer } from "../api.js";
import { Branches, download, shortened } from "../drawing.js";
import { Answer, Failure, Heading, Name, WhyLink, addLabels, count, go, keep, label, ofCurrent, plain, to } from "../parts.js";

const ROWS = 24; // of the neighbourhood at first
const MOST_GROUPS = 16;
const MOST_OPEN = 12; // entities whose neighbours are shown
const PER_GROUP = 12;
const STEP = 10;

export function Entity({ params, exhibit, version, changed }) {
  const name = params.name || "";
  const state = useAnswer("entity", ofCurrent({ name }), version);
  const picture = useRef(null);
  addLabels(state.data && state.data.labels); // before the heading is made
  return html`
    <${Heading} title=${label(name) || "Entity"} view="entity" params=${{ name }} csv svg=${() => download(picture.current, "neighbourhood")}>
      ${label(name) === name ? null : html`<p class="muted">${name}</p>`}
    <//>
    <${Answer} state=${state}>${(data) => html`<div class="entity">
      <div>
        ${data.predicts ? html`<${Predicted} name=${name} version=${version} />` : html`<section aria-labelledby="derived-title">
          <h2 id="derived-title">What follows <span class="count derived">${data.derived.reduce((sum, group) => sum + group.count, 0).toLocaleString()}</span></h2>
          ${data.derived.length ? html`<div class="groups derived">${data.derived.map((group) => html`<${Group} key=${group.relation + group.side} name=${name} group=${group} derived />`)}</div>`
            : html`<p class="muted">No rule concludes anything new about it. <a href=${to("/rules")}>See the rules</a></p>`}</section>`}
        <section aria-labelledby="facts-title"><h2 id="facts-title">Facts <span class="count fact">${data.degree.toLocaleString()}</span></h2>
          ${data.facts.length ? html`<div class="groups">${data.facts.map((group) => html`<${Group} key=${group.relation + group.side} name=${name} group=${group} changed=${changed} />`)}</div>`
            : html`<p class="muted">There is no fact about it. <a href=${to("/what-if", { head: name })}>Add one</a></p>`}</section>
      </div>
      <${Around} key=${name + version} page=${data} picture=${picture} />
    </div>`}<//>`;
}

function tripleOf(name, group, other) {
  return group.side === "tail" ? [name, group.relation, other] : [other, group.relation, name];
}

function Group({ name, group, derived, changed }) {
  const [names, setNames] = useState(group.names);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(null);
  async function more() {
    setBusy(true);
    try {
      const page = await ask("entity", ofCurrent({ name, relation: group.relation, side: group.side, derived: derived ? "true" : "", start: names.length, most: 100 }));
      addLabels(page.labels);
      setNames([...names, ...page.names]);
    } catch (error) { setFailed(error); }
    setBusy(false);
  }
  async function remove(other) {
    try { await keep({ kind: "remove-fact", triple: tripleOf(name, group, other) }); changed(); } catch (error) { setFailed(error); }
  }
  const title = group.side === "tail" ? html`${plain(group.relation)} <span aria-label="to" class="way">→</span>` : html`<span aria-label="from" class="way">←</span> ${plain(group.relation)}`;
  return html`<section class=${"group " + (derived ? "derived" : "fact")}>
    <h3 title=${group.relation}>${title} <span class="count">${group.count.toLocaleString()}</span></h3>
    <ul class="chips">${names.map((other) => html`<li key=${other}><${Name} name=${other} />
      ${derived ? html`<${WhyLink} triple=${tripleOf(name, group, other)} />`
        : html`<button type="button" class="strike" title="Remove this fact" aria-label=${`Remove this fact: ${tripleOf(name, group, other).map(label).join(" ")}`} onClick=${() => remove(other)}>×</button>`}</li>`)}
    </ul>
    ${names.length < group.count ? html`<button type="button" class="small" disabled=${busy} onClick=${more}>${(group.count - names.length).toLocaleString()} more</button>` : null}
    ${failed ? html`<${Failure} error=${failed} />` : null}
  </section>`;
}

// How likely a link is, by whatever the model says of it; null where it has a score alone.
const likely = (row) => row.probability ?? row.confidence ?? null;

function likelyTitle(row) {
  if (row.probability !== undefined && row.probability !== null) return "probability";
  return row.confidence !== undefined ? "confidence" : "score";
}

function Predicted({ name, version }) {
  const [side, setSide] = useState("head");
  const state = useAnswer("predictions", ofCurrent({ [side]: name, top: 12 }), version);
  return html`<section aria-labelledby="predicted-title"><h2 id="predicted-title">What is predicted</h2>
    <div class="segments" role="group" aria-label="Direction">
      <button type="button" aria-pressed=${side === "head"} onClick=${() => setSide("head")}>from it</button>
      <button type="button" aria-pressed=${side === "tail"} onClick=${() => setSide("tail")}>to it</button></div>
    <${Answer} state=${state}>${(data) => data.predictions.length ? html`<table class="fold"><caption class="hidden">Predicted links</caption>
      <thead><tr><th scope="col">relation</th><th scope="col">${side === "head" ? "tail" : "head"}</th><th scope="col" class="number">${likelyTitle(data.predictions[0])}</th><th scope="col"><span class="hidden">reasons</span></th></tr></thead>
      <tbody>${[...data.predictions].sort((one, other) => (likely(other) ?? 0) - (likely(one) ?? 0)).map((row) => html`<tr><td title=${row.relation}>${plain(row.relation)}</td>
        <td><${Name} name=${side === "head" ? row.tail : row.head} /></td>
        <td class="number">${likely(row) !== null ? html`<${Share} value=${likely(row)} />` : row.score.toFixed(3)}</td>
        <td><${WhyLink} triple=${[row.head, row.relation, row.tail]} side=${row.side} /></td></tr>`)}</tbody></table>
      <p class="muted">As answers to ${side === "head" ? `(${label(name)}, relation, ?)` : `(?, relation, ${label(name)})`}: a model scores a link as an answer to the one question or to the other.</p>`
      : html`<p class="muted">The model finds no likely new link in this direction.</p>`}<//></section>`;
}

export function Share({ value }) {
  return html`<span class="share"><meter min="0" max="1" value=${value} aria-label=${`${(100 * value).toFixed(0)} percent`}></meter> ${value.toFixed(2)}</span>`;
}

// --- the neighbourhood ------------------------------------------------------------------------------------------------

function groupsOf(page) {
  return [...page.facts.map((group) => ({ ...group, kind: "fact" })), ...(page.derived || []).map((group) => ({ ...group, kind: "derived" }))];
}

// How many names a group shows at first, so that all of them have room.
function atFirst(groups) { return Math.max(1, Math.min(4, Math.floor(ROWS / Math.max(1, groups.length)))); }

const groupKey = (key, group) => [key, group.kind, group.side, group.relation].join("\u0001");

// The branches of an entity that is open: a box for each relation with its count, and behind it names.
function branchesOf(page, key, from, view) {
  const groups = groupsOf(page);
  const most = view.all.has(key) ? groups.length : MOST_GROUPS;
  const branches = groups.slice(0, most).map((group) => groupBranch(page, key, group, atFirst(groups.slice(0, most)), from, view));
  const left = groups.length - branches.length;
  return left > 0 ? [...branches, moreOf(key + "\u0001more", `${left} more relations`, () => view.showAll(key))] : branches;
}

function moreOf(id, text, onClick) { return { id, lines: [text], kind: "more", round: true, title: text, onClick }; }

function groupBranch(page, key, group, usual, from, view) {
  const id = groupKey(key, group);
  const inward = group.side === "head";
  const known = view.names.get(id) || group.names;
  const wanted = view.shown.has(id) ? view.shown.get(id) : usual;
  const back = from && from.relation === group.relation && from.side !== group.side ? from.name : null;
  const names = known.slice(0, wanted).filter((other) => other !== back);
  const rest = group.count - Math.min(known.length, wanted);
  const children = names.map((other) => entityBranch(other, id + "\u0001" + other, page.entity, group, view));
  if (wanted && rest > 0) children.push(moreOf(id + "\u0001more", `${rest.toLocaleString()} more`, () => view.more(page.entity, group, id, wanted)));
  const sign = group.kind === "derived" ? "⇒ " : "";
  return { id, lines: [`${sign}${shortened(plain(group.relation), 26)} (${group.count.toLocaleString()})`], kind: `group ${group.kind}`, strong: true, inward, children,
    title: `${plain(group.relation)}: ${wanted ? "hide" : "show"} its ${count(group.count, "name")}`, onClick: () => view.fold(id, wanted ? 0 : usual) };
}

function entityBranch(name, key, parent, group, view) {
  const page = view.open.get(key);
  return { id: key, lines: [shortened(label(name), 28)], kind: `${page ? "open" : "closed"} ${group.kind}`, round: true, outward: group.side === "tail",
    title: page ? `${label(name)}: go there` : `${label(name)}: show its neighbours`, onClick: () => view.enter(name, key),
    children: page ? branchesOf(page, key, { name: parent, relation: group.relation, side: group.side }, view) : [] };
}

function Around({ page, picture }) {
  const [open, setOpen] = useState(new Map());
  const [shown, setShown] = useState(new Map());
  const [names, setNames] = useState(new Map());
  const [all, setAll] = useState(new Set());
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState(null);
  async function asking(question, then) {
    setBusy(true);
    setFailed(null);
    try { const found = await ask("entity", ofCurrent(question)); addLabels(found.labels); then(found); } catch (error) { setFailed(error); }
    setBusy(false);
  }
  const view = { open, shown, names, all,
    enter: (name, key) => (open.has(key) ? go(to("/entity", { name }))
      // Only what leads to the last one stays open where there would be too many names.
      : asking({ name, most: PER_GROUP }, (found) => setOpen((before) => new Map([...before].filter(([other]) => before.size < MOST_OPEN || key.startsWith(other)).concat([[key, found]]))))),
    fold: (id, to_) => setShown(new Map(shown).set(id, to_)),
    showAll: (key) => setAll(new Set(all).add(key)),
    more: (name, group, id, wanted) => {
      const known = names.get(id) || group.names;
      const then = (found) => { setNames((before) => new Map(before).set(id, [...known, ...found])); setShown((before) => new Map(before).set(id, wanted + STEP)); };
      if (known.length >= Math.min(group.count, wanted + STEP)) return then([]);
      return asking({ name, relation: group.relation, side: group.side, derived: group.kind === "derived" ? "true" : "", start: known.length, most: STEP }, (found) => then(found.names));
    } };
  const root = useMemo(() => ({ id: "", lines: [shortened(label(page.entity), 28)], kind: "centre", round: true, strong: true, title: label(page.entity),
    children: branchesOf(page, "", null, view) }), [page, open, shown, names, all]);
  return html`<aside class="around card" aria-label="Neighbourhood">
    ${root.children.length ? html`<${Branches} root=${root} picture=${picture} label=${`Neighbourhood of ${label(page.entity)}`} />` : html`<p class="muted">Nothing is known about it.</p>`}
    <p class="legend-line"><span class="line-key fact">fact</span>${(page.derived || []).length ? html`<span class="line-key derived">⇒ follows from rules</span>` : null}
      <span class="muted">${busy ? "Looking …" : "Click a name to show its neighbours, and again to go there. Click a relation to fold it."}</span></p>
    ${failed ? html`<${Failure} error=${failed} />` : null}
  </aside>`;
}
