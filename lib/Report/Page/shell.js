// shell.js - tabs, keys, search and the #view=... of the address. The last line starts the page.

const views = [
  {name: "overview", title: "Overview", build: overview},
  {name: "lines", title: "Lines", build: (shell, compile) => new LinesView(shell, compile)},
  {name: "kernels", title: "Kernels", build: kernelsView},
  {name: "fusion", title: "Fusion", build: fusionView},
  {name: "memory", title: "Memory", build: memoryView},
  {name: "time", title: "Time", build: timeView},
  {name: "compare", title: "Difference", build: (shell, compile) => compareView(shell, compile, shell.against)},
  {name: "steps", title: "Steps", build: stepsView},
];

const keys = [
  ["1 … 8", "the views"],
  ["Tab", "move to the next part of the page"],
  ["↑ ↓ PgUp PgDn Home End", "move in lists of lines, kernels and edges"],
  ["Enter", "open the row; mark the line at every level"],
  ["n, p", "go to the next or the previous marked line"],
  ["Esc", "remove the marks; leave the search"],
  ["/", "search: Enter finds the next line; tables show only matching rows"],
  ["t", "switch between the light and the dark theme"],
  ["?", "these keys"],
];

class Shell {
  constructor(data) {
    this.compiles = data.records.map((record) => new Compile(record));
    this.program = data.program;
    if (this.program) views.push({name: "program", title: "Program", build: (shell) => programView(shell, shell.program)});
    keys[0][0] = `1 … ${views.length}`;
    this.against = data.against ? new Compile(data.against) : null;
    this.main = document.getElementById("view");
    this.status = document.getElementById("status");
    this.searchBox = document.getElementById("search");
    this.tabs = document.getElementById("tabs");
    for (const [i, view] of views.entries())
      this.tabs.append(make(
          "button", {
            type: "button",
            role: "tab",
            id: `tab-${view.name}`,
            title: `${view.title} (${i + 1})`,
            click: () => this.open(view.name)
          },
          view.title));
    this.tabs.addEventListener("keydown", (event) => this.turn(event));
    this.choice = document.getElementById("record");
    this.compiles.forEach(
        (compile, i) => this.choice.append(make("option", {value: i}, `${i + 1}: ${compile.record.model}`)));
    this.choice.hidden = this.compiles.length < 2;
    document.getElementById("model").hidden = !this.choice.hidden;  // the choice contains the name
    this.choice.addEventListener("change", () => this.take(Number(this.choice.value)));
    this.searchBox.addEventListener("input", () => this.search(false));
    this.searchBox.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.search(true);
      if (event.key === "Escape") this.main.focus();
    });
    document.getElementById("theme").addEventListener("click", () => this.turnTheme());
    const dialog = document.getElementById("keys");
    document.getElementById("help").addEventListener("click", () => dialog.showModal());
    document.getElementById("key-list")
        .append(...keys.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]));
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.fromAddress());
    this.take(0, false);
    this.fromAddress();
  }

  /** Makes graph `number` of the page current. If `show` is true, shows it in the view that is open. */
  take(number, show = true) {
    this.compile = this.compiles[number];
    this.built = new Map();
    const name = this.compile.record.model;
    document.getElementById("model").textContent = shortName(name);
    document.getElementById("model").title = name;
    document.title = `${shortName(name)} - Tilewright explains`;
    if (show) this.open(this.current);
  }

  /** Selects graph `number` and shows its overview. */
  choose(number) {
    this.choice.value = number;
    this.take(number, false);
    this.open("overview");
  }

  view(name) {
    if (!this.built.has(name)) this.built.set(name, views.find((one) => one.name === name).build(this, this.compile));
    return this.built.get(name);
  }

  open(name, words = "") {
    this.current = name;
    const view = this.view(name);
    this.say("");
    this.main.replaceChildren(view.element);
    this.main.classList.toggle("tight", Boolean(view.tight) || name === "lines");
    for (const tab of this.tabs.children) {
      const isThis = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", isThis);
      tab.tabIndex = isThis ? 0 : -1;
    }
    this.searchBox.value = words;
    this.searchBox.disabled = !view.search;
    if (words || view.table) view.search?.(words, false);
    if (name === "lines" && view.chosen.size) view.tell();
    this.note();
    return view;
  }

  say(...parts) {
    this.status.replaceChildren(
        make("span", {class: parts[0] ? "grow" : ""}, parts[0] ?? ""),
        ...parts.slice(1).map((part) => (part instanceof Node ? part : make("span", {}, part))));
  }

  showKernel(name) {
    const kernel = this.compile.kernelByName.get(name);
    if (kernel) this.open("lines").showKernel(kernel);
  }

  showOrigins(origins) {
    this.open("lines").choose(origins);
  }

  showStep(number) {
    const step = this.compile.record.plan.steps[number];
    if (step.set >= 0) this.showOrigins(this.compile.record.sets[step.set]);
  }

  search(isFinal) {
    this.view(this.current).search?.(this.searchBox.value, isFinal);
  }

  turnTheme() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" :
                                                          matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  }

  turn(event) {
    const way = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!way) return;
    const next = (views.findIndex((view) => view.name === this.current) + way + views.length) % views.length;
    this.open(views[next].name);
    this.tabs.children[next].focus();
    event.preventDefault();
  }

  key(event) {
    const typing = event.target.matches?.("input, select, textarea") || document.getElementById("keys").open;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = Number(event.key);
    if (event.key === "/" && !this.searchBox.disabled)
      this.searchBox.focus();
    else if (event.key === "?")
      document.getElementById("keys").showModal();
    else if (event.key === "t")
      this.turnTheme();
    else if (number >= 1 && number <= views.length)
      this.open(views[number - 1].name);
    else if (!this.view(this.current).key?.(event))
      return;
    event.preventDefault();
  }

  /** Updates the address so that the view can be bookmarked: #view=lines&operations=3,4 */
  note() {
    const parts = new URLSearchParams({view: this.current ?? "overview"});
    const lines = this.built.get("lines");
    if (this.current === "lines" && lines?.chosen.size && lines.chosen.size <= 200)
      parts.set("operations", [...lines.chosen].join(","));
    const address = `#${parts}`;
    if (location.hash !== address) history.replaceState(null, "", address);
  }

  fromAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const name = views.some((view) => view.name === parts.get("view")) ? parts.get("view") : "overview";
    const operations = (parts.get("operations") ?? "")
                           .split(",")
                           .filter(Boolean)
                           .map(Number)
                           .filter((number) => number in this.compile.record.origins);
    const view = this.open(name);
    if (name === "lines" && operations.length) view.choose(operations);
  }
}

new Shell(JSON.parse(document.getElementById("data").textContent));
