// record.js - the record of a compilation, and the mapping between lines with the same origins.
//
// No part of a record is parsed as HTML. All strings are inserted as text nodes or attribute values.
"use strict";

/** Creates an element. Attributes that are functions become listeners. Children are nodes or text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function")
      element.addEventListener(name, value);
    else
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined)
                     .map((child) => child instanceof Node ? child : String(child)));
  return element;
}

const format = {
  /** 1536 -> "1.5 KiB" */
  bytes(value) {
    if (value === undefined || value === null || value < 0) return "";
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
    return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
  },
  time(microseconds) {
    if (microseconds === undefined || microseconds === null) return "";
    if (microseconds >= 1e6) return `${(microseconds / 1e6).toFixed(2)} s`;
    if (microseconds >= 1e3) return `${(microseconds / 1e3).toFixed(microseconds >= 1e5 ? 0 : 2)} ms`;
    return `${microseconds.toFixed(microseconds >= 100 ? 0 : 1)} µs`;
  },
  percent: (value) => (value === undefined || value === null ? "" : `${(100 * value).toFixed(0)}%`),
  count: (value) => (value === undefined || value === null ? "" : value.toLocaleString("en")),
};

/** "/home/me/model.py" -> "model.py" */
const shortName = (path) => path.split("/").pop();

/** "softmax+softmax+add" -> "softmax ×2 + add" */
function shortOperations(operations) {
  const runs = [];
  for (const name of operations.split("+"))
    if (runs.at(-1)?.name === name)
      runs.at(-1).count++;
    else
      runs.push({name, count: 1});
  return runs.map((run) => run.name + (run.count > 1 ? ` ×${run.count}` : "")).join(" + ");
}

/** Lines of one level: {text, label, origins, head}; origins is an array, or null. */
class Level {
  constructor(name, lines, functions = []) {
    this.name = name;
    this.lines = lines;
    this.functions = functions;
  }

  /** The function that contains the line, or undefined. */
  functionAt(line) {
    return this.functions.find((one) => one.first <= line && line <= one.last);
  }

  /** The origins that a click on the line selects: its own, or those of the function that begins with the line. */
  originsFrom(line) {
    const own = this.lines[line]?.origins;
    if (own?.length) return own;
    const inside = this.functions.find((one) => one.first === line);
    if (!inside) return [];
    const all = new Set();
    for (let i = inside.first; i <= inside.last; i++) this.lines[i].origins?.forEach((origin) => all.add(origin));
    return [...all].sort((a, b) => a - b);
  }

  /** Returns the indices of the lines that come from any of the chosen origins. */
  hits(chosen) {
    const known = new Map();  // results keyed by the array of origins, which several lines may share
    const hits = [];
    this.lines.forEach((line, i) => {
      if (!line.origins) return;
      let hit = known.get(line.origins);
      if (hit === undefined) known.set(line.origins, (hit = line.origins.some((origin) => chosen.has(origin))));
      if (hit) hits.push(i);
    });
    return hits;
  }
}

class Compile {
  constructor(record) {
    this.record = record;
    this.levels = [this.sourceLevel(), ...record.stages.map((stage) => this.stageLevel(stage))];
    this.kernelByName = new Map(record.kernels.map((kernel) => [kernel.name, kernel]));
    this.kernelsOf = record.origins.map(() => new Set());
    for (const kernel of record.kernels)
      for (const origin of kernel.origins) this.kernelsOf[origin]?.add(kernel.name);
  }

  level(name) {
    return this.levels.find((level) => level.name === name);
  }

  stageLevel(stage) {
    const lines = stage.lines.map((text, i) => ({
                                    text,
                                    label: i + 1,
                                    origins: stage.sets[i] >= 0 ? this.record.sets[stage.sets[i]] : null,
                                  }));
    return new Level(stage.name, lines, stage.functions);
  }

  /** The user's files, followed by the names of operations without a known line. */
  sourceLevel() {
    const {sources, origins} = this.record;
    const lines = [];
    const homeless = [];
    const byLine = new Map();
    origins.forEach((origin, number) => {
      if (!origin.file) return homeless.push(number);
      const key = `${origin.file}\n${origin.line}`;
      byLine.set(key, [...(byLine.get(key) ?? []), number]);
    });
    for (const file of sources) {
      lines.push({text: file.name + (file.problem ? ` (${file.problem})` : ""), label: "", origins: null, head: true});
      let last = null;
      for (const line of file.lines) {
        if (last !== null && line.number > last + 1) lines.push({text: "⋯", label: "", origins: null, head: true});
        const own = byLine.get(`${file.name}\n${line.number}`) ?? null;
        const named =
            own && !line.text ? own.map((origin) => origins[origin].label || origins[origin].operation).join(", ") : "";
        lines.push({text: line.text || named, label: line.number, origins: own});
        last = line.number;
      }
    }
    if (homeless.length) lines.push({text: "operations without a source line", label: "", origins: null, head: true});
    for (const origin of homeless)
      lines.push({text: `${origins[origin].operation}  ${origins[origin].label}`, label: "", origins: [origin]});
    return new Level("source", lines);
  }

  /** "tw.matmul (aten.mm.default) at model.py:12" */
  describe(number) {
    const origin = this.record.origins[number];
    const label = origin.label ? ` (${origin.label})` : "";
    return origin.operation + label + (origin.file ? ` at ${shortName(origin.file)}:${origin.line}` : "");
  }

  compileMilliseconds() {
    return this.record.stages.reduce((sum, stage) => sum + stage.ms, 0);
  }

  /** The predicted time of all launches of a call that have a prediction, or undefined if no kernel has one. */
  expectedMicroseconds() {
    const known = this.record.kernels.filter((kernel) => kernel.expected_us !== undefined && !kernel.once);
    return known.length ? known.reduce((sum, kernel) => sum + kernel.expected_us * kernel.launches, 0) : undefined;
  }
}
