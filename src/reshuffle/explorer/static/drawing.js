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

// A text in at most three lines of limited length.
export function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length >= most) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  const kept = lines.slice(0, 3).map((line) => shortened(line, most));
  return lines.length > 3 ? [...kept.slice(0, 2), shortened(kept[2] + " …", most)] : kept;
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

const SMALLEST = 0.62; // of the size in which a picture is laid out

// nodes: {id, lines: [text], kind, href, title}; edges: {from, to, label, kind}
// What would be too wide to be read is drawn as branches, where `root` is given for them.
export function Layered({ nodes, edges, direction = "BT", label, picture, root }) {
  const drawn = useMemo(() => place(nodes, edges, direction), [nodes, edges, direction]);
  if (root && drawn.width * SMALLEST > Math.min(1240, innerWidth) - 80) return html`<${Branches} root=${root()} label=${label} picture=${picture} />`;
  const [margin, width, height] = [12, drawn.width + 24, drawn.height + 24];
  return html`<div class="picture" tabindex="0" role="region" aria-label=${label}>
    <svg ref=${picture} class="drawing" role="group" aria-label=${label} viewBox=${`${drawn.left - margin} ${drawn.top - margin} ${width} ${height}`}
      width=${width} height=${height} style=${{ minWidth: `${Math.min(width, Math.max(640, width * SMALLEST))}px` }}>
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
    ${node.lines.map((line, place) => html`<text class=${place >= (node.main || 1) ? "second" : "first"} x=${node.x} y=${first + place * 17} text-anchor="middle" dominant-baseline="central">${place < node.lines.length - 1 ? line + " " : line}</text>`)}
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
  layout(graph, { constraints: inOrder(nodes, edges) });
  const found = { nodes: nodes.map((node) => graph.node(String(node.id))), edges: drawn.map((one) => one()) };
  return { ...found, ...around(found) };
}

// What leads to the same box lies in the order in which it is given, as far as boxes that lead to several ones allow:
// the facts of a proof are read in the order of the rule.
function inOrder(nodes, edges) {
  const order = new Map(nodes.map((node, number) => [String(node.id), number]));
  const into = new Map();
  for (const { from, to } of edges) {
    if (!into.has(to)) into.set(to, []);
    if (!into.get(to).includes(String(from))) into.get(to).push(String(from));
  }
  const pairs = [...into.values()].flatMap((ends) => ends.slice(1).map((right, place) => ({ left: ends[place], right })));
  return pairs.filter(({ left, right }) => order.get(left) < order.get(right)); // never in a circle
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

// --- branches: a tree that grows by click -----------------------------------------------------------------------------

const [BETWEEN, GAP, INDENT, NARROW, TALL] = [7, 34, 20, 560, 420];

// The tree in columns, each node in the middle of its branches; in a narrow window as an outline, a row for each node.
export function branched(root, { side = 1, outline = false } = {}) {
  const [nodes, edges, columns] = [[], [], []];
  let free = 0; // where there is room for the next box
  const visit = (node, depth, parent) => {
    const width = Math.max(30, ...node.lines.map((line) => widthOf(line, node.strong ? "bold " + FONT : FONT))) + 22;
    const made = { ...node, depth, width, height: 8 + 18 * node.lines.length, parent };
    nodes.push(made);
    columns[depth] = Math.max(columns[depth] || 0, width);
    if (parent) edges.push({ from: parent, to: made });
    const first = free;
    if (outline) free += made.height + BETWEEN;
    const children = (node.children || []).map((child) => visit(child, depth + 1, made));
    // In the middle of its branches; where these are more than one sees at once, beside the first.
    const [top, bottom] = children.length && !outline ? [children[0].y, children[children.length - 1].y] : [0, 0];
    const middle = bottom - top > TALL ? top : (top + bottom) / 2;
    made.y = Math.max(first + made.height / 2, middle);
    free = Math.max(free, made.y + made.height / 2 + BETWEEN);
    return made;
  };
  visit(root, 0, null);
  const starts = columns.map((_, depth) => columns.slice(0, depth).reduce((sum, width) => sum + width + GAP, 0));
  for (const node of nodes) {
    node.left = outline ? node.depth * INDENT : side > 0 ? starts[node.depth] : -starts[node.depth] - node.width;
    node.x = node.left + node.width / 2;
  }
  return { nodes, edges, side, outline };
}

function joined({ from, to }, { side, outline }) {
  if (outline) return `M${from.left + 9} ${from.y + from.height / 2} L${from.left + 9} ${to.y} L${to.left} ${to.y}`;
  const [start, end] = side > 0 ? [from.left + from.width, to.left] : [from.left, to.left + to.width];
  const middle = (start + end) / 2;
  return `M${start} ${from.y} C${middle} ${from.y} ${middle} ${to.y} ${end} ${to.y}`;
}

// How wide the place of a picture is: pictures are drawn for it, and never made so small that nobody reads them.
function useWidth() {
  const place = useRef(null);
  const [width, setWidth] = useState(null);
  useEffect(() => {
    const watching = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    watching.observe(place.current);
    return () => watching.disconnect();
  }, []);
  return [place, width];
}

function inColumns(root, left) {
  const right = branched(root);
  if (!left) return [right];
  const other = branched({ ...root, children: left }, { side: -1 });
  const [here, there] = [right.nodes[0], other.nodes[0]];
  for (const node of other.nodes) { node.x += here.left + here.width; node.left += here.left + here.width; node.y += here.y - there.y; }
  return [right, { ...other, nodes: other.nodes.slice(1) }];
}

function joinedSides(root, left) {
  return left ? { ...root, children: [...left.map((node) => ({ ...node, inward: true })), ...(root.children || [])] } : root;
}

function across(drawn) {
  const nodes = drawn.flatMap((one) => one.nodes);
  return Math.max(...nodes.map((node) => node.left + node.width)) - Math.min(...nodes.map((node) => node.left)) + 20;
}

// Branches to the right of a root, and where `left` is given, others to its left. Nodes have {id, lines, kind, title,
// onClick, href, children, strong}, and `inward` where the arrow leads from the node to its parent.
export function Branches({ root, left, label, picture }) {
  const [place, width] = useWidth();
  const drawn = useMemo(() => {
    const columns = width !== null && width < NARROW ? null : inColumns(root, left);
    return columns && (width === null || across(columns) <= width) ? columns : [branched(joinedSides(root, left), { outline: true })];
  }, [root, left, width]);
  const nodes = drawn.flatMap((one) => one.nodes);
  const from = Math.min(...nodes.map((node) => node.left)) - 10;
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2)) - 10;
  const wide = across(drawn);
  const down = Math.max(...nodes.map((node) => node.y + node.height / 2)) + 10 - top;
  return html`<div class="picture" tabindex="0" role="region" aria-label=${label} ref=${place}>
    ${width === null ? null : html`<svg ref=${picture} class="drawing branches" role="group" aria-label=${label} width=${wide} height=${down} viewBox=${`${from} ${top} ${wide} ${down}`}>
    <${Arrowheads} />
    ${drawn.map((one) => one.edges.map((edge) => html`<g class=${"edge " + (edge.to.kind || "")}><path d=${joined(edge, one)}
      marker-start=${edge.to.inward ? "url(#tip)" : undefined} marker-end=${edge.to.outward ? "url(#tip)" : undefined} /></g>`))}
    ${nodes.map((node) => html`<${Box} key=${node.id} node=${node} />`)}
  </svg>`}</div>`;
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
