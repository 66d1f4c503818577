// charts.js - draws the memory use of a call over its steps, and the compile time of each stage and pass.

const svgSpace = "http://www.w3.org/2000/svg";
function draw(tag, attributes, ...children) {
  const element = document.createElementNS(svgSpace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** The maximum number of buffers that are drawn. If there are more buffers, only the largest are drawn. */
const mostBuffers = 1200;

function memoryView(shell, compile) {
  const {plan} = compile.record;
  const view = make("div", {});
  view.append(make(
      "p", {},
      `${format.bytes(plan.arena_bytes)} hold all intermediate results of a call (across: steps; up: offset). `,
      plan.symbols.length ? `Here ${plan.symbols.map((symbol) => `${symbol.name} = ${symbol.value}`).join(", ")}.` :
                            ""));
  if (plan.problem || !plan.arena.length) {
    view.append(make(
        "p", {class: "soft"},
        plan.problem || "The arena is empty, because every step writes a result of the call."));
    return {element: view};
  }
  const drawn = [...plan.arena].sort((a, b) => b.bytes - a.bytes).slice(0, mostBuffers);
  if (drawn.length < plan.arena.length)
    view.append(make("p", {class: "soft"}, `The ${drawn.length} largest of ${plan.arena.length} buffers are drawn.`));
  const width = 1100, height = 430, left = 78, bottom = 26, top = 8;
  const steps = Math.max(1, plan.steps.length);
  const x = (step) => left + ((width - left - 10) * step) / steps;
  const y = (offset) => top + (height - top - bottom) * (1 - offset / plan.arena_bytes);
  const chart = draw(
      "svg",
      {class: "chart", viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": "Memory by step"});
  for (let tick = 0; tick <= 4; tick++) {
    const offset = (plan.arena_bytes * tick) / 4;
    chart.append(
        draw("line", {x1: left, x2: width - 10, y1: y(offset), y2: y(offset)}),
        draw("text", {x: left - 6, y: y(offset) + 4, "text-anchor": "end"}, format.bytes(offset) || "0"));
  }
  const stride = Math.max(1, Math.ceil(steps / 12));
  for (let step = 0; step < steps; step += stride)
    chart.append(draw("text", {x: x(step) + 2, y: height - 8}, String(step)));
  const tell = make("p", {role: "status"}, "Select a buffer to see its size and the steps that use it.");
  let marked;
  for (const buffer of drawn) {
    const about = `buffer ${buffer.number}: ${format.bytes(buffer.bytes)} at ${
        format.bytes(buffer.offset) || "0"}, steps ${buffer.first} to ${buffer.last}`;
    const box = draw(
        "rect", {
          class: "buffer",
          x: x(buffer.first),
          y: y(buffer.offset + buffer.bytes),
          tabindex: 0,
          width: Math.max(1, x(buffer.last + 1) - x(buffer.first)),
          height: Math.max(1, y(buffer.offset) - y(buffer.offset + buffer.bytes))
        },
        draw("title", {}, about));
    const choose = () => {
      marked?.classList.remove("chosen");
      marked = box;
      box.classList.add("chosen");
      const link = (step) => make(
          "button", {type: "button", class: "link", click: () => shell.showStep(step)},
          `step ${step}: ${plan.steps[step].operations || "copy"}`);
      tell.replaceChildren(
          `${about}. Made by `, link(buffer.first), buffer.last > buffer.first ? ", last used by " : "",
          ...(buffer.last > buffer.first ? [link(buffer.last)] : []));
    };
    box.addEventListener("click", choose);
    box.addEventListener("keydown", (event) => event.key === "Enter" && choose());
    chart.append(box);
  }
  view.append(
      chart, tell,
      make(
          "p", {class: "soft"},
          `In addition to the arena: inputs ${format.bytes(plan.input_bytes)}, results ${format.bytes(plan.output_bytes)}, ` +
              `packed parameters ${format.bytes(plan.packed_bytes)}, constants ${format.bytes(plan.constant_bytes)}.`));
  return {element: view};
}

function timeView(shell, compile) {
  const stages = compile.record.stages.filter((stage) => stage.ms > 0);
  const most = stages.reduce((sum, stage) => Math.max(sum, stage.ms), 0) || 1;
  const bars = make("div", {class: "bars"});
  const add = (kind, name, milliseconds, hint) => {
    const fill = make("i");
    fill.style.width = `${(100 * milliseconds) / most}%`;
    bars.append(
        make("span", {class: kind, title: hint}, name), make("span", {class: "track"}, fill),
        make("span", {class: "number"}, format.time(milliseconds * 1000)));
  };
  for (const stage of stages) {
    add("stage", stage.name === "assembly" ? "machine code" : stage.name, stage.ms);
    for (const pass of [...stage.passes].sort((a, b) => b.ms - a.ms))
      add("pass", pass.name, pass.ms, `total time of ${pass.runs} runs`);
  }
  return {
    element: make(
        "div", {},
        make(
            "p", {}, `${format.time(compile.compileMilliseconds() * 1000)} in all. `,
            make("span", {class: "soft"}, "Function passes run on several threads; their times are sums over threads.")),
        bars)
  };
}
