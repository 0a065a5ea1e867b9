// Why something holds or is predicted, as a picture and as text; or why not, with the fact to add.
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Branches, Layered, download, wrapped } from "../drawing.js";
import { Answer, addLabels, EntityBox, Heading, Preview, RuleText, TripleText, count, evidence, go, label, namesEntities, ofCurrent, plain, ruleInWords, to, worded } from "../parts.js";

export function Why({ params, exhibit, version, changed }) {
  const asked = params.head && params.relation && params.tail;
  return html`<${Question} key=${[params.head, params.relation, params.tail].join("\u0000")} params=${params} exhibit=${exhibit} />
    ${asked ? html`<${Because} params=${params} exhibit=${exhibit} version=${version} changed=${changed} />` : null}`;
}

function Question({ params, exhibit }) {
  const [head, setHead] = useState(params.head || "");
  const [relation, setRelation] = useState(params.relation || "");
  const [tail, setTail] = useState(params.tail || "");
  function submit(event) {
    event.preventDefault();
    if (head && relation && tail) go(to("/why", { head, relation, tail }));
  }
  const asked = params.head && params.relation && params.tail;
  return html`${asked ? null : html`<${Heading} title="Why?"><p class="muted">Ask about any triple: whether it holds, and how.</p><//><${Example} />`}
    <form class=${"question" + (asked ? " card" : " card")} onSubmit=${submit} aria-label="Ask why">
      <${EntityBox} id="head" text="head" value=${head} onInput=${setHead} onPick=${setHead} />
      <div class="entity-box"><label class="small-label" for="relation">relation</label>
        <input id="relation" list="relations" value=${relation} autocomplete="off" onInput=${(event) => setRelation(event.target.value)} />
        <datalist id="relations">${(exhibit.relations || []).map((one) => html`<option value=${one}>${plain(one)}</option>`)}</datalist></div>
      <${EntityBox} id="tail" text="tail" value=${tail} onInput=${setTail} onPick=${setTail} />
      <button type="submit" class="primary" disabled=${!(head && relation && tail)}>Why?</button>
    </form>`;
}

// For those who know no name yet.
function Example() {
  const { data } = useAnswer("example", ofCurrent({}));
  addLabels(data && data.labels);
  if (!data || !data.triple) return null;
  const [head, relation, tail] = data.triple;
  return html`<p class="card">For example: <a href=${to("/why", { head, relation, tail })}>Why ${label(head)} ${plain(relation)} ${label(tail)}?</a></p>`;
}

function Because({ params, exhibit, version, changed }) {
  const question = { head: params.head, relation: params.relation, tail: params.tail, most: params.most, side: params.side };
  const state = useAnswer("why", ofCurrent(question), version);
  const picture = useRef(null);
  const [shown, setShown] = useState(0);
  const [change, setChange] = useState(null);
  addLabels(state.data && state.data.labels); // before the heading is made
  const title = `Why ${label(params.head)} ${plain(params.relation)} ${label(params.tail)}?`;
  return html`<${Heading} title=${title} view="why" params=${question} csv svg=${() => download(picture.current, "why")} />
    <${Answer} state=${state}>${(data) => html`
      <${Verdict} data=${data} exhibit=${exhibit} />
      ${data.pictures.length > 1 ? html`<div class="segments" role="group" aria-label="Which proof">${data.pictures.map((_, place) => html`
        <button type="button" aria-pressed=${place === shown} onClick=${() => setShown(place)}>${`Proof ${place + 1}`}</button>`)}</div>` : null}
      ${data.pictures.length ? html`<${Tree} drawn=${data.pictures[Math.min(shown, data.pictures.length - 1)]} picture=${picture} />` : null}
      ${change ? html`<${Preview} change=${change} kind=${exhibit.kind} onLeft=${() => setChange(null)} onKept=${() => { setChange(null); changed(); }} />` : null}
      ${data.missing.length ? html`<section class="card"><h2>One fact is missing</h2>
        <ul class="plain-list roomy">${data.missing.map((one) => html`<li><${TripleText} triple=${one.fact} />
          <button type="button" class="small" onClick=${() => setChange({ kind: "add-fact", triple: one.fact })}>Add this fact</button>
          <div class="by">would make it follow by <${RuleText} rule=${one.rule} /></div></li>`)}</ul></section>` : null}
      ${(data.explanation.nearest || []).length ? html`<details class="card" open=${!data.missing.length}><summary>The rules that come nearest</summary>
        <ul class="plain-list roomy">${data.explanation.nearest.map((one) => html`<li><${RuleText} rule=${one.rule} />
          <div>${one.matched.map((triple) => html`<span class="pill fact"><${TripleText} triple=${triple} /></span>`)}
          ${one.missing.map((triple) => html`<span class="pill missing"><${TripleText} triple=${triple} linked=${false} /></span>`)}</div></li>`)}</ul></details>` : null}
      ${data.explanation.parts ? html`<${Parts} parts=${data.explanation.parts} score=${data.explanation.score} />` : null}
      ${(data.explanation.remarks || []).length ? html`<section class="card"><h2>What else was looked at</h2><ul class="plain-list">
        ${data.explanation.remarks.map((one) => html`<li><b>${one.kind}</b> <span class=${"speaks " + one.speaks}>${one.speaks === "little" ? "says little" : `speaks ${one.speaks} it`}</span> ${worded(one.words)}</li>`)}</ul></section>` : null}
      <details class="card"><summary>As text</summary><pre tabindex="0" aria-label="The explanation as text">${worded(data.text)}</pre></details>`}<//>`;
}

function Verdict({ data, exhibit }) {
  const told = data.explanation;
  const holds = told.supported !== undefined ? told.supported : told.follows;
  const popular = holds && told.rule_score !== undefined && told.rule_score < told.score - told.rule_score;
  const words = data.known ? "It is a fact." : exhibit.kind === "rules"
    ? (holds ? "It follows." : "It does not follow.") : popular ? "It is popular rather than supported." : holds ? "It is supported." : "Little supports it.";
  const numbers = [
    told.probability !== undefined && told.probability !== null ? `${Math.round(100 * told.probability)}% of such links are true` : null,
    told.score !== undefined ? scoreText(told, data.triple) : null,
    told.confidence !== undefined && told.confidence !== null ? `confidence ${told.confidence.toFixed(2)}` : null,
    told.better_than !== undefined && told.better_than !== null ? `fits better than ${Math.floor(100 * told.better_than)}% of the others` : null,
    told.proofs && told.proofs.length && told.proofs[0].size ? `${count(told.proofs[0].size, "rule application")}` : null,
    told.exactness || null,
  ].filter(Boolean);
  return html`<div class=${"verdict " + (data.known ? "fact" : holds ? "yes" : "no")} role="status">
    <strong>${words}</strong> <${TripleText} triple=${data.triple} />
    ${numbers.length ? html`<div class="muted">${numbers.join(" · ")}</div>` : null}
    <${OtherQuestion} told=${told} triple=${data.triple} /></div>`;
}

// The question that a score answers: a model has one score for each.
function askedText([head, relation, tail], side) {
  return side === "tail" ? `(${label(head)}, ${plain(relation)}, ?)` : `(?, ${plain(relation)}, ${label(tail)})`;
}

function other(side) { return side === "tail" ? "head" : "tail"; }

function haveTwoScores({ scores }) { return scores && new Set(Object.values(scores).map((score) => score.toFixed(3))).size > 1; }

function scoreText(told, triple) {
  return `score ${told.score.toFixed(3)}` + (haveTwoScores(told) ? ` as an answer to ${askedText(triple, told.side)}` : "");
}

function OtherQuestion({ told, triple }) {
  if (!haveTwoScores(told)) return null;
  const side = other(told.side);
  const [head, relation, tail] = triple;
  return html`<div class="muted">score ${told.scores[side].toFixed(3)} as an answer to <a href=${to("/why", { head, relation, tail, side })}>${askedText(triple, side)}</a></div>`;
}

function atom([head, relation, tail]) { return `${label(head)} ${plain(relation)} ${label(tail)}`; }

const narrow = () => matchMedia("(max-width: 640px)").matches;
const letters = () => (narrow() ? 34 : 46); // of a line

// What stands in a box, the lines that are read first and the others: a fact with the rule that concludes it, a rule with
// what it adds.
function linesOf(node) {
  const number = node.value === undefined ? [] : [node.triple ? `score ${node.value.toFixed(3)}` : `${node.value >= 0 ? "+" : ""}${node.value.toFixed(3)}${node.rule && node.walks !== undefined ? ` ${node.predictions === undefined && !namesEntities(node.rule) ? "by " : "· "}${evidence(node)}` : ""}`];
  const share = node.share === undefined ? [] : [`${Math.round(100 * node.share)}% of its support`];
  const first = node.triple ? wrapped(atom(node.triple), letters()) : node.rule ? wrapped(ruleInWords(node.rule), letters()) : [worded(node.text || "")];
  const by = node.triple && node.rule ? wrapped("by " + ruleInWords(node.rule), letters()) : [];
  return { main: first.length, lines: [...first, ...by, ...number, ...share] };
}

function hrefOf({ triple, kind, rule }) {
  if (!triple) return rule ? to("/rule", { rule }) : undefined;
  return kind === "fact" ? to("/entity", { name: triple[0] }) : to("/why", { head: triple[0], relation: triple[1], tail: triple[2] });
}

function boxOf(node) {
  return { id: node.id, kind: node.kind, round: node.kind === "fact", ...linesOf(node), href: hrefOf(node),
    title: node.triple ? node.triple.join(" ") + (node.rule ? ` by ${node.rule}` : ": a fact") : node.rule || node.text };
}

// The sum as branches: the rules behind a score, and behind each rule its facts in their order.
function asBranches({ nodes, edges }) {
  const into = new Map();
  for (const edge of edges) into.set(edge.to, [...(into.get(edge.to) || []), edge]);
  const branch = (id, key, times) => {
    const box = boxOf(nodes[id]);
    const lines = times > 1 ? [...box.lines.slice(0, -1), `${box.lines[box.lines.length - 1]} (${times}×)`] : box.lines;
    return { ...box, id: key, lines, inward: true, children: (into.get(id) || []).map((edge) => branch(edge.from, `${key}/${edge.from}`, edge.times)) };
  };
  return branch(nodes[0].id, "0", 1);
}

function Tree({ drawn, picture }) {
  const sum = drawn.nodes[0].kind === "goal" || narrow();
  const shape = useMemo(() => (sum ? { root: asBranches(drawn) } : {
    nodes: drawn.nodes.map(boxOf),
    edges: drawn.edges.map((edge) => ({ from: edge.from, to: edge.to, ...(edge.times > 1 ? { label: `${edge.times}×`, title: `used ${edge.times} times` } : {}) })),
  }), [drawn, sum]);
  return html`<section class="card"><h2 class="hidden">The picture</h2>
    ${sum ? html`<${Branches} root=${shape.root} picture=${picture} label="The conclusion, and behind it what it rests on" />`
      : html`<${Layered} nodes=${shape.nodes} edges=${shape.edges} root=${() => asBranches(drawn)} picture=${picture} label="From facts below to the conclusion above" />`}
    <p class="legend-line"><span class="key fact">fact</span><span class="key derived">${drawn.nodes[0].kind === "goal" ? "predicted" : "follows from rules"}</span>${drawn.nodes.some((node) => !node.triple) ? html`<span class="key rule">rule</span>` : null}
      ${drawn.left_out ? html`<span class="muted">${drawn.left_out.toLocaleString()} more are not drawn.</span>` : null}</p></section>`;
}

// What rules say and what popularity says, apart: only rules are reasons.
function Parts({ parts, score }) {
  const rules = parts.filter((part) => part.rule);
  const others = parts.filter((part) => !part.rule);
  const most = Math.max(...parts.map((part) => Math.abs(part.value)), 1e-9);
  return html`<section class="card"><h2>What speaks for it</h2><${Shares} rules=${total(rules)} others=${total(others)} />
    <table class="sum"><thead><tr><th scope="col" class="number">adds</th><th scope="col"><span class="hidden">bar</span></th><th scope="col">what</th></tr></thead>
    <${Group} title="Rules" parts=${rules} most=${most} none="No rule leads to it." />
    <${Group} title="Popularity" parts=${others} most=${most} none="Distance and types add nothing." />
    <tfoot><tr><td class="number">${score.toFixed(3)}</td><td></td><td>score</td></tr></tfoot></table></section>`;
}

function total(parts) { return parts.reduce((sum, part) => sum + part.value, 0); }

function signed(value) { return `${value >= 0 ? "+" : ""}${value.toFixed(3)}`; }

function Shares({ rules, others }) {
  const most = Math.max(Math.abs(rules), Math.abs(others), 1e-9);
  return html`<dl class="evidence-shares">${[["Rules", rules, "rule"], ["Popularity", others, "types"]].map(([name, value, kind]) => html`<div><dt>${name}</dt>
    <dd><span class="bar-cell"><span class=${"bar " + (value < 0 ? "negative" : kind)} style=${{ width: `${(100 * Math.abs(value)) / most}%` }}></span></span> ${signed(value)}</dd></div>`)}</dl>`;
}

function Group({ title, parts, most, none }) {
  return html`<tbody><tr class="group-row"><th scope="rowgroup" colspan="3">${title}</th></tr>
    ${parts.length ? parts.map((part) => html`<tr><td class="number">${signed(part.value)}</td>
      <td class="bar-cell"><span class=${"bar " + (part.value < 0 ? "negative" : part.kind)} style=${{ width: `${(100 * Math.abs(part.value)) / most}%` }}></span></td>
      <td>${part.rule ? html`<a class="rule-link" href=${to("/rule", { rule: part.rule })}><${RuleText} rule=${part.rule} /></a> <span class="muted">${evidence(part)}</span>`
        : part.kind === "distance" ? `distance: ${part.steps === null ? "far" : count(part.steps, "step")} apart` : "types: how often such entities are answers, whatever is asked about"}</td></tr>`)
      : html`<tr><td></td><td></td><td class="muted">${none}</td></tr>`}</tbody>`;
}
