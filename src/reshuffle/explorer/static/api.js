// Asking the server. What takes long is told with status 202; asking again waits on.
import { useEffect, useState } from "./vendor/htm-preact.js";

const API = "/api/v1/";

export class Refused extends Error {
  constructor(data, status) {
    super(data.error || "the server did not answer");
    this.hint = data.hint;
    this.status = status;
  }
}

export function address(view, params) {
  return API + view + queryOf(params);
}

export function queryOf(params) {
  const given = Object.entries(params || {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? "?" + new URLSearchParams(given) : "";
}

async function answered(response) {
  let data = {};
  try {
    data = await response.json();
  } catch (error) {
    if (error.name === "AbortError" || response.ok) throw error; // else the status says enough
  }
  if (!response.ok) throw new Refused(data, response.status);
  return data;
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export async function ask(view, params, { signal, onProgress } = {}) {
  for (;;) {
    const response = await fetch(address(view, params), { signal, headers: { accept: "application/json" } });
    if (response.status !== 202) return answered(response);
    const job = await response.json();
    if (onProgress) onProgress(job);
    await pause(50);
    if (signal && signal.aborted) throw new DOMException("aborted", "AbortError");
  }
}

export async function tell(what, data) {
  const response = await fetch(API + what, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(data || {}),
  });
  return answered(response);
}

export async function cancel(job) {
  await fetch(API + "jobs/" + job, { method: "DELETE", headers: { "content-type": "application/json" } });
}

// {data, error, job}: the answer, what went wrong, or how far it is. `key` names what it depends on.
export function useAnswer(view, params, version) {
  const key = view + queryOf(params) + "#" + version;
  const [state, setState] = useState({ key: null });
  useEffect(() => {
    if (!view) return undefined;
    const stop = new AbortController();
    setState((before) => ({ ...before, job: null, error: null, stale: true }));
    ask(view, params, { signal: stop.signal, onProgress: (job) => setState((before) => ({ ...before, job, error: null })) })
      .then((data) => setState({ key, data }))
      .catch((error) => { if (error.name !== "AbortError") setState({ key, error }); });
    return () => stop.abort();
  }, [key]);
  return state;
}
