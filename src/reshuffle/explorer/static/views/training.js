// A training: its curves, also while it goes on, and its settings.
import { html, useEffect, useRef, useState } from "../vendor/htm-preact.js";
import { useAnswer } from "../api.js";
import { Curves, download } from "../drawing.js";
import { Answer, Heading, ofCurrent } from "../parts.js";

export function Training({ exhibit }) {
  const [tick, setTick] = useState(0);
  const state = useAnswer("training", ofCurrent({}), tick);
  const picture = useRef(null);
  const running = state.data && state.data.running;
  useEffect(() => {
    if (!running) return undefined;
    const next = setTimeout(() => setTick(tick + 1), 2000);
    return () => clearTimeout(next);
  }, [running, tick, state.data]);
  return html`<${Heading} title="Training" view="training" csv svg=${() => download(picture.current, "training")} />
    <${Answer} state=${state}>${(data) => html`
      ${data.directory ? html`<p class="lead">${data.directory} ${data.running ? html`<span class="chip yes">training now</span>` : null}
        ${data.epochs.length ? html`<span class="muted">${data.epochs[data.epochs.length - 1].epoch} epochs${data.epochs[data.epochs.length - 1].seconds ? ` in ${Math.round(data.epochs[data.epochs.length - 1].seconds)} s` : ""}${data.best ? ` · best MRR ${data.best.mrr.toFixed(3)} at epoch ${data.best.epoch}` : ""}</span>` : null}</p>`
        : html`<p class="muted">This is no model directory: nothing was trained. <code>reshuffle train FACTS -o DIR</code> trains one, <code>reshuffle serve DIR</code> shows it.</p>`}
      ${data.epochs.length ? html`<div class="columns wide">
        <section class="card"><${Curves} title="Loss" picture=${picture} last=${last(data)} series=${[{ name: "loss", className: "one", points: points(data, "loss") }]} /></section>
        <section class="card"><${Curves} title="Validation" from=${0} last=${last(data)} series=${[{ name: "MRR", className: "one", points: points(data, "mrr") }, { name: "Hits@10", className: "two", points: points(data, "hits@10") }]} /></section></div>`
        : data.directory ? html`<p class="muted">${exhibit.kind === "rule model" ? "A rule model is fitted at once and keeps no curve." : "No epoch has ended yet."}</p>` : null}
      ${Object.keys(data.settings).length ? html`<section class="card"><h2>Settings</h2><table class="settings fold"><caption class="hidden">Settings</caption>
        <thead><tr><th scope="col">setting</th><th scope="col">value</th></tr></thead>
        <tbody>${Object.entries(data.settings).map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${String(value)}</td></tr>`)}</tbody></table></section>` : null}`}<//>`;
}

function last(data) { return data.epochs[data.epochs.length - 1].epoch; }

function points(data, name) {
  return data.epochs.filter((row) => row[name] !== null && row[name] !== undefined).map((row) => [row.epoch, row[name]]);
}
