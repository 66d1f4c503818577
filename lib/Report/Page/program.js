// program.js - the program to which the graphs belong: its functions, operators that run in eager, and graph breaks.

/** The maximum number of rows of a table. The other rows are omitted. */
const mostProgramRows = 300;

/** Returns all graphs of the program. */
const graphsOf = (program) => program.functions.flatMap((one) => one.compiles.flatMap((each) => each.graphs));

/** A table cell with a line of the user's source: "model.py:12", and the text of the line if it is known. */
const userLine = (row) => make(
    "td", {}, make("span", {title: row.where}, shortName(row.where)),
    row.text ? make("div", {class: "code soft"}, row.text) : null);

/** A table, or the text `none` if there are no rows. `cells` returns the cells of a row. */
function programTable(id, titles, rows, cells, none) {
  if (!rows.length) return make("p", {class: "soft", id}, none);
  const left = rows.length - mostProgramRows;
  return make(
      "div", {},
      make(
          "table", {class: "plain", id}, make("tr", {}, ...titles.map((title) => make("th", {}, title))),
          ...rows.slice(0, mostProgramRows).map((row) => make("tr", {}, ...cells(row)))),
      left > 0 ? make("p", {class: "soft"}, `${left} more are not shown; report.to_json() has all of them.`) : null);
}

/** Joins the rows that are equal in the given members into one row; its `count` is the number of joined rows. */
function counted(rows, members) {
  const found = new Map();
  for (const row of rows) {
    const key = JSON.stringify(members.map((member) => row[member]));
    if (found.has(key))
      found.get(key).count++;
    else
      found.set(key, {...row, count: 1});
  }
  return [...found.values()];
}

function programView(shell, program) {
  const cell = (...children) => make("td", {}, ...children);
  const graphs = graphsOf(program);
  const link = (graph) => make(
      "div", {},
      ...(graph.records.length ? graph.records.map(
                                     (number) => make(
                                         "button", {type: "button", class: "link", click: () => shell.choose(number)},
                                         `${number + 1}: ${graph.name}`)) :
                                 [graph.name]),
      make(
          "span", {class: "soft"},
          ` ${graph.kind}: ${graph.nodes} nodes, ${graph.kernels} kernels` +
              (graph.eager ? `, ${graph.eager} operators in eager` : "")));
  const compiles = program.functions.flatMap(
      (one) => one.compiles.map((compile, i) => ({...compile, name: one.name, where: one.where, first: i === 0})));
  return {
    element: make(
        "div", {},
        make(
            "p", {},
            `${program.functions.length} functions, ${graphs.length} graphs; ${program.eager.length} operators run in ` +
                `eager, ${program.breaks.length} graph breaks.`),
        make("h2", {}, "Functions"),
        programTable(
            "functions", ["Function", "Line", "Compile", "Reason for the recompilation", "Graphs"], compiles,
            (one) =>
                [cell(one.first ? one.name : ""), cell(one.first ? make("span", {title: one.where}, shortName(one.where)) : ""),
                 cell(one.id, one.seconds ? ` (${format.time(one.seconds * 1e6)})` : ""), cell(one.reason),
                 cell(...one.graphs.map(link))],
            "torch.compile passed no graph to Tilewright."),
        make("h2", {}, "Operators that run in eager"),
        programTable(
            "eager", ["Operator", "Graphs", "Line", "Reason"],
            counted(program.eager, ["operator", "where", "reason"]),
            (one) =>
                [make("td", {class: "code"}, one.operator), make("td", {class: "number"}, one.count), userLine(one),
                 cell(one.reason)],
            "Tilewright compiled every operator of every graph."),
        make("h2", {}, "Graph breaks"),
        programTable(
            "breaks", ["Line", "Reason"], program.breaks, (one) => [userLine(one), cell(one.reason)],
            "torch.compile traced every function as one graph."),
        ...(program.left.length ? [
          make("h2", {}, "Functions that torch.compile runs in eager"),
          programTable(
              "left", ["Function", "Line", "Reason"], program.left,
              (one) => [cell(one.function), userLine(one), cell(one.reason)], "")
        ] :
                                  []))
  };
}
