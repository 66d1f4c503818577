// compare.js - shows the differences between this compilation and another one.

/**
 * Pairs the entries of both lists by a key, in order if several have the same key. Returns pairs [here, there], in
 * which one entry may be undefined.
 */
function pairs(here, there, key) {
  const waiting = new Map();
  there.forEach((one) => waiting.set(key(one), [...(waiting.get(key(one)) ?? []), one]));
  const paired = here.map((one) => [one, waiting.get(key(one))?.shift()]);
  return [...paired, ...[...waiting.values()].flat().map((one) => [undefined, one])];
}

/**
 * Creates a table of the options that differ, or a sentence if none does. If one of the records has no options, because
 * an earlier version wrote it, compares only the fields in `few`.
 */
function optionsTable(there, here) {
  const few = ({target, cpu, threads, rounding, start_at}) =>
      ({target, cpu, threads: String(threads), rounding, start_at});
  const [before, now] = [there, here].map((one) => there.options && here.options ? one.options : few(one));
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])];
  const changed = names.filter((name) => (before[name] ?? "") !== (now[name] ?? ""));
  if (!changed.length) return make("p", {class: "soft"}, `All ${names.length} options are the same.`);
  return make(
      "div", {},
      make(
          "table", {class: "plain", id: "options"},
          make("tr", {}, ...["Option", "Before", "Now"].map((title) => make("th", {}, title))),
          ...changed.map(
              (name) => make(
                  "tr", {}, make("td", {class: "code"}, name), make("td", {}, before[name] || "—"),
                  make("td", {}, now[name] || "—")))),
      make("p", {class: "soft"}, `The other ${names.length - changed.length} options are the same.`));
}

function compareView(shell, compile, other) {
  if (!other)
    return {
      element: make(
          "p", {}, "This page has no record for a comparison. ",
          make("span", {class: "code"}, "tilewright explain MODEL --json before.json"), " writes a record; ",
          make("span", {class: "code"}, "tilewright explain MODEL --html page.html --against before.json"),
          " shows what is different now.")
    };
  const here = compile.record, there = other.record;
  const expected = (kernel) => (kernel?.expected_us === undefined ? undefined : kernel.expected_us * kernel.launches);
  const change = (before, now) =>
      (before && now !== undefined && before !== now ?
           `${now >= before ? "+" : ""}${((100 * now) / before - 100).toFixed(1)}%` :
           "");
  const row = (title, show, before, now) => make(
      "tr", {}, make("td", {}, title), make("td", {class: "number"}, before === undefined ? "—" : show(before)),
      make("td", {class: "number"}, now === undefined ? "—" : show(now)),
      make("td", {class: "number"}, typeof now === "number" ? change(before, now) : ""));
  const plain = (value) => value;
  const code = (record) => record.kernels.reduce((sum, kernel) => sum + Math.max(0, kernel.code_bytes), 0);
  const time = (record) =>
      (record.measured ? record.kernels.reduce((sum, kernel) => sum + (kernel.measured_us ?? 0), 0) : undefined);
  const totals = make(
      "table", {class: "plain"},
      make("tr", {}, ...["", "Before", "Now", "Change"].map((title) => make("th", {}, title))),
      row("Model", shortName, there.model, here.model), row("CPU", plain, there.cpu, here.cpu),
      row("Machine", plain, there.machine, here.machine),
      row("Tilewright", plain, there.versions.tilewright, here.versions.tilewright),
      row("LLVM", plain, there.versions.llvm, here.versions.llvm),
      row("Threads", plain, there.threads, here.threads),
      row("Operations", format.count, there.origins.length, here.origins.length),
      row("Kernels", format.count, there.kernels.length, here.kernels.length),
      row("Steps per call", format.count, there.plan.steps.length, here.plan.steps.length),
      row("Expected", format.time, other.expectedMicroseconds(), compile.expectedMicroseconds()),
      row("Measured", format.time, time(there), time(here)), row("Machine code", format.bytes, code(there), code(here)),
      row("Arena", format.bytes, there.plan.arena_bytes, here.plan.arena_bytes),
      ...here.stages.filter((stage) => stage.ms > 0)
          .map(
              (stage) => row(
                  `Compile time: ${stage.name === "assembly" ? "machine code" : stage.name}`,
                  (ms) => format.time(ms * 1000), there.stages.find((one) => one.name === stage.name)?.ms, stage.ms)));
  const kernels = pairs(here.kernels, there.kernels, (kernel) => kernel.operations).map(([now, before]) => {
    const what = !before                     ? "new" :
        !now                                 ? "gone" :
        now.schedule !== before.schedule     ? "schedule" :
        now.launches !== before.launches     ? "launches" :
        now.code_bytes !== before.code_bytes ? "code" :
                                               "same";
    return {now, before, what};
  });
  const columns = [
    {
      title: "",
      width: "6em",
      value: (k) => k.what,
      show: (k) => make(
          "span",
          {class: k.what === "new" ? "good" :
               k.what === "gone"   ? "bad" :
                                     ""},
          k.what)
    },
    {
      title: "Operations",
      width: "minmax(10em, 2fr)",
      value: (k) => (k.now ?? k.before).operations,
      show: (k) => shortOperations((k.now ?? k.before).operations)
    },
    {title: "Schedule before", width: "minmax(8em, 1fr)", value: (k) => k.before?.schedule},
    {title: "Schedule now", width: "minmax(8em, 1fr)", value: (k) => k.now?.schedule},
    {
      title: "Expected before",
      width: "10em",
      number: true,
      value: (k) => expected(k.before),
      show: (k) => format.time(expected(k.before))
    },
    {
      title: "now",
      width: "6em",
      number: true,
      value: (k) => expected(k.now),
      show: (k) => format.time(expected(k.now))
    },
    {
      title: "Measured before",
      width: "10em",
      number: true,
      value: (k) => k.before?.measured_us,
      show: (k) => format.time(k.before?.measured_us)
    },
    {
      title: "now",
      width: "6em",
      number: true,
      value: (k) => k.now?.measured_us,
      show: (k) => format.time(k.now?.measured_us)
    },
    {
      title: "Code",
      width: "7em",
      number: true,
      value: (k) => (k.now?.code_bytes ?? 0) - (k.before?.code_bytes ?? 0),
      show: (k) => change(k.before?.code_bytes, k.now?.code_bytes)
    },
  ];
  const table = new Table("Kernels of both", columns, kernels, (k) => k.now && shell.showKernel(k.now.name));
  const edges = pairs(here.edges, there.edges, (edge) => `${edge.kind} ${edge.done} ${edge.subject} ${edge.reason}`)
                    .filter(([now, before]) => !now || !before);
  const differences = make(
      "table", {class: "plain"},
      ...edges.slice(0, 200).map(
          ([now, before]) => make(
              "tr", {}, make("td", {class: now ? "good" : "bad"}, now ? "now" : "before"),
              make("td", {}, decisionText(now ?? before)), make("td", {}, (now ?? before).subject),
              make("td", {class: "soft"}, (now ?? before).reason))));
  table.element.style.height = `${Math.min(kernels.length + 2, 16) * 27 + 20}px`;
  table.filter("", (k) => k.what !== "same");
  const all = make(
      "input", {type: "checkbox", change: () => table.filter(table.words, (k) => all.checked || k.what !== "same")});
  return {
    element: make(
        "div", {}, make("h2", {}, "Before and now"), totals, make("h2", {}, "Options"),
        optionsTable(there, here), make("h2", {}, "Kernels"),
        make("label", {}, all, " also show unchanged kernels"), table.element, make("h2", {}, "Fusion"),
        edges.length ? differences : make("p", {class: "soft"}, "The same decisions, for the same reasons.")),
    search: (words) => table.filter(words),
    table
  };
}
