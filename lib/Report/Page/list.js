// list.js - long lists of rows of equal height, and tables of such rows. The document contains only the visible rows,
// and a few rows before and after them.

class VirtualList {
  /**
   * `render(i)` creates the element of row i. `open(i)` is called if row i is clicked, or if it is the current row and
   * Enter is pressed.
   */
  constructor(label, rowHeight, render, open, className = "") {
    this.rowHeight = rowHeight;
    this.render = render;
    this.open = open;
    this.count = 0;
    this.at = -1;  // index of the current row, which keys and clicks change; -1: none
    this.shown = new Map();
    this.content = make("div", {class: "content", role: "presentation"});
    this.box = make(
        "div", {
          class: `list ${className}`,
          tabindex: 0,
          role: "listbox",
          "aria-label": label,
          scroll: () => this.schedule(),
          keydown: (event) => this.key(event),
          click: (event) => this.click(event),
        },
        this.content);
    this.id = `list${VirtualList.made++}`;
    new ResizeObserver(() => this.refresh()).observe(this.box);
  }

  setCount(count) {
    this.count = count;
    this.content.style.height = `${count * this.rowHeight}px`;
    if (this.at >= count) this.at = -1;
    this.redraw();
  }

  schedule() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      this.refresh();
    });
  }

  redraw() {
    this.shown.forEach((row) => row.remove());
    this.shown.clear();
    this.refresh();
  }

  refresh() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.rowHeight) - 4);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.rowHeight) + 4);
    for (const [i, row] of this.shown)
      if (i < first || i >= last) {
        row.remove();
        this.shown.delete(i);
      }
    for (let i = first; i < last; i++) {
      if (this.shown.has(i)) continue;
      const row = this.render(i);
      row.classList.add("row");
      if (i === this.at) row.classList.add("at");
      row.id = `${this.id}-${i}`;
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", i === this.at);
      row.dataset.row = i;
      row.style.top = `${i * this.rowHeight}px`;
      this.content.append(row);
      this.shown.set(i, row);
    }
  }

  /** Makes row i the current row, and scrolls it into view. */
  moveTo(i, center = false) {
    if (i < 0 || i >= this.count) return;
    this.at = i;
    this.scrollTo(i, center);
    this.redraw();
    this.box.setAttribute("aria-activedescendant", `${this.id}-${i}`);
  }

  scrollTo(i, center = false) {
    const top = i * this.rowHeight;
    const height = this.box.clientHeight;
    if (center)
      this.box.scrollTop = top - height / 3;
    else if (top < this.box.scrollTop)
      this.box.scrollTop = top;
    else if (top + this.rowHeight > this.box.scrollTop + height)
      this.box.scrollTop = top + this.rowHeight - height;
  }

  click(event) {
    const row = event.target.closest(".row");
    if (!row || String(window.getSelection())) return;  // ignore a click that ends a selection of text
    const i = Number(row.dataset.row);
    this.moveTo(i);
    this.open(i);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1);
    const moves = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count};
    if (event.key in moves) {
      this.moveTo(Math.min(this.count - 1, Math.max(0, this.at + moves[event.key])));
      event.preventDefault();
    } else if (event.key === "Enter" && this.at >= 0) {
      this.open(this.at);
    }
  }
}
VirtualList.made = 0;

/**
 * Columns are {title, width, value(row), show(row), hint, number}. Rows are sorted by `value`. `show` returns the text
 * or the element of a cell; without it, the cell contains `value`.
 */
class Table {
  constructor(label, columns, rows, open) {
    this.columns = columns;
    this.rows = rows;
    this.words = "";
    this.keep = () => true;
    this.visible = rows;
    const widths = columns.map((column) => column.width).join(" ");
    this.head = make("div", {class: "head"});
    this.head.style.gridTemplateColumns = widths;
    columns.forEach(
        (column, i) => this.head.append(make(
            "button", {
              type: "button",
              class: column.number ? "number" : "",
              title: column.hint,
              click: () => this.sort(i),
            },
            column.title)));
    this.list = new VirtualList(label, 27, (i) => this.row(this.visible[i], widths), (i) => open(this.visible[i]));
    this.element = make("div", {class: "table"}, this.head, this.list.box);
    // Align the titles with their columns, independent of the width of the scroll bar.
    new ResizeObserver(() => {
      this.head.style.paddingRight = `${12 + this.list.box.offsetWidth - this.list.box.clientWidth}px`;
    }).observe(this.list.box);
  }

  row(row, widths) {
    const element = make("div");
    element.style.gridTemplateColumns = widths;
    for (const column of this.columns) {
      const shown = (column.show ?? column.value)(row);
      const cell = make("span", {class: column.number ? "number" : ""}, shown ?? "");
      cell.title = cell.textContent;
      element.append(cell);
    }
    return element;
  }

  /**
   * Sorts by column i, or reverses the order if the rows are already sorted by this column. Rows without a value come
   * last.
   */
  sort(i, falling = this.columns[i].number) {
    falling = this.sorted === i ? !this.falling : falling;
    this.sorted = i;
    this.falling = falling;
    const value = this.columns[i].value;
    const missing = (one) => one === undefined || one === null || one === "";
    this.rows = [...this.rows].sort((a, b) => {
      const left = value(a), right = value(b);
      if (missing(left) || missing(right)) return missing(left) - missing(right);
      const order = typeof left === "number" ? left - right : String(left).localeCompare(String(right));
      return falling ? -order : order;
    });
    [...this.head.children].forEach((button, each) => {
      button.textContent = this.columns[each].title + (each === i ? (falling ? " ▾" : " ▴") : "");
      each === i ? button.setAttribute("aria-sort", falling ? "descending" : "ascending") :
                   button.removeAttribute("aria-sort");
    });
    this.filter(this.words);
  }

  /** Shows the rows for which `keep` is true and the value of any column contains the text `words`, in any case. */
  filter(words, keep = this.keep) {
    this.words = words.toLowerCase();
    this.keep = keep;
    this.visible = this.rows.filter(
        (row) => keep(row) &&
            (!this.words ||
             this.columns.some((column) => String(column.value(row) ?? "").toLowerCase().includes(this.words))));
    this.list.box.scrollTop = 0;
    this.list.setCount(this.visible.length);
    return this.visible.length;
  }
}
