// The classes of an ontology: a tree that unfolds, and of one class its parents, its children and what axioms say.
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { ask, useAnswer } from "../api.js";
import { Branches, download, shortened } from "../drawing.js";
import { Answer, Failure, Heading, Name, RuleText, addLabels, count, label, ofCurrent, plain, to } from "../parts.js";

const MOST_SHOWN = 20; // children in the picture

export function Classes({ params, version }) {
  const picture = useRef(null);
  const name = params.name;
  const state = useAnswer("classes", ofCurrent({ name }), version);
  addLabels(state.data && state.data.labels); // before the heading is made
  return html`<${Heading} title=${name ? label(name) : "Classes"} view="classes" params=${{ name }} csv svg=${name ? () => download(picture.current, "class") : null}>
      ${name && label(name) !== name ? html`<p class="muted">${name}</p>` : null}<//>
    <${Answer} state=${state}>${(data) => (data.class ? html`<${About} key=${data.class} data=${data} picture=${picture} />` : html`<${Roots} data=${data} />`)}<//>`;
}

function Roots({ data }) {
  if (!data.count) return html`<section class="card"><h2>There are no classes here</h2><p>An ontology brings some: <code>reshuffle serve ONTOLOGY.owl</code>.</p></section>`;
  return html`${data.unsatisfiable.length ? html`<section class="card failure-note"><h2>Classes that can have no member <span class="count">${data.unsatisfiable.length}</span></h2>
      <ul class="chips">${data.unsatisfiable.map((one) => html`<li><${ClassLink} name=${one} /></li>`)}</ul></section>` : null}
    <section class="card"><h2>${count(data.count, "class", "classes")} <span class="muted">${data.roots.length + data.more} without a parent</span></h2>
      <ul class="tree">${data.roots.map((row) => html`<${Twig} key=${row.name} row=${row} />`)}</ul>
      ${data.more ? html`<p class="muted">${data.more.toLocaleString()} more</p>` : null}</section>`;
}

function ClassLink({ name }) { return html`<a class="name" href=${to("/classes", { name })} title=${name}>${label(name)}</a>`; }

function Twig({ row }) {
  const [children, setChildren] = useState(null);
  const [failed, setFailed] = useState(null);
  async function turn() {
    if (children) return setChildren(null);
    try {
      const page = await ask("classes", ofCurrent({ name: row.name }));
      addLabels(page.labels);
      return setChildren(page.children);
    } catch (error) { return setFailed(error); }
  }
  return html`<li>${row.children ? html`<button type="button" class="disclosure" aria-expanded=${children !== null} aria-label=${`${children ? "Hide" : "Show"} the classes below ${label(row.name)}`} onClick=${turn}>${children ? "▾" : "▸"}</button>` : html`<span class="leaf"></span>`}
    <${ClassLink} name=${row.name} />${row.children ? html` <span class="count">${row.children}</span>` : null}
    ${failed ? html`<${Failure} error=${failed} />` : null}
    ${children ? html`<ul class="tree">${children.map((one) => html`<${Twig} key=${one.name} row=${one} />`)}</ul>` : null}</li>`;
}

const AS = { domain: "has it (domain)", range: "is its value (range)" };

function About({ data, picture }) {
  const boxes = (side, names) => names.slice(0, MOST_SHOWN).map((one) => ({ id: side + one.name, lines: [shortened(label(one.name), 30), ...(one.children ? [count(one.children, "class", "classes") + " below"] : [])],
    kind: "closed", round: true, title: one.name, href: to("/classes", { name: one.name }), [side]: true }));
  const parents = useMemo(() => boxes("outward", data.parents.map((name) => ({ name }))), [data]);
  const root = useMemo(() => ({ id: "", lines: [shortened(label(data.class), 30)], kind: "centre", strong: true, round: true, title: data.class, children: boxes("inward", data.children) }), [data]);
  return html`<p><a href=${to("/classes")}>All classes</a></p>
    ${data.unsatisfiable ? html`<p class="note">This class can have no member: it is below two classes that are disjoint, or below owl:Nothing.</p>` : null}
    <section class="card"><div class="sides"><span>${count(data.parents.length, "direct parent")} · ${data.above} above in all</span><span>${count(data.children.length, "direct child", "direct children")} · ${data.below} below in all</span></div>
      <${Branches} root=${root} left=${parents} picture=${picture} label=${`${label(data.class)}, its parents and its children`} />
      ${data.children.length > MOST_SHOWN ? html`<p class="muted">${data.children.length - MOST_SHOWN} more are in the list below.</p>` : null}</section>
    <div class="columns">
      ${data.equal.length ? html`<section class="card"><h2>The same as</h2><ul class="chips">${data.equal.map((one) => html`<li><${ClassLink} name=${one} /></li>`)}</ul></section>` : null}
      ${data.children.length > MOST_SHOWN ? html`<section class="card"><h2>Direct children</h2><ul class="chips">${data.children.map((one) => html`<li><${ClassLink} name=${one.name} /></li>`)}</ul></section>` : null}
      <section class="card"><h2>Properties <span class="count">${data.properties.length}</span></h2>${data.properties.length ? html`<ul class="plain-list">${data.properties.map((one) => html`<li><span class="relation" title=${one.property}>${plain(one.property)}</span>
        ${one.as === "some" ? html`<${ClassLink} name=${one.value} />` : one.value ? html`<${Name} name=${one.value} />` : html`<span class="muted">${AS[one.as]}</span>`}</li>`)}</ul>` : html`<p class="muted">No axiom ties it to a property.</p>`}</section>
      <section class="card"><h2>Members <span class="count fact">${data.members.count}</span></h2>${data.members.count ? html`<ul class="chips">${data.members.names.map((one) => html`<li><${Name} name=${one} /></li>`)}</ul>` : html`<p class="muted">No fact says that something is of this class.</p>`}</section>
    </div>
    ${data.rules.count ? html`<section class="card"><h2>Axioms as rules <span class="count">${data.rules.count}</span></h2><ul class="plain-list">${data.rules.shown.map((rule) => html`<li><a class="rule-link" href=${to("/rule", { rule })}><${RuleText} rule=${rule} /></a></li>`)}</ul></section>` : null}`;
}
