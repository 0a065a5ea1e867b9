// Pictures as SVG: layered graphs, a neighbourhood that grows, curves. What is on the screen can be downloaded.
import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { Graph, layout } from "./vendor/dagre.js";

const context = document.createElement("canvas").getContext("2d");
const FONT = "13px system-ui, sans-serif";

export function widthOf(text, font = FONT) {
  context.font = font;
  return context.measureText(text).width;
}

export function shortened(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// --- download -------------------------------------------------------------------------------------------------------

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-family", "font-weight", "opacity", "text-anchor", "dominant-baseline"];

// The picture with its colours written into it, so that it looks the same elsewhere.
export function download(svg, name) {
  if (!svg) return;
  const copy = svg.cloneNode(true);
  const [ours, copies] = [[svg, ...svg.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  ours.forEach((element, place) => {
    const style = getComputedStyle(element);
    KEPT.forEach((property) => copies[place].setAttribute(property, style.getPropertyValue(property)));
    copies[place].removeAttribute("class");
    copies[place].removeAttribute("tabindex");
  });
  const box = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  Object.entries({ x: box.x, y: box.y, width: box.width, height: box.height, fill: getComputedStyle(document.body).backgroundColor })
    .forEach(([key, value]) => ground.setAttribute(key, value));
  copy.insertBefore(ground, copy.firstChild);
  const link = document.createElement("a");
  link.href = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  link.download = name + ".svg";
  link.click();
}

// --- layered graphs -------------------------------------------------------------------------------------------------

// nodes: {id, lines: [text], kind, href, title}; edges: {from, to, label, kind}
export function Layered({ nodes, edges, direction = "BT", label, picture }) {
  const drawn = useMemo(() => place(nodes, edges, direction), [nodes, edges, direction]);
  const [margin, width, height] = [12, drawn.width + 24, drawn.height + 24];
  return html`<div class="picture" tabindex="0" role="region" aria-label=${label}>
    <svg ref=${picture} class="drawing" role="group" aria-label=${label} viewBox=${`${drawn.left - margin} ${drawn.top - margin} ${width} ${height}`}
      width=${width} height=${height} style=${{ minWidth: `${Math.min(width, Math.max(640, width * 0.62))}px` }}>
      <${Arrowheads} />
      ${drawn.edges.map((edge) => html`<g class=${"edge " + (edge.kind || "")}>
        <path d=${curve(edge.points)} marker-end=${edge.kind && edge.kind.includes("lit") ? "url(#tip-lit)" : "url(#tip)"} />
        ${edge.label ? html`<text class="edge-label" x=${edge.x} y=${edge.y} text-anchor="middle" dominant-baseline="middle">${edge.label}${edge.title ? html`<title>${edge.title}</title>` : null}</text>` : null}
      </g>`)}
      ${drawn.nodes.map((node) => html`<${Box} node=${node} />`)}
    </svg></div>`;
}

function Arrowheads() {
  return html`<defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip" d="M0 1 L9 5 L0 9 z" /></marker>
    <marker id="tip-lit" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path class="tip lit" d="M0 1 L9 5 L0 9 z" /></marker>
  </defs>`;
}

// What a screen reader says begins with what is seen, which may be shortened.
function told(node) {
  const seen = node.lines.join(" ");
  return !node.title || node.title === seen ? seen : node.title.startsWith(seen) ? node.title : `${seen}: ${node.title}`;
}

function Box({ node }) {
  const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
  const first = node.y - ((node.lines.length - 1) * 17) / 2;
  const inside = html`<rect x=${left} y=${top} width=${node.width} height=${node.height} rx=${node.round ? node.height / 2 : 7} />
    ${node.lines.map((line, place) => html`<text class=${place ? "second" : "first"} x=${node.x} y=${first + place * 17} text-anchor="middle" dominant-baseline="central">${place < node.lines.length - 1 ? line + " " : line}</text>`)}
    ${node.title ? html`<title>${node.title}</title>` : null}`;
  if (node.onClick) {
    return html`<g class=${"node clickable " + (node.kind || "")} role="button" tabindex="0" aria-label=${told(node)}
      onClick=${node.onClick} onKeyDown=${(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); node.onClick(); } }}>${inside}</g>`;
  }
  if (!node.href) return html`<g class=${"node " + (node.kind || "")}>${inside}</g>`;
  return html`<a class=${"node " + (node.kind || "")} href=${node.href} aria-label=${told(node)}>${inside}</a>`;
}

// The layout fails on some graphs with several arrows from one box to another, and puts loops beside their boxes. So it
// sees neither: of such arrows all but the first go through a point of their own, and loops are drawn at their boxes.
export function place(nodes, edges, direction) {
  const graph = new Graph();
  graph.setGraph({ rankdir: direction, nodesep: 22, ranksep: direction === "LR" ? 46 : 40, edgesep: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    const width = Math.max(44, ...node.lines.map((line) => widthOf(line))) + 24;
    graph.setNode(String(node.id), { ...node, width, height: 14 + 17 * node.lines.length });
  }
  const drawn = edges.map((edge, number) => {
    const [from, to] = [String(edge.from), String(edge.to)];
    const size = edge.label ? { width: widthOf(edge.label, "12px system-ui, sans-serif") + 8, height: 16 } : {};
    if (from === to) {
      const node = graph.node(from);
      node.loops = (node.loops || 0) + 1;
      const place = node.loops;
      return () => ({ ...edge, ...size, ...loop(node, place, size.width || 0) });
    }
    if (!graph.hasEdge(from, to)) {
      graph.setEdge(from, to, { ...size, labelpos: "c" });
      return () => ({ ...edge, ...size, ...graph.edge(from, to) });
    }
    const through = `\u0000${number}`; // no name has this character
    graph.setNode(through, { width: 1, height: 1, ...size });
    graph.setEdge(from, through);
    graph.setEdge(through, to);
    return () => {
      const { x, y } = graph.node(through);
      return { ...edge, ...size, x, y, points: [...graph.edge(from, through).points, { x, y }, ...graph.edge(through, to).points] };
    };
  });
  layout(graph);
  const found = { nodes: nodes.map((node) => graph.node(String(node.id))), edges: drawn.map((one) => one()) };
  return { ...found, ...around(found) };
}

// An arrow from a box to itself, around its upper right corner; the second one lies around the first.
function loop(node, place, width) {
  const [right, top, out] = [node.x + node.width / 2, node.y - node.height / 2, 10 + 14 * place];
  const points = [{ x: right - out, y: top }, { x: right - out, y: top - out }, { x: right + out, y: top + 4 }, { x: right, y: top + 8 }];
  return { points, x: right + 6 + width / 2, y: top - out / 2 - 4 };
}

// The box around everything, with the bends of arrows and their labels.
function around({ nodes, edges }) {
  const xs = [];
  const ys = [];
  for (const node of nodes) { xs.push(node.x - node.width / 2, node.x + node.width / 2); ys.push(node.y - node.height / 2, node.y + node.height / 2); }
  for (const edge of edges) {
    for (const point of edge.points) { xs.push(point.x); ys.push(point.y); }
    if (edge.label) { xs.push(edge.x - edge.width / 2, edge.x + edge.width / 2); ys.push(edge.y - 8, edge.y + 8); }
  }
  const [left, top] = [Math.min(0, ...xs), Math.min(0, ...ys)];
  return { left, top, width: Math.max(1, ...xs) - left, height: Math.max(1, ...ys) - top };
}

function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let at = 0; at < rest.length - 1; at += 1) {
    const [here, next] = [rest[at], rest[at + 1]];
    const end = at === rest.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    path += ` Q${here.x} ${here.y} ${end.x} ${end.y}`;
  }
  if (rest.length === 1) path += ` L${rest[0].x} ${rest[0].y}`;
  return path;
}

// --- a neighbourhood ------------------------------------------------------------------------------------------------

// Springs between neighbours and a push between all: placed the same way every time, without chance.
function settle(nodes, edges, before) {
  const at = new Map();
  nodes.forEach((node, number) => {
    const known = before.get(node.id);
    const angle = number * 2.399963;
    const away = 60 * Math.sqrt(number + 0.3);
    const near = node.near && before.get(node.near);
    at.set(node.id, known ? { ...known } : {
      x: (near ? near.x : 0) + Math.cos(angle) * away, y: (near ? near.y : 0) + Math.sin(angle) * away,
    });
  });
  const ids = nodes.map((node) => node.id);
  const half = new Map(nodes.map((node) => [node.id, node.width / 2]));
  const rest = 120 + 7 * Math.min(24, nodes.length);
  for (let round = 0; round < 260; round += 1) {
    const cooling = 1 - round / 260;
    const push = new Map(ids.map((id) => [id, { x: 0, y: 0 }]));
    for (let i = 0; i < ids.length; i += 1) {
      for (let j = i + 1; j < ids.length; j += 1) {
        const [a, b] = [at.get(ids[i]), at.get(ids[j])];
        let [dx, dy] = [a.x - b.x, a.y - b.y];
        if (!dx && !dy) [dx, dy] = [0.1 * (i + 1), 0.1 * (j + 1)];
        const far = Math.max(25, dx * dx + dy * dy);
        let force = 14000 / far;
        const [overX, overY] = [half.get(ids[i]) + half.get(ids[j]) + 14 - Math.abs(dx), 38 - Math.abs(dy)];
        if (overX > 0 && overY > 0) force += 5 + 0.25 * Math.min(overX, overY);
        const length = Math.sqrt(far);
        push.get(ids[i]).x += (dx / length) * force; push.get(ids[i]).y += (dy / length) * force;
        push.get(ids[j]).x -= (dx / length) * force; push.get(ids[j]).y -= (dy / length) * force;
      }
    }
    for (const edge of edges) {
      const [a, b] = [at.get(edge.from), at.get(edge.to)];
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const length = Math.max(1, Math.sqrt(dx * dx + dy * dy));
      const pull = 0.05 * (length - rest);
      push.get(edge.from).x += (dx / length) * pull; push.get(edge.from).y += (dy / length) * pull;
      push.get(edge.to).x -= (dx / length) * pull; push.get(edge.to).y -= (dy / length) * pull;
    }
    for (const id of ids) {
      const [point, { x, y }] = [at.get(id), push.get(id)];
      const length = Math.max(1, Math.sqrt(x * x + y * y));
      const step = Math.min(length, 34 * cooling + 1);
      point.x += (x / length) * step - point.x * 0.003;
      point.y += (y / length) * step - point.y * 0.005;
    }
  }
  return at;
}

// nodes: {id, lines, kind, title, onClick, near}; edges: {from, to, label, kind}
export function Neighbourhood({ nodes, edges, label, picture }) {
  const places = useRef(new Map());
  const sized = nodes.map((node) => ({ ...node, width: Math.max(36, ...node.lines.map((line) => widthOf(line, node.kind === "centre" ? "bold " + FONT : FONT))) + 22, height: 26 }));
  const drawn = useMemo(() => {
    places.current = settle(sized, edges, places.current);
    return places.current;
  }, [nodes, edges]);
  const boxes = sized.map((node) => ({ ...node, ...drawn.get(node.id), round: true }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2)) - 16;
  const top = Math.min(...boxes.map((box) => box.y - 13)) - 16;
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2)) + 16;
  const bottom = Math.max(...boxes.map((box) => box.y + 13)) + 16;
  return html`<svg ref=${picture} class="drawing neighbourhood" role="group" aria-label=${label}
    viewBox=${`${left} ${top} ${right - left} ${bottom - top}`}>
    <${Arrowheads} />
    ${edges.map((edge) => {
      const [a, b] = [byId.get(edge.from), byId.get(edge.to)];
      const [start, end] = [rim(a, b), rim(b, a)];
      const share = a.kind === "centre" ? 0.62 : b.kind === "centre" ? 0.38 : 0.5; // where lines have spread
      const middle = { x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share };
      return html`<g class=${"edge " + (edge.kind || "")}><path d=${`M${start.x} ${start.y} L${end.x} ${end.y}`} marker-end="url(#tip)" />
        ${edge.label ? html`<text class="edge-label halo" x=${middle.x} y=${middle.y} text-anchor="middle" dominant-baseline="central">${shortened(edge.label, 24)}<title>${edge.title || edge.label}</title></text>` : null}</g>`;
    })}
    ${boxes.map((node) => html`<${Box} node=${node} />`)}
  </svg>`;
}

// Where the line from one box to another leaves the first.
function rim(box, other) {
  const [dx, dy] = [other.x - box.x, other.y - box.y];
  if (!dx && !dy) return { x: box.x, y: box.y };
  const share = Math.min(Math.abs((box.width / 2 + 3) / (dx || 1e-9)), Math.abs((box.height / 2 + 3) / (dy || 1e-9)));
  return { x: box.x + dx * Math.min(1, share), y: box.y + dy * Math.min(1, share) };
}

// --- curves ---------------------------------------------------------------------------------------------------------

// series: {name, className, points: [[x, y]]}
export function Curves({ title, series, unit = "epoch", picture, from, last }) {
  const [width, height, pad] = [560, 240, { left: 52, right: 14, top: 12, bottom: 38 }];
  const all = series.flatMap((one) => one.points);
  const [at, setAt] = useState(null);
  useEffect(() => setAt(null), [all.length]);
  if (!all.length) return html`<p class="muted">${title}: nothing yet</p>`;
  const xs = all.map(([x]) => x);
  const ys = all.map(([, y]) => y);
  const [x0, x1] = [1, Math.max(...xs, last || 1, 2)];
  const low = from !== undefined ? from : Math.min(...ys);
  const high = Math.max(...ys, low + 1e-9);
  const x = (value) => pad.left + ((value - x0) / (x1 - x0)) * (width - pad.left - pad.right);
  const y = (value) => height - pad.bottom - ((value - low) / (high - low)) * (height - pad.top - pad.bottom);
  const marks = [low, (low + high) / 2, high];
  const steps = [...new Set([x0, Math.round((x0 + x1) / 2), x1])];
  return html`<figure class="curves"><figcaption>${title}
      <span class="legend">${series.map((one) => html`<span class=${"key " + one.className}>${one.name}
        <b>${one.points.length ? one.points[one.points.length - 1][1].toFixed(3) : "–"}</b></span>`)}</span></figcaption>
    <svg ref=${picture} class="drawing" role="img" viewBox=${`0 0 ${width} ${height}`}
      aria-label=${`${title}: ` + series.map((one) => `${one.name} from ${one.points[0]?.[1].toFixed(3)} to ${one.points[one.points.length - 1]?.[1].toFixed(3)}`).join(", ")}>
      ${marks.map((mark) => html`<g class="axis"><line x1=${pad.left} x2=${width - pad.right} y1=${y(mark)} y2=${y(mark)} />
        <text x=${pad.left - 8} y=${y(mark)} text-anchor="end" dominant-baseline="central">${mark.toPrecision(3)}</text></g>`)}
      ${steps.map((step) => html`<text class="axis-text" x=${x(step)} y=${height - 18} text-anchor="middle">${step}</text>`)}
      <text class="axis-text" x=${(width + pad.left - pad.right) / 2} y=${height - 4} text-anchor="middle">${unit}</text>
      ${series.map((one) => html`<g class=${"series " + one.className}>
        <path d=${"M" + one.points.map(([a, b]) => `${x(a)} ${y(b)}`).join(" L")} />
        ${one.points.length < 60 ? one.points.map(([a, b]) => html`<circle cx=${x(a)} cy=${y(b)} r=${at === a ? 5 : 3}><title>${`${one.name} ${b.toFixed(4)} at ${unit} ${a}`}</title></circle>`) : null}</g>`)}
    </svg></figure>`;
}
