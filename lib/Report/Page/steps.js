// steps.js - the steps of a call in order, and why there are steps that only copy.

function stepsView(shell, compile) {
  const {plan, origins, sets} = compile.record;
  const rows = [
    ...plan.once.map((step, i) => ({...step, number: i, once: true})),
    ...plan.steps.map((step, i) => ({...step, number: i, once: false}))
  ];
  const lines = (step) => {
    const own = (sets[step.set] ?? []).map((number) => origins[number]).filter((origin) => origin.file);
    return [...new Set(own.map((origin) => `${origin.file}:${origin.line}`))];
  };
  const columns = [
    {title: "Step", width: "6em", value: (step) => (step.once ? `once ${step.number}` : step.number), number: true},
    {title: "Kernel", width: "minmax(8em, 1fr)", value: (step) => step.kernel},
    {
      title: "Operations",
      width: "minmax(8em, 1fr)",
      value: (step) => step.operations,
      show: (step) => shortOperations(step.operations || "copy")
    },
    {
      title: "Why it copies",
      width: "minmax(16em, 4fr)",
      value: (step) => step.reason,
      hint: "empty for steps that compute"
    },
    {
      title: "Line",
      width: "minmax(8em, 1fr)",
      value: (step) => lines(step).join(", "),
      show: (step) => lines(step).map(shortName).join(", ")
    },
  ];
  const table = new Table("Steps", columns, rows, (step) => {
    if (step.set >= 0) shell.showOrigins(sets[step.set]);
    shell.say([step.kernel || "copy", step.reason].filter(Boolean).join(": "));
  });
  const choice = make(
      "select", {"aria-label": "Which steps", change: () => count(table.words)}, make("option", {value: "all"}, "all"),
      make("option", {value: "copies"}, "copies"));
  const note = make("span", {class: "soft"});
  const count = (words) => {
    const shown = table.filter(words, (step) => choice.value === "all" || Boolean(step.reason));
    const copies = rows.filter((step) => step.reason && !step.once).length;
    note.textContent = `${format.count(shown)} of ${format.count(rows.length)} steps; ${format.count(copies)} of ${
        format.count(plan.steps.length)} steps of a call only copy. A click on a step shows its lines at all levels.`;
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
