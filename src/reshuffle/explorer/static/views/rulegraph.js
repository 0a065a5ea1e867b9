// The graph of rules: relations and how they chain, and how one rule runs through it.
import { html, useMemo, useRef, useState } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Branches, Layered, download, shortened } from "../drawing.js";
import { Answer, Heading, RuleText, count, go, ofCurrent, plain, to, worded } from "../parts.js";

const MOST_SHOWN = 14; // relations on a side at first
const WHOLE = 14; // relations that are drawn all together

export function RuleGraph({ params, version }) {
  const wanted = { focus: params.focus, rule: params.rule, slots: params.slots };
  const state = useAnswer("rule-graph", ofCurrent(wanted), version);
  const picture = useRef(null);
  const slots = params.slots === "true";
  return html`<${Heading} title="Graph of rules" view="rule-graph" params=${wanted} csv svg=${() => download(picture.current, "rules")}>
      <p class="muted">${slots ? "The slots of the geometry: each path between the two ends of a relation spells a body that entails it."
        : "Relations in the bodies of rules lead to the relations that these rules conclude."}</p><//>
    <div class="segments" role="group" aria-label="Which graph">
      <button type="button" aria-pressed=${!slots} onClick=${() => go(to("/rule-graph", { rule: params.rule, focus: params.focus }))}>Relations</button>
      <button type="button" aria-pressed=${slots} onClick=${() => go(to("/rule-graph", { rule: params.rule, slots: "true" }))}>Slots</button></div>
    <${Answer} state=${state}>${(data) => html`<div class=${data.around ? "rule-graph focused" : "rule-graph"}>
      <div class="card">${data.reason ? html`<p class="note">${data.reason}</p>` : null}
        ${data.around ? html`<${Focused} around=${data.around} path=${data.path} picture=${picture} />`
          : data.nodes.length ? html`<${Drawn} data=${data} params=${params} picture=${picture} />`
          : data.reason ? null : html`<p class="muted">There is no rule yet. <a href=${to("/rules")}>Add one</a>, and the relations that it joins are drawn here.</p>`}
        ${slots && data.left_out ? html`<p class="muted">${count(data.left_out, "more edge is", "more edges are")} not drawn.</p>` : null}</div>
      ${data.rules.length ? html`<aside class="card" aria-label="Rules of this graph">
        ${slots ? null : html`<label class="small-label" for="focus">Relation in the middle</label>
          <select id="focus" onChange=${(event) => go(to("/rule-graph", { focus: event.target.value }))}>${data.relations.length > WHOLE ? null : html`<option value="">all relations</option>`}
          ${(data.relations || []).map((one) => html`<option value=${one} selected=${one === data.focus}>${plain(one)}</option>`)}</select>`}
        <h2>Rules</h2><ul class="plain-list rule-list">${data.rules.slice(0, 100).map((rule) => html`<li><a aria-current=${rule === params.rule ? "true" : undefined}
          href=${to("/rule-graph", { rule: rule === params.rule ? undefined : rule, focus: data.focus, slots: params.slots })}><${RuleText} rule=${rule} /></a></li>`)}</ul>
        ${data.rules.length > 100 ? html`<p class="muted">${(data.rules.length - 100 + (data.left_out || 0)).toLocaleString()} more. <a href=${to("/rules")}>All rules</a></p>` : null}</aside>` : null}
    </div>`}<//>`;
}

// One relation, on its left what rules conclude it from, on its right what they conclude from it.
function Focused({ around, path, picture }) {
  const [all, setAll] = useState(false);
  const lit = new Set((path || []).flat());
  const boxes = (side, rows) => {
    const shown = rows.slice(0, all ? rows.length : MOST_SHOWN).map((row) => ({
      id: side + row.relation,
      lines: [shortened(plain(row.relation), 30), `${count(row.rules, "rule")}${row.facts ? ` · ${count(row.facts, "fact")}` : ""}`],
      kind: (side === "after" ? "derived" : "fact") + (lit.has(row.relation) ? " lit" : ""),
      title: `${row.relation}: put it in the middle`,
      href: to("/rule-graph", { focus: row.relation }),
      inward: side === "before",
      outward: side === "after",
    }));
    const left = rows.length - shown.length + around.left_out[side];
    return left && !all ? [...shown, { id: side + " more", lines: [`${left} more relations`], kind: "more", round: true, title: `${left} more relations`, onClick: () => setAll(true) }] : shown;
  };
  const root = { id: "middle", strong: true, kind: "centre", lines: [shortened(plain(around.relation), 30)], title: around.relation, children: boxes("after", around.after) };
  return html`<div class="sides"><span>concluded from ${count(around.before.length + around.left_out.before, "relation")}</span><span>leads to ${count(around.after.length + around.left_out.after, "relation")}</span></div>
    <${Branches} root=${root} left=${boxes("before", around.before)} picture=${picture} label=${`Rules around ${plain(around.relation)}`} />`;
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
        lines: slots ? [slotName(node.name)] : [shortened(plain(node.id), 34), ...(node.facts ? [count(node.facts, "fact")] : [])],
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
