// The graph of rules: relations and how they chain, and how one rule runs through it.
import { html, useMemo, useRef } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Layered, download, shortened } from "../drawing.js";
import { Answer, Heading, RuleText, go, ofCurrent, plain, to, worded } from "../parts.js";

export function RuleGraph({ params, version }) {
  const wanted = { focus: params.focus, rule: params.rule, slots: params.slots };
  const state = useAnswer("rule-graph", ofCurrent(wanted), version);
  const picture = useRef(null);
  const slots = params.slots === "true";
  return html`<${Heading} title="Graph of rules" view="rule-graph" params=${wanted} csv svg=${() => download(picture.current, "rules")}>
      <p class="muted">${slots ? "The slots of the geometry: each path between the two ends of a relation spells a body that entails it."
        : "An arrow leads from a relation in the body of a rule to the relation that it concludes."}</p><//>
    <div class="segments" role="group" aria-label="Which graph">
      <button type="button" aria-pressed=${!slots} onClick=${() => go(to("/rule-graph", { rule: params.rule, focus: params.focus }))}>Relations</button>
      <button type="button" aria-pressed=${slots} onClick=${() => go(to("/rule-graph", { rule: params.rule, slots: "true" }))}>Slots</button></div>
    <${Answer} state=${state}>${(data) => html`<div class="rule-graph">
      <div class="card">${data.reason ? html`<p class="note">${data.reason}</p>` : null}
        ${data.nodes.length ? html`<${Drawn} data=${data} params=${params} picture=${picture} />` : data.reason ? null : html`<p class="muted">There is no rule to draw.</p>`}
        ${data.left_out ? html`<p class="muted">${data.left_out.toLocaleString()} more ${slots ? "edges are not drawn." : "rules are not drawn. Choose a relation to see those about it."}</p>` : null}</div>
      <aside class="card" aria-label="Rules of this graph">
        ${slots ? null : html`<label class="small-label" for="focus">About one relation</label>
          <select id="focus" onChange=${(event) => go(to("/rule-graph", { focus: event.target.value }))}><option value="">all</option>
          ${(data.relations || []).map((one) => html`<option value=${one} selected=${one === params.focus}>${plain(one)}</option>`)}</select>`}
        <h2>Rules</h2><ul class="plain-list rule-list">${data.rules.slice(0, 100).map((rule) => html`<li><a aria-current=${rule === params.rule ? "true" : undefined}
          href=${to("/rule-graph", { rule: rule === params.rule ? undefined : rule, focus: params.focus, slots: params.slots })}><${RuleText} rule=${rule} /></a></li>`)}</ul></aside>
    </div>`}<//>`;
}

// Slots are named after relations, such as n_parent.
function slotName(name) { return name.startsWith("n_") ? "n_" + worded(name.slice(2)) : worded(name); }

function Drawn({ data, params, picture }) {
  const [nodes, edges] = useMemo(() => {
    const slots = data.kind === "slots";
    const lit = new Set((data.path || []).map((pair) => pair.join("\u0000")));
    const onPath = new Set((data.path || []).flat());
    const run = new Set(data.edges.filter((edge) => edge.on_path).flatMap((edge) => [edge.from, edge.to]));
    const bundles = new Map();
    for (const edge of data.edges) {
      const key = [edge.from, edge.to, slots && edge.identity, edge.on_path].join("\u0000");
      const known = bundles.get(key);
      if (known) known.labels.push(edge.label);
      else bundles.set(key, { ...edge, labels: edge.label ? [edge.label] : [] });
    }
    return [
      data.nodes.map((node) => ({
        id: node.id,
        lines: slots ? [slotName(node.name)] : [shortened(plain(node.id), 34), ...(node.facts ? [`${node.facts.toLocaleString()} facts`] : [])],
        kind: slots ? (run.has(node.id) ? "slot lit" : "slot") : (node.concluded ? "derived" : "fact") + (onPath.has(node.id) ? " lit" : ""),
        title: slots ? node.name : node.id,
        href: slots ? undefined : to("/rule-graph", { focus: node.id === params.focus ? undefined : node.id }),
      })),
      [...bundles.values()].map((edge) => ({
        from: edge.from,
        to: edge.to,
        label: slots ? shortened(edge.labels.map(plain).join(", "), 40) : undefined,
        title: slots ? edge.labels.join(", ") : (edge.rules || []).join("\n"),
        kind: (edge.on_path || lit.has(edge.from + "\u0000" + edge.to) ? "lit" : params.rule ? "dim" : "") + (edge.identity ? " identity" : ""),
      })),
    ];
  }, [data, params.rule, params.focus]);
  return html`<${Layered} nodes=${nodes} edges=${edges} direction="LR" picture=${picture} label="Relations, and which lead to which by a rule" />`;
}
