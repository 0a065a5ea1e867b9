// One entity: its facts, what follows, what is predicted, and a neighbourhood that grows by click.
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { ask, useAnswer } from "../api.js";
import { Neighbourhood, download, shortened } from "../drawing.js";
import { Answer, Failure, Heading, Name, Waiting, WhyLink, addLabels, keep, label, ofCurrent, plain, to } from "../parts.js";

const MOST_NODES = 150;
const PER_GROUP = 2;
const AT_FIRST = 16;

export function Entity({ params, exhibit, version, changed }) {
  const name = params.name || "";
  const state = useAnswer("entity", ofCurrent({ name }), version);
  const picture = useRef(null);
  return html`
    <${Heading} title=${label(name) || "Entity"} view="entity" params=${{ name }} csv svg=${() => download(picture.current, "neighbourhood")}>
      ${label(name) === name ? null : html`<p class="muted">${name}</p>`}
    <//>
    <${Answer} state=${state}>${(data) => html`<div class="entity">
      <div>
        ${data.predicts ? html`<${Predicted} name=${name} version=${version} />` : html`<section aria-labelledby="derived-title">
          <h2 id="derived-title">What follows <span class="count derived">${data.derived.reduce((sum, group) => sum + group.count, 0).toLocaleString()}</span></h2>
          ${data.derived.length ? html`<div class="groups derived">${data.derived.map((group) => html`<${Group} key=${group.relation + group.side} name=${name} group=${group} derived />`)}</div>`
            : html`<p class="muted">Nothing that is not a fact already.</p>`}</section>`}
        <section aria-labelledby="facts-title"><h2 id="facts-title">Facts <span class="count fact">${data.degree.toLocaleString()}</span></h2>
          ${data.facts.length ? html`<div class="groups">${data.facts.map((group) => html`<${Group} key=${group.relation + group.side} name=${name} group=${group} changed=${changed} />`)}</div>`
            : html`<p class="muted">There is no fact about it.</p>`}</section>
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
        : html`<button type="button" class="strike" title="What if this were no fact?" aria-label=${`What if ${tripleOf(name, group, other).join(" ")} were no fact`} onClick=${() => remove(other)}>×</button>`}</li>`)}
    </ul>
    ${names.length < group.count ? html`<button type="button" class="small" disabled=${busy} onClick=${more}>${(group.count - names.length).toLocaleString()} more</button>` : null}
    ${failed ? html`<${Failure} error=${failed} />` : null}
  </section>`;
}

function Predicted({ name, version }) {
  const [side, setSide] = useState("head");
  const state = useAnswer("predictions", ofCurrent({ [side]: name, top: 12 }), version);
  return html`<section aria-labelledby="predicted-title"><h2 id="predicted-title">What is predicted</h2>
    <div class="segments" role="group" aria-label="Direction">
      <button type="button" aria-pressed=${side === "head"} onClick=${() => setSide("head")}>from it</button>
      <button type="button" aria-pressed=${side === "tail"} onClick=${() => setSide("tail")}>to it</button></div>
    <${Answer} state=${state}>${(data) => data.predictions.length ? html`<table><caption class="hidden">Predicted links</caption>
      <thead><tr><th scope="col">relation</th><th scope="col">${side === "head" ? "tail" : "head"}</th><th scope="col" class="number">${data.predictions[0].confidence !== undefined ? "confidence" : "score"}</th><th scope="col"><span class="hidden">reasons</span></th></tr></thead>
      <tbody>${[...data.predictions].sort((one, other) => (other.confidence ?? 0) - (one.confidence ?? 0)).map((row) => html`<tr><td title=${row.relation}>${plain(row.relation)}</td>
        <td><${Name} name=${side === "head" ? row.tail : row.head} /></td>
        <td class="number">${row.confidence !== undefined && row.confidence !== null ? html`<${Share} value=${row.confidence} />` : row.score.toFixed(3)}</td>
        <td><${WhyLink} triple=${[row.head, row.relation, row.tail]} side=${row.side} /></td></tr>`)}</tbody></table>
      <p class="muted">As answers to ${side === "head" ? `(${label(name)}, relation, ?)` : `(?, relation, ${label(name)})`}: a model scores a link as an answer to the one question or to the other.</p>`
      : html`<p class="muted">No new link is likely.</p>`}<//></section>`;
}

export function Share({ value }) {
  return html`<span class="share"><meter min="0" max="1" value=${value} aria-label=${`${(100 * value).toFixed(0)} percent`}></meter> ${value.toFixed(2)}</span>`;
}

// --- the neighbourhood ------------------------------------------------------------------------------------------------

function grown(shown, page) {
  const nodes = new Map(shown.nodes);
  const edges = new Map(shown.edges);
  if (!nodes.has(page.entity)) nodes.set(page.entity, { id: page.entity });
  nodes.set(page.entity, { ...nodes.get(page.entity), open: true });
  let left = 0;
  const room = Math.min(MOST_NODES, nodes.size + AT_FIRST);
  const groups = [...page.facts.map((group) => [group, "fact"]), ...(page.derived || []).map((group) => [group, "derived"])];
  for (const [group, kind] of groups) {
    const some = group.names.filter((other, place) => place < PER_GROUP || nodes.has(other));
    left += group.count - some.length;
    for (const other of some) {
      if (!nodes.has(other)) {
        if (nodes.size >= room) { left += 1; continue; }
        nodes.set(other, { id: other, near: page.entity });
      }
      const [from, to_] = group.side === "tail" ? [page.entity, other] : [other, page.entity];
      if (from === to_) { left += 1; continue; } // a loop has no room among names
      const pair = from < to_ ? from + "\u0000" + to_ : to_ + "\u0000" + from;
      const known = edges.get(pair);
      if (!known) edges.set(pair, { from, to: to_, kind, labels: [plain(group.relation)] });
      else if (!known.labels.includes(plain(group.relation))) {
        edges.set(pair, { ...known, kind: known.kind === "fact" ? "fact" : kind, labels: [...known.labels, plain(group.relation)] });
      }
    }
  }
  return { nodes, edges, left: { ...shown.left, [page.entity]: left } };
}

function Around({ page, picture }) {
  const [shown, setShown] = useState(() => grown({ nodes: new Map(), edges: new Map(), left: {} }, page));
  const [busy, setBusy] = useState(null);
  async function open(name) {
    if (shown.nodes.get(name).open) { history.pushState(null, "", to("/entity", { name })); dispatchEvent(new PopStateEvent("popstate")); return; }
    setBusy(name);
    try {
      const more = await ask("entity", ofCurrent({ name }));
      addLabels(more.labels);
      setShown((before) => grown(before, more));
    } catch { /* it stays as it is */ }
    setBusy(null);
  }
  const [nodes, edges] = useMemo(() => [
    [...shown.nodes.values()].map((node) => ({
      ...node,
      lines: [shortened(label(node.id), 24)],
      kind: node.id === page.entity ? "centre" : node.open ? "open" : "closed",
      title: node.open ? `${label(node.id)}: go there` : `${label(node.id)}: show its neighbours`,
      onClick: () => open(node.id),
    })),
    [...shown.edges.values()].map((edge) => ({ ...edge, label: edge.labels[0] + (edge.labels.length > 1 ? ` +${edge.labels.length - 1}` : ""), title: edge.labels.join(", ") })),
  ], [shown]);
  const left = Object.values(shown.left).reduce((sum, one) => sum + one, 0);
  return html`<aside class="around card" aria-label="Neighbourhood">
    <${Neighbourhood} nodes=${nodes} edges=${edges} picture=${picture} label=${`Neighbourhood of ${label(page.entity)}`} />
    <p class="legend-line"><span class="key fact">fact</span><span class="key derived">follows</span>
      <span class="muted">${busy ? html`<${Waiting} />` : "Click a name to show its neighbours; click it again to go there."}${left ? ` ${left.toLocaleString()} more links are not drawn.` : ""}</span></p>
  </aside>`;
}
