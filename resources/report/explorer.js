"use strict";
(() => {
  const app = document.getElementById("app");
  if (!app) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const LONG = 110; // of a prefix that stands before text without evidence
  const at = (id) => document.getElementById(id);

  // Every text of the corpus enters the page as a text node: nothing of it is ever markup.
  const make = (tag, css, ...children) => {
    const node = document.createElement(tag);
    if (css) node.className = css;
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const fixed = (value, digits = 3) => value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const signed = (value) => (value > 0 ? "+" : "") + fixed(value);
  const tone = (value) => (value > 0 ? "up" : value < 0 ? "down" : "");

  // Offsets are code points; a string's own are UTF-16 units.
  const marked = (text, marks) => {
    if (!marks.length) return [text];
    const points = Array.from(text);
    const pieces = [];
    let position = 0;
    for (const [start, end] of marks) {
      pieces.push(points.slice(position, start).join(""), make("mark", "", points.slice(start, end).join("")));
      position = end;
    }
    pieces.push(points.slice(position).join(""));
    return pieces;
  };

  const current = () => data.comparisons[Number(at("comparison").value)];

  const matching = () => {
    const direction = at("direction").value;
    const type = at("type").value;
    const words = at("search").value.trim().toLowerCase();
    return current().queries.filter(
      (query) =>
        (direction === "all" || (direction === "better" ? query.delta > 0 : query.delta < 0)) &&
        (type === "" || query.type === type) &&
        (words === "" || query.query.toLowerCase().includes(words) || query.document.toLowerCase().includes(words)),
    );
  };

  const option = (value, words) => {
    const node = make("option", "", words);
    node.value = value;
    return node;
  };

  const listTypes = () => {
    const types = [...new Set(current().queries.map((query) => query.type))].sort();
    at("type").replaceChildren(option("", "all"), ...types.map((type) => option(type, type)));
  };

  const summarise = () => {
    const it = current();
    const equal = it.n - it.better - it.worse;
    at("summary").textContent =
      `${it.minuend} − ${it.subtrahend} over all ${it.n} queries: mean ${fixed(it.delta, 4).replace(/^(?=[0-9])/, "+")} ` +
      `${data.metric}. ${it.minuend} is better on ${it.better}, ${it.subtrahend} on ${it.worse}, equal on ${equal}.`;
  };

  const listQueries = (wanted) => {
    const legend = at("queries").querySelector("legend");
    const found = matching();
    const chosen = found.find((query) => query.id === wanted) || found[0];
    const rows = found.map((query) => {
      const input = make("input");
      input.type = "radio";
      input.name = "query";
      input.value = query.id;
      input.checked = query === chosen;
      input.addEventListener("change", () => show(query));
      const label = make(
        "label", "", input, make("span", "", query.query), make("span", `delta ${tone(query.delta)}`, signed(query.delta)),
        make("span", "meta", `${query.type} · ${query.document}`),
      );
      return label;
    });
    at("queries").replaceChildren(legend, ...rows);
    if (chosen) show(chosen);
    else at("detail").replaceChildren(make("p", "soft", "No query matches."));
  };

  const rank = (entry, place, query) => {
    const chunk = data.chunks[entry.chunk];
    const title = data.documents[chunk.doc];
    const adds = entry.gain / Math.log2(place + 2);
    const head = make(
      "div", "head", make("b", "", `#${place + 1}`), make("span", "", title), make("span", "", `score ${fixed(entry.score)}`),
      make("span", "", `${chunk.tokens} tokens`),
      entry.gain > 0 ? make("span", "adds", `covers ${fixed(entry.gain * 100, 0)} % · adds ${fixed(adds)}`) : null,
      entry.routed === null ? null : make("span", "", entry.routed ? "routed" : "backfill"),
    );
    const donor = chunk.donor ? make("span", "soft", ` (a path of ${data.documents[chunk.donor] || chunk.donor})`) : null;
    const before = chunk.prefix.trim();
    const long = before.length > LONG && entry.gain === 0;
    const shown = long ? `${before.slice(0, LONG)}…` : before;
    const prefix = before ? make("div", "", make("span", "prefix", shown), donor) : null;
    const text = make("p", "text", ...marked(chunk.text, entry.marks), chunk.cut ? " …" : "");
    if (entry.gain > 0) return make("li", "hit", head, prefix, text);
    const whole = long ? make("span", "prefix", before) : null;
    const quiet = make("details", "quiet", make("summary", "", chunk.text.slice(0, 90)), whole, text);
    return make("li", chunk.doc === query.doc ? "" : "elsewhere", head, prefix, quiet);
  };

  const side = (name, own, query) => {
    const sum = own.dcg === undefined ? "" : ` = ${fixed(own.dcg)} gained of ${fixed(own.ideal)} possible`;
    const first = own.first === null ? `no evidence in ${own.n} ranks` : `first evidence at rank ${own.first}`;
    return make(
      "section", "side", make("h3", "", `${name}: ${fixed(own.score)}`),
      make("p", "soft", `${data.metric}${sum}; ${first}`),
      make("ol", "ranks", ...own.ranks.map((entry, place) => rank(entry, place, query))),
    );
  };

  const show = (query) => {
    const it = current();
    const names = [it.minuend, it.subtrahend];
    const evidence = query.evidence.map((span) =>
      make("div", "", make("p", "", make("mark", "", span.text)),
        make("p", "where", names.map((name, index) =>
          `${name}: ${span.first[index] === null ? "not ranked" : `rank ${span.first[index]}`}`).join(" · "))));
    at("detail").replaceChildren(
      make("h2", "", query.query),
      make("p", "soft", `${query.type} · evidence in ${query.document} · `,
        make("strong", tone(query.delta), `${names[0]} − ${names[1]} = ${signed(query.delta)}`)),
      make("div", "evidence", make("strong", "", "Evidence"), ...evidence),
      make("div", "versus", ...query.sides.map((own, index) => side(names[index], own, query))),
    );
    const hash = `#${encodeURIComponent(at("comparison").value)}/${encodeURIComponent(query.id)}`;
    try { history.replaceState(null, "", hash); } catch { /* a page from disk may not keep its place */ }
  };

  const refresh = (wanted) => { listTypes(); summarise(); listQueries(wanted); };

  at("comparison").replaceChildren(...data.comparisons.map((it, index) =>
    option(index, `${it.contrast}: ${it.minuend} − ${it.subtrahend} · ${it.embedder}, reranker ${it.reranker}`)));
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("comparison").addEventListener("change", () => refresh());
  for (const id of ["direction", "type"]) at(id).addEventListener("change", () => listQueries());
  at("search").addEventListener("input", () => listQueries());
  const [place, wanted] = location.hash.slice(1).split("/").map(decodeURIComponent);
  if (place in data.comparisons) at("comparison").value = place;
  app.hidden = false;
  refresh(wanted);
})();
