// tables.js - the tabs with the overview, the kernels, and the decisions about fusion and other optimizations.

function overview(shell, compile) {
  const {record} = compile;
  const steps = record.plan.steps.length;
  const edges = record.edges.filter((edge) => edge.kind === "fusion");
  const unfused = edges.filter((edge) => !edge.done);
  const card = (title, value, note) =>
      make("div", {class: "card"}, make("span", {}, title), make("b", {}, value), make("span", {}, note));
  const known = record.kernels.filter((kernel) => kernel.code_bytes >= 0);
  const code = known.length ? known.reduce((sum, kernel) => sum + kernel.code_bytes, 0) : -1;
  const running = record.kernels.filter((kernel) => !kernel.once);
  const measured = record.measured ? running.reduce((sum, kernel) => sum + (kernel.measured_us ?? 0), 0) : undefined;
  const expected = compile.expectedMicroseconds();
  const cards = make(
      "div", {class: "cards"},
      card(
          "Machine", [record.cpu, record.machine].filter(Boolean).join(": ") || "—",
          `target ${record.target}, ${record.threads} threads, rounding ${record.rounding}`),
      card(
          "Model", `${format.count(record.origins.length)} operations`,
          record.start_at ? `IR after the stage ${record.start_at}` : shortName(record.model)),
      card(
          "Kernels", `${format.count(running.length)} distinct`,
          `${format.count(steps)} steps per call, ${format.count(record.plan.steps.filter((step) => step.reason).length)} of ` +
              `them only copy; ${record.kernels.length - running.length} kernels copy parameters once`),
      card(
          "Fusion", `${format.count(edges.length - unfused.length)} edges fused`,
          `${format.count(unfused.length)} not, each with its reason`),
      card(
          "A call",
          measured !== undefined     ? format.time(measured) :
              expected !== undefined ? `≈ ${format.time(expected)}` :
                                       "—",
          measured !== undefined     ? "measured in kernels, mean over threads" :
              expected !== undefined ? "predicted by the cost model, for kernels with an estimate; --measure measures times" :
                                       "the cost model has no estimate for these kernels; --measure measures times"),
      card(
          "Compile time", format.time(compile.compileMilliseconds() * 1000),
          `including ${format.time(record.codegen_ms * 1000)} for machine code`),
      card("Machine code", format.bytes(code) || "—", "of all kernels"),
      card(
          "Arena", format.bytes(record.plan.arena_bytes) || "—",
          record.plan.problem || "memory of one call, in addition to inputs and results"),
      card(
          "Parameters, packed", format.bytes(record.plan.packed_bytes) || "0 B",
          `inputs ${format.bytes(record.plan.input_bytes)}, results ${format.bytes(record.plan.output_bytes)}`));
  if (shell.program)
    cards.append(card(
        "Program", `${format.count(graphsOf(shell.program).length)} graphs`,
        make(
            "button", {type: "button", class: "link", click: () => shell.open("program")},
            `${format.count(shell.program.eager.length)} operators run in eager, ${
                format.count(shell.program.breaks.length)} graph breaks`)));
  const value = (kernel) =>
      kernel.measured_us ?? (kernel.expected_us === undefined ? 0 : kernel.expected_us * kernel.launches);
  const longest = [...running].sort((a, b) => value(b) - value(a)).slice(0, 8);
  const kernels = make(
      "table", {class: "plain"},
      make(
          "tr", {},
          ...["Kernel", "Operations", "Launches", record.measured ? "Measured" : "Expected"].map(
              (title) => make("th", {}, title))),
      ...longest.map(
          (kernel) => make(
              "tr", {},
              make(
                  "td", {},
                  make(
                      "button", {type: "button", class: "link code", click: () => shell.showKernel(kernel.name)},
                      kernel.name)),
              make("td", {}, shortOperations(kernel.operations)), make("td", {class: "number"}, kernel.launches),
              make("td", {class: "number"}, value(kernel) ? format.time(value(kernel)) : "—"))));
  const reasons = new Map();
  unfused.forEach((edge) => reasons.set(edge.reason, (reasons.get(edge.reason) ?? 0) + 1));
  const why = make(
      "table", {class: "plain"}, make("tr", {}, make("th", {}, "Edges"), make("th", {}, "Reason")),
      ...[...reasons]
          .sort((a, b) => b[1] - a[1])
          .slice(0, 8)
          .map(
              ([reason, count]) => make(
                  "tr", {}, make("td", {class: "number"}, count),
                  make(
                      "td", {},
                      make(
                          "button", {type: "button", class: "link", click: () => shell.open("fusion", reason)},
                          reason)))));
  return {
    element: make(
        "div", {}, cards, make("h2", {}, record.measured ? "Longest kernels" : "Longest kernels, as expected"), kernels,
        ...(reasons.size ? [make("h2", {}, "Why edges were not fused"), why] : []))
  };
}

function kernelsView(shell, compile) {
  const {record} = compile;
  const total = record.kernels.reduce((sum, kernel) => sum + (kernel.measured_us ?? 0), 0);
  const expected = (kernel) => (kernel.expected_us === undefined ? undefined : kernel.expected_us * kernel.launches);
  const share = (kernel) => (kernel.measured_us === undefined ? undefined : kernel.measured_us / (total || 1));
  const ofRoof = (kernel) => (kernel.measured_us && kernel.roof_us ? kernel.roof_us / kernel.measured_us : undefined);
  const column = (title, width, value, more = {}) => ({title, width, value, ...more});
  const number = (title, width, value, show, hint) =>
      ({title, width, value, show: (kernel) => show(value(kernel)), hint, number: true});
  const columns = [
    column("Kernel", "minmax(7em, 10em)", (kernel) => kernel.name),
    column(
        "Operations", "minmax(12em, 3fr)", (kernel) => kernel.operations,
        {show: (kernel) => shortOperations(kernel.operations), hint: "root operation, and operations fused with it"}),
    column(
        "Launches", "6em", (kernel) => kernel.launches,
        {show: (kernel) => (kernel.once ? "once" : kernel.launches), number: true}),
    column("Schedule", "minmax(8em, 2fr)", (kernel) => kernel.schedule, {hint: "tile sizes"}),
    number("Expected", "7em", expected, format.time, "by the cost model, all launches"),
    column("Bound by", "6em", (kernel) => kernel.bound, {hint: "the limiting resource, by the cost model"}),
  ];
  if (record.measured) {
    columns.push(number(
        "Measured", "7em", (kernel) => kernel.measured_us, format.time, "all launches of a call, mean over threads"));
    columns.push(number("Share", "5em", share, format.percent, "of all kernels' time"));
    columns.push(number(
        "Of roof", "6em", ofRoof, format.percent,
        "the time at the machine's peak rates, divided by the measured time; above 100% if the machine was busy " +
            "while its peak rates were measured"));
  }
  columns.push(number("GFLOP", "6em", (kernel) => kernel.flops / 1e9, (value) => (value ? value.toPrecision(3) : "")));
  columns.push(number("Code", "6em", (kernel) => kernel.code_bytes, format.bytes));
  const table = new Table("Kernels", columns, record.kernels, (kernel) => shell.showKernel(kernel.name));
  table.sort(record.measured ? 6 : 4, true);
  return {
    element: make(
        "div", {class: "fill"},
        make(
            "div", {class: "bar"},
            make("span", {class: "soft"}, "A click on a kernel shows its code at all levels. A click on a title sorts.")),
        table.element),
    tight: true,
    focus: table.list.box,
    search: (words) => shell.say(`${table.filter(words)} of ${record.kernels.length} kernels`),
    table
  };
}

// For each kind of decision, the texts for an applied and for a missed optimization.
const decided = {
  fusion: ["fused", "separate"],
  quantize: ["integers", "floats"],
  pack: ["packed", "unpacked"],
  vectorize: ["vectors", "scalars"],
};
const decisionText = (edge) => decided[edge.kind][edge.done ? 0 : 1];

function fusionView(shell, compile) {
  const edges = compile.record.edges;
  const columns = [
    {
      title: "",
      width: "6em",
      value: decisionText,
      show: (e) => make("span", {class: e.done ? "good" : "bad"}, decisionText(e))
    },
    {title: "Operations", width: "minmax(12em, 2fr)", value: (e) => e.subject},
    {title: "Reason", width: "minmax(14em, 3fr)", value: (e) => e.reason},
    {title: "Line", width: "minmax(8em, 1fr)", value: (e) => e.where, show: (e) => shortName(e.where)},
  ];
  const table = new Table("Edges", columns, edges, (edge) => {
    if (edge.set >= 0) shell.showOrigins(compile.record.sets[edge.set]);
    shell.say(edge.subject + (edge.reason ? `: ${edge.reason}` : ""));
  });
  const choice = make(
      "select", {"aria-label": "Which decisions", change: () => count(table.words)},
      make("option", {value: "missed"}, "not done"), make("option", {value: "done"}, "done"),
      make("option", {value: "all"}, "all"));
  const note = make("span", {class: "soft"});
  const count = (words) => {
    const shown = table.filter(words, (edge) => choice.value === "all" || edge.done === (choice.value === "done"));
    note.textContent = `${format.count(shown)} of ${format.count(edges.length)} decisions; ` +
        "a click on a fusion decision shows its lines at all levels.";
  };
  count("");
  return {
    element: make("div", {class: "fill"}, make("div", {class: "bar"}, choice, note), table.element),
    tight: true,
    focus: table.list.box,
    search: count,
    table
  };
}
