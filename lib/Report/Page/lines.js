// lines.js - shows the levels of a model (its source, the IR of each stage, the assembly) side by side. If a line of one
// level is selected, the corresponding lines of all levels that are shown are highlighted.

/** One level: its lines, and marks at the positions of the chosen lines. */
class Pane {
  constructor(view, compile, name) {
    this.view = view;
    this.compile = compile;
    this.hits = [];
    this.hitSet = new Set();
    this.choice = make(
        "select", {"aria-label": "Level", change: () => this.show(this.choice.value, true)},
        ...compile.levels.map((level) => make("option", {value: level.name}, level.name)));
    this.functions = make("select", {"aria-label": "Go to function", change: () => this.goTo(this.functions.value)});
    this.note = make("span", {class: "soft"});
    this.marks = make("div", {class: "marks", "aria-hidden": true});
    this.list = new VirtualList("Lines", 19, (i) => this.row(i), (i) => this.open(i), "lines");
    this.list.box.addEventListener("focus", () => (view.active = this));
    this.element = make(
        "section", {class: "pane"}, make("div", {class: "bar"}, this.choice, this.functions, this.note), this.list.box,
        this.marks);
    this.show(name, false);
  }

  show(name, byHand) {
    this.level = this.compile.level(name) ?? this.compile.levels[0];
    this.choice.value = this.level.name;
    this.list.box.setAttribute("aria-label", `Lines: ${this.level.name}`);
    this.functions.replaceChildren(
        make("option", {value: ""}, "functions"),
        ...this.level.functions.map((one, i) => make("option", {value: i}, `@${one.name}`)));
    this.functions.hidden = this.level.functions.length === 0;
    this.list.at = -1;
    this.list.box.scrollTop = 0;
    // The longest line determines the width, up to a limit.
    const widest = this.level.lines.reduce((most, line) => Math.max(most, line.text.length), 0);
    this.list.content.style.width = `${Math.min(widest, 4000) * 7.4 + 90}px`;
    this.list.setCount(this.level.lines.length);
    this.mark(byHand ? this : undefined);
    if (byHand) this.view.changed();
  }

  goTo(number) {
    this.functions.value = "";
    const one = this.level.functions[Number(number)];
    if (number === "" || !one) return;
    this.list.moveTo(one.first, true);
    this.list.box.focus();
  }

  /** Marks the lines of the chosen origins; `from`, the pane in which the user chose them, does not scroll. */
  mark(from) {
    this.hits = this.view.chosen.size ? this.level.hits(this.view.chosen) : [];
    this.hitSet = new Set(this.hits);
    const lines = this.level.lines.length;
    this.note.textContent = this.view.chosen.size ? `${format.count(this.hits.length)} of ${format.count(lines)}` :
                                                    `${format.count(lines)} lines`;
    const bins = new Set(this.hits.map((hit) => Math.floor((hit / lines) * 100)));
    this.marks.replaceChildren(...[...bins].map((bin) => {
      const mark = make("i");
      mark.style.top = `${bin}%`;
      return mark;
    }));
    if (this !== from && this.hits.length && !this.inSight()) this.list.scrollTo(this.hits[0], true);
    this.list.redraw();
  }

  inSight() {
    const first = this.list.box.scrollTop / 19, last = first + this.list.box.clientHeight / 19 - 1;
    return this.hits.some((hit) => hit >= first && hit <= last);
  }

  row(i) {
    const line = this.level.lines[i];
    const element = make("div", {class: line.head ? "head" : ""}, make("i", {}, line.label));
    if (line.head)
      element.append(line.text);
    else
      element.append(...paint(line.text, this.level.name));
    if (this.hitSet.has(i)) element.classList.add(i === this.list.at ? "chosen" : "hit");
    return element;
  }

  open(i) {
    this.view.active = this;
    this.view.choose(this.level.originsFrom(i), this);
  }

  /** Moves to the next (1) or previous (-1) marked line. */
  step(way) {
    if (!this.hits.length) return;
    const next =
        way > 0 ? this.hits.find((hit) => hit > this.list.at) : this.hits.findLast((hit) => hit < this.list.at);
    this.list.moveTo(next ?? (way > 0 ? this.hits[0] : this.hits[this.hits.length - 1]), true);
  }

  find(words) {
    const lines = this.level.lines;
    for (let step = 1; step <= lines.length; step++) {
      const i = (Math.max(this.list.at, -1) + step) % lines.length;
      if (lines[i].text.toLowerCase().includes(words)) {
        this.list.moveTo(i, true);
        return true;
      }
    }
    return false;
  }
}

/** Matches the parts of a line of IR, Python or assembly that are colored. It is an approximation, not a parser. */
const parts =
    /("(?:[^"\\]|\\.)*"|'[^']*')|(\/\/.*|#(?![\w]).*)|(%[\w$.#:]+|@[\w$.]+|\^bb\d+)|\b(func\.func|return|def|class|for|if|else|in|[a-z_]+\.[a-z_][\w.]*)\b/g;

function paint(text, level) {
  const pieces = [];
  let end = 0;
  if (text.length > 2000) return [text];
  for (const found of text.matchAll(parts)) {
    if (level === "assembly" && !found[2]) continue;
    if (found.index > end) pieces.push(text.slice(end, found.index));
    const kind = found[1] ? "string" : found[2] ? "comment" : found[3] ? "name" : "word";
    pieces.push(make("span", {class: kind}, found[0]));
    end = found.index + found[0].length;
  }
  pieces.push(text.slice(end));
  return pieces;
}

class LinesView {
  constructor(shell, compile) {
    this.shell = shell;
    this.compile = compile;
    this.chosen = new Set();
    this.panes = [];
    this.row = make("div", {class: "panes"});
    this.more = make("button", {type: "button", click: () => this.add()}, "Add a level");
    this.fewer = make("button", {type: "button", click: () => this.drop()}, "Remove a level");
    this.element = make(
        "div", {class: "fill"},
        make(
            "div", {class: "bar"},
            make("span", {class: "soft"}, "A click on a line marks the lines of the same operations at every level."),
            this.more, this.fewer, make("button", {type: "button", click: () => this.choose([])}, "Clear")),
        this.row);
    const names = compile.levels.map((level) => level.name);
    this.arrange(["source", names.includes("graph") ? "graph" : "model", "structured", "assembly"].filter(
        (name) => names.includes(name)));
  }

  arrange(names) {
    this.panes = names.map((name) => new Pane(this, this.compile, name));
    this.active = this.panes[0];
    this.row.replaceChildren(...this.panes.map((pane) => pane.element));
    this.changed();
  }

  add() {
    const used = new Set(this.panes.map((pane) => pane.level.name));
    const next = this.compile.levels.find((level) => !used.has(level.name)) ?? this.compile.levels[0];
    const pane = new Pane(this, this.compile, next.name);
    this.panes.push(pane);
    this.row.append(pane.element);
    pane.mark();
    this.changed();
  }

  drop() {
    const pane = this.panes.pop();
    pane.element.remove();
    if (this.active === pane) this.active = this.panes[0];
    this.changed();
  }

  changed() {
    this.fewer.disabled = this.panes.length < 2;
    this.more.disabled = this.panes.length >= 6;
    this.shell.note();
  }

  choose(origins, from) {
    this.chosen = new Set(origins);
    this.panes.forEach((pane) => pane.mark(from));
    this.tell(from);
    this.shell.note();
  }

  tell(from) {
    const numbers = [...this.chosen];
    if (!numbers.length) return this.shell.say(from ? "no operation belongs to this line" : "");
    const kernels = new Set(numbers.flatMap((number) => [...(this.compile.kernelsOf[number] ?? [])]));
    const shown = numbers.slice(0, 3).map((number) => this.compile.describe(number)).join("; ");
    const more = numbers.length > 3 ? ` and ${numbers.length - 3} more` : "";
    const links = [...kernels].slice(0, 6).map(
        (kernel) => make(
            "button", {
              type: "button",
              class: "link",
              click: () => this.shell.showKernel(kernel),
            },
            kernel));
    this.shell.say(
        `${numbers.length === 1 ? "1 operation" : `${numbers.length} operations`}: ${shown}${more}`,
        ...(links.length ? ["in", ...links] : ["in no kernel: a view or a constant that kernels read directly"]));
  }

  /** Marks the lines of the kernel's operations, and shows its function in each pane whose level has it. */
  showKernel(kernel) {
    this.choose(kernel.origins);
    for (const pane of this.panes) {
      const body = pane.level.functions.find((one) => one.name === kernel.name);
      if (body) pane.list.moveTo(body.first, true);
    }
  }

  search(words, isFinal) {
    if (words && isFinal && !this.active.find(words.toLowerCase()))
      this.shell.say(`“${words}” is not in ${this.active.level.name}`);
  }

  key(event) {
    if (event.key === "n")
      this.active.step(1);
    else if (event.key === "N" || event.key === "p")
      this.active.step(-1);
    else if (event.key === "Escape")
      this.choose([]);
    else
      return false;
    return true;
  }
}
