"use strict";

// What shows the details of a result.

// fold makes details that are built when they are first opened.
function fold(attributes, summary, build) {
  const made = el("details", attributes, el("summary", {}, summary));
  let built = false;
  made.build = () => {
    if (!built) {
      built = true;
      made.append(...[build()].flat());
    }
  };
  made.addEventListener("toggle", () => made.open && made.build());
  if (made.open) {
    made.build();
  }
  return made;
}

// webLink is a link, if it leads to the web, or else its text.
function webLink(address, text) {
  if (!/^https?:\/\//.test(address)) {
    return el("span", {}, address);
  }
  return el("a", { href: address, rel: "noreferrer", target: "_blank" }, text);
}

// parsed is a text as JSON; undefined when it is none.
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// scalar is a value of JSON that has no parts.
function scalar(value) {
  return el("span", { class: "json-" + (value === null ? "null" : typeof value) }, JSON.stringify(value));
}

// sizeOf says how many parts a value of JSON has.
function sizeOf(value) {
  const n = Object.keys(value).length;
  const of = Array.isArray(value) ? ["item", "items"] : ["member", "members"];
  return n + " " + of[n === 1 ? 0 : 1];
}

// tree is a value of JSON. Objects and arrays are folded below the second level, unless they are short.
function tree(value, depth, key) {
  const name = key === undefined ? "" : el("span", { class: "json-key" }, key + ": ");
  if (value === null || typeof value !== "object") {
    return el("div", { class: "json-leaf" }, name, scalar(value));
  }
  const list = Array.isArray(value);
  const short = JSON.stringify(value);
  if (depth > 0 && short.length <= 60) {
    return el("div", { class: "json-leaf" }, name, el("span", {}, short));
  }
  const summary = [name, list ? "[…] " : "{…} ", el("small", {}, sizeOf(value))];
  return fold({ class: "json", open: depth < 3 && Object.keys(value).length <= 40 }, summary, () =>
    Object.entries(value).map(([k, v]) => tree(v, depth + 1, k)));
}

// headOf says what a message is, from what is known of the requests before it.
function headOf(message, text, asked) {
  if (Array.isArray(message)) {
    return "batch of " + message.length;
  }
  if (message === undefined || message === null || typeof message !== "object") {
    const method = /"method":"([^"\\]+)"/.exec(text);
    return method ? method[1] : "";
  }
  const id = message.id === undefined ? "" : "  #" + JSON.stringify(message.id);
  if (message.method !== undefined) {
    return String(message.method) + (id || "  (notification)");
  }
  const to = asked.get(JSON.stringify(message.id));
  const answers = to === undefined ? "" : " to " + to;
  if (message.error !== undefined) {
    const error = Object(message.error);
    return "error " + JSON.stringify(error.code) + answers + id + (error.message ? ": " + error.message : "");
  }
  return message.result === undefined ? "" : "result" + answers + id;
}

// remember keeps which method a request has, for its answer to name it.
function remember(message, asked) {
  if (message && typeof message === "object" && message.method !== undefined && message.id !== undefined) {
    asked.set(JSON.stringify(message.id), String(message.method));
  }
}

const ways = {
  sent: ["→", "to the server"], received: ["←", "from the server"], event: ["·", "happened"],
};

// wireLine is one line of evidence.
function wireLine(line, before, asked) {
  const way = ways[line.direction] || ways.event;
  const message = line.part ? undefined : parsed(line.text);
  const head = line.direction === "event" ? "" : headOf(message, line.text, asked);
  remember(message, asked);
  const later = before !== undefined && line.at >= before; // a part of a message may have no time of its own
  const since = later ? " +" + ((line.at - before) * 1000).toFixed(0) + " ms" : "";
  return el("li", { class: "line " + (line.direction || "event") + (line.decisive ? " decisive" : "") },
    el("span", { class: "at" }, line.at.toFixed(3) + " s", el("small", {}, since)),
    el("span", { class: "arrow", title: way[1] }, way[0], el("span", { class: "aside" }, " " + way[1])),
    el("div", { class: "said" },
      head && el("strong", {}, head),
      line.part && el("small", {}, " part of a message "),
      line.http && el("code", { class: "http" }, line.http),
      wireText(line, message),
      line.truncated && el("small", {}, "shortened"),
      line.stderr && line.stderr.length > 0 && el("pre", { class: "stderr" }, line.stderr.join("\n"))));
}

// wireText is a message as it was on the wire; if it is JSON, it opens as a tree.
function wireText(line, message) {
  if (line.text === "") {
    return "";
  }
  if (message === undefined || message === null || typeof message !== "object") {
    return el(line.direction === "event" ? "span" : "pre", { class: "raw" }, line.text);
  }
  return fold({ class: "message" }, el("code", {}, line.text), () => tree(message, 0));
}

// evidence is the sequence of messages. Those of another session start anew.
function evidence(wire) {
  const items = [];
  let session;
  let before;
  let asked = new Map();
  const several = wire.some((line) => line.session !== wire[0].session);
  for (const line of wire) {
    if (several && line.session !== session) {
      session = line.session;
      before = undefined;
      asked = new Map();
      items.push(el("li", { class: "session" }, "session " + session));
    }
    items.push(wireLine(line, before, asked));
    before = line.part ? before : line.at;
  }
  return el("ol", { class: "wire" }, items);
}

// findings are what was expected and what the server sent, or else the whole message.
function findings(detail) {
  if (!detail.findings) {
    return detail.message ? el("pre", { class: "message-text" }, detail.message) : "";
  }
  const rows = detail.findings.map((finding) => el("div", { class: "finding" },
    finding.subject && el("p", { class: "subject" }, el("code", {}, finding.subject)),
    el("dl", {},
      finding.want && el("div", { class: "want" }, el("dt", {}, "expected"), el("dd", {}, finding.want)),
      el("div", { class: "got" }, el("dt", {}, "got"), el("dd", {}, finding.got)))));
  if (detail.more) {
    rows.push(el("p", { class: "more" }, "… and more of the same"));
  }
  return el("div", { class: "findings" }, rows);
}

// profilesText says under which profiles a result gates.
function profilesText(detail, about) {
  const others = about.profiles.filter((profile) => profile !== about.profile);
  return others.map((p) => p + (detail.profiles.includes(p) ? " blocks" : " does not")).join(" · ");
}

// facts are what else there is to say, as a list of terms.
function facts(result, detail, about) {
  const rows = [
    ["fix", detail.fix],
    ["on", detail.subjects && detail.subjects.join(", ")],
    ["measured", detail.note],
    ["known", detail.known],
    ["level", detail.level],
    ["profile " + about.profile, detail.gate],
    ["other profiles", profilesText(detail, about)],
    ["reason", detail.reason],
    ["asked by", detail.asked && detail.asked.map((ask) =>
      el("p", {}, ask.by + " (" + ask.id + ", " + ask.date + "): " + ask.rule + " ", webLink(ask.source, "source")))],
    ["provoked by", detail.provokedBy && detail.provokedBy.map((id) => el("p", {}, el("a", { href: "#" + id }, id)))],
    ["specification", detail.spec && webLink(detail.spec, detail.spec.replace(/^https?:\/\//, ""))],
    ["took", detail.seconds.toFixed(3) + " s"],
  ];
  return el("dl", { class: "facts-list" }, rows.filter((row) => row[1]).map(([name, value]) =>
    el("div", { class: name === "fix" ? "fix" : false }, el("dt", {}, name), el("dd", {}, value))));
}

// resultBody is all there is to say about a result.
function resultBody(result, detail, about) {
  const wire = detail.wire || [];
  return [
    findings(detail),
    facts(result, detail, about),
    wire.length > 0 && el("h3", {}, "Evidence ",
      el("small", {}, wire.length + (wire.length === 1 ? " line" : " lines") + ", seconds since the session opened")),
    wire.length > 0 && evidence(wire),
  ].filter((part) => part);
}
