// Where one begins: what is here, and some entities to look at.
import { html } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Answer, Heading, Name, ofCurrent, to } from "../parts.js";

const CARDS = [
  ["/why", "Why", "A proof, or the sum behind a prediction. Why not, with the fact that is missing."],
  ["/rules", "Rules", "Each rule with examples and counter-examples. Accept, reject, edit, add, and see what changes."],
  ["/what-if", "What if", "Add a fact or take one back. See what appears and what vanishes. Undo."],
  ["/rule-graph", "Graph of rules", "Which relations lead to which, and how one rule runs."],
  ["/training", "Training", "The curves of a model, also while it trains, and its settings."],
];

export function Start({ exhibit, version }) {
  const state = useAnswer("search", ofCurrent({ q: "", most: 24 }), version);
  return html`
    <${Heading} title=${exhibit.title} view="search" params=${{ q: "" }}>
      <p class="muted lead">${exhibit.facts === undefined ? exhibit.kind
        : html`${exhibit.facts.toLocaleString()} facts · ${exhibit.entities.toLocaleString()} entities · ${exhibit.relations.length.toLocaleString()} relations${exhibit.held_out ? html` · ${exhibit.held_out.toLocaleString()} held-out facts` : null} · ${exhibit.kind}`}</p>
    <//>
    <${Answer} state=${state}>${(data) => html`<section class="card">
      <h2>Some entities</h2>
      ${data.names.length ? html`<ul class="chips">${data.names.map((name) => html`<li><${Name} name=${name} /></li>`)}</ul>`
        : html`<p class="muted">There are no facts here. Name a file of facts behind the model to look at entities.</p>`}
    </section>`}<//>
    <div class="grid">${CARDS.map(([path, name, told]) => html`<a class="card tile" href=${to(path)}><h2>${name}</h2><p>${told}</p></a>`)}</div>`;
}
