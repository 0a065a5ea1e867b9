// Names as people read them: labels first, then short names by prefix, then the shortest endings that tell the long
// names of relations apart. Every name from the data is put in as text.
import { html } from "./vendor/htm-preact.js";

const known = { labels: {}, prefixes: [], relations: null, endings: new Map() };

export function addLabels(labels) { if (labels) Object.assign(known.labels, labels); }

// `prefixes` are namespaces by prefix; the longest one that fits makes a name short.
export function setNames({ prefixes, relations }) {
  known.prefixes = Object.entries(prefixes || {}).sort((one, other) => other[1].length - one[1].length || (one[0] < other[0] ? -1 : 1));
  if (known.relations === relations) return;
  known.relations = relations;
  known.endings = endingsOf((relations || []).filter((name) => short(name) === name));
}

// "1 fact", "2,310 facts", "3 entities".
export function count(number, one, many = one + "s") { return `${number.toLocaleString()} ${number === 1 ? one : many}`; }

// --- short names ------------------------------------------------------------------------------------------------------

const LOCAL = /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u;
const PARTS = /[/#]+/;

function short(name) {
  for (const [prefix, namespace] of known.prefixes) {
    if (name.startsWith(namespace) && LOCAL.test(name.slice(namespace.length))) return `${prefix}:${name.slice(namespace.length)}`;
  }
  return name;
}

// Endings from the shortest to the longest. A name that joins two steps, as in /a/b/c./d/e/f, is known by the last part
// of each: "c f" before all the rest.
function endingsFrom(name) {
  const steps = name.split(/\.(?=\/)/).map((step) => step.split(PARTS).filter(Boolean));
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (steps.length < 2) return last.map((_, place) => last.slice(-place - 1));
  return [last.slice(-1), [...first.slice(-1), ...last.slice(-1)], [...first.slice(-2), ...last.slice(-1)], [...first.slice(-2), ...last.slice(-2)], steps.flat()];
}

// Each word once where it would stand twice in a row.
function spoken(parts) {
  const words = parts.flatMap((part) => part.replace(/_s$/, "s").split("_")).filter(Boolean);
  return words.filter((word, place) => word !== words[place - 1]).join(" ");
}

// Of each name with several parts the last ones, as few as tell it from all others: /film/film/country is "film country"
// where there is a /music/artist/country, too.
export function endingsOf(names) {
  const choices = new Map(names.filter((name) => name.split(PARTS).filter(Boolean).length > 1).map((name) => [name, [...endingsFrom(name).map(spoken), name]]));
  const taken = new Set(names.filter((name) => !choices.has(name)));
  const level = new Map([...choices.keys()].map((name) => [name, 0]));
  const at = (name) => choices.get(name)[level.get(name)];
  for (let moved = true; moved;) {
    const uses = new Map();
    for (const name of choices.keys()) uses.set(at(name), (uses.get(at(name)) || 0) + 1);
    const unclear = [...choices.keys()].filter((name) => (uses.get(at(name)) > 1 || taken.has(at(name))) && level.get(name) < choices.get(name).length - 1);
    for (const name of unclear) level.set(name, level.get(name) + 1);
    moved = unclear.length > 0;
  }
  return new Map([...choices.keys()].map((name) => [name, at(name)]));
}

// The last part of an address that no prefix fits; who points at it sees all of it.
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/\S*[/#]([^/#\s]+)$/i;

function local(name) {
  const made = short(name);
  return made === name ? (ADDRESS.exec(name) || [name, name])[1] : made;
}

export function label(name) { return known.labels[name] || local(name); }

const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

// A relation as it is read; that of an inverse in parentheses, as it leads back.
export function plain(relation) {
  if (known.labels[relation]) return known.labels[relation];
  if (relation.endsWith("^-1")) return `${plain(relation.slice(0, -3))} (back)`;
  return relation === TYPE ? "is a" : known.endings.get(relation) || local(relation);
}

// --- rules in words ---------------------------------------------------------------------------------------------------

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"';
const ATOM = new RegExp(`^(?:${QUOTED}|([^\\s"(),&]+?))(\\^-1)?\\(\\s*(${QUOTED}|[^\\s"(),]+)\\s*(?:,\\s*(${QUOTED}|[^\\s"(),]+)\\s*)?\\)`);
const ESCAPES = { n: "\n", t: "\t", r: "\r" };

const unescaped = (text) => text.replace(/\\(.)/g, (_, letter) => ESCAPES[letter] || letter);

function term(written) {
  return written.startsWith('"') ? { name: unescaped(written.slice(1, -1)) } : /^[A-Z][0-9]*$/.test(written) ? { variable: written } : { name: written };
}

// The atoms of a side, or null where it is not written as rules are.
function atomsOf(text) {
  const atoms = [];
  let left = text.trim();
  while (left) {
    const found = ATOM.exec(left);
    if (!found) return null;
    const [whole, quoted, word, turned, first, , second] = found;
    const relation = quoted === undefined ? word : unescaped(quoted);
    const [head, tail] = [term(first), second === undefined ? null : term(second)];
    atoms.push(turned && tail ? { relation, head: tail, tail: head } : { relation, head, tail });
    left = left.slice(whole.length).trim();
    if (left && !left.startsWith("&")) return null;
    left = left.slice(1).trim();
  }
  return atoms;
}

export function parsedRule(text) {
  const at = text.lastIndexOf("-> ");
  if (at < 0) return null;
  const [body, end] = [atomsOf(text.slice(0, at)), text.slice(at + 3).trim()];
  const head = end === "false" ? [] : atomsOf(end);
  return body && head && head.length < 2 ? { body, head: head[0] || null } : null;
}

// Is a rule about particular entities?
export function namesEntities(text) {
  const rule = parsedRule(text);
  return Boolean(rule && [...rule.body, rule.head].some((atom) => atom && [atom.head, atom.tail].some((end) => end && end.name !== undefined)));
}

// How often a rule leads there; or for how many it was right, where it is about particular entities.
export function evidence({ rule, walks, predictions, support }) {
  if (predictions) return `right for ${support.toLocaleString()} of ${predictions.toLocaleString()}`;
  return namesEntities(rule) ? "not counted" : count(walks, "walk");
}

// The facts of a rule's instance in the order of its body, each by its place: what a picture of a proof goes by.
export function ruleInWords(text) {
  const rule = parsedRule(text);
  if (!rule) return worded(text);
  const told = ({ relation, head, tail }) => `${termText(head)} ${plain(relation)}${tail ? " " + termText(tail) : ""}`;
  return `${rule.body.map(told).join(", ")} → ${rule.head ? told(rule.head) : "never"}`.trim();
}

function termText({ variable, name }) { return variable || label(name); }

function Term({ one, colours }) {
  if (!one.variable) return html`<span class="constant" title=${one.name}>${label(one.name)}</span>`;
  if (!colours.has(one.variable)) colours.set(one.variable, colours.size % 6);
  return html`<var class=${`v${colours.get(one.variable)}`}>${one.variable}</var>`;
}

function Atom({ atom, colours }) {
  return html`<span class="atom"><${Term} one=${atom.head} colours=${colours} /> <span class="relation-word">${plain(atom.relation)}</span>${atom.tail
    ? html` <${Term} one=${atom.tail} colours=${colours} />` : null}</span>`;
}

// A rule in words, its variables in colours; who points at it sees how it is written.
export function RuleText({ rule }) {
  const parsed = parsedRule(rule);
  if (!parsed) return html`<code class="rule" title=${rule}>${worded(rule)}</code>`;
  const colours = new Map();
  if (parsed.head && parsed.head.head.variable) colours.set(parsed.head.head.variable, 0);
  if (parsed.head && parsed.head.tail && parsed.head.tail.variable) colours.set(parsed.head.tail.variable, 1);
  return html`<span class="rule" title=${rule}>${parsed.body.map((atom, place) => html`${place ? html`<span class="and">, </span>` : null}<${Atom} atom=${atom} colours=${colours} />`)}<span
    class="arrow"> → </span><span class="head">${parsed.head ? html`<${Atom} atom=${parsed.head} colours=${colours} />` : "never"}</span></span>`;
}

// A text with short names: relations in quotes before their arguments, IRIs in brackets, and words.
const WORD = /"([^"\s]+)"(?=(?:\^-1)?\()|<([A-Za-z][^<>\s]*:[^<>\s]*)>|([^\s(),"<>[\]']+)/g;

export function worded(text) {
  return text.replace(WORD, (found, quoted, bracketed, word) => {
    const name = quoted || bracketed || word;
    const made = known.endings.get(name) || local(name);
    return made === name ? found : made;
  });
}
