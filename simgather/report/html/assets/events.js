// What wheel, pointer, keys and buttons do to the timeline.

// Keyboard: the next item of the same lane, or the nearest of another.
function listOf(band, lane) {
  return [band.lanes.host, band.lanes.compute, band.lanes.nccl][lane];
}

function moveSelection(step) {
  const middle = (view.from + view.to) / 2;
  if (!selected) {
    const list = view.bands[0].lanes.compute;
    select(list.length ? { band: view.bands[0], item: list[Math.min(firstVisible(list, view.from), list.length - 1)] } : null);
  } else {
    const list = listOf(selected.band, selected.item.lane), index = list.indexOf(selected.item);
    const next = list[index < 0 ? firstVisible(list, middle) : index + step];
    if (next) select({ band: selected.band, item: next });
  }
  keepInView();
}

function moveLane(step) {
  if (!selected) return moveSelection(0);
  const rows = view.bands.length * 3, row = view.bands.indexOf(selected.band) * 3 + selected.item.lane;
  for (let next = row + step; next >= 0 && next < rows; next += step) {
    const band = view.bands[Math.floor(next / 3)], list = listOf(band, next % 3);
    if (list.length) {
      select({ band, item: list[Math.min(firstVisible(list, selected.item.start), list.length - 1)] });
      return keepInView();
    }
  }
  return undefined;
}

function keepInView() {
  if (!selected) return;
  const { item } = selected, span = view.to - view.from;
  if (item.start < view.from || item.start > view.to) view.set(item.start - span / 3, item.start + (span * 2) / 3);
  measure();
  showSelection();
  selection.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "+": () => view.zoom(0.6), "=": () => view.zoom(0.6), "-": () => view.zoom(1 / 0.6),
  ArrowLeft: () => view.pan(-0.15), ArrowRight: () => view.pan(0.15),
  ArrowUp: () => moveLane(-1), ArrowDown: () => moveLane(1),
  n: () => moveSelection(1), p: () => moveSelection(-1),
  Enter: () => selected && view.showItem(selected.item),
  Escape: () => select(null), 0: () => view.reset(), Home: () => view.reset(),
};

function listenToKeys() {
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
}

// A wheel that began to scroll the page goes on scrolling it, even when the timeline comes under the pointer.
function listenToWheel() {
  let scrolledAt = -Infinity;
  window.addEventListener("scroll", () => {
    scrolledAt = performance.now();
    if (selected) showSelection();
    else tooltip.hidden = true;
  }, { passive: true });
  canvas.addEventListener("wheel", (event) => {
    const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const outOfWhole = view.isWhole && event.deltaY > 0 && !event.ctrlKey;
    if (!isPan && (outOfWhole || (performance.now() - scrolledAt < 350 && !event.ctrlKey))) {
      scrolledAt = performance.now();
      return;
    }
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (isPan) {
      view.pan(((event.deltaX || event.deltaY) * pixels) / (geometry.right - geometry.left));
    } else {
      const rate = event.ctrlKey ? 0.01 : 0.002, delta = Math.max(-200, Math.min(200, event.deltaY * pixels));
      view.zoom(Math.exp(delta * rate), geometry.at(event.clientX - canvas.getBoundingClientRect().left));
    }
    if (!selected) tooltip.hidden = true;
  }, { passive: false });
}

function listenToPointer() {
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    pointers.set(event.pointerId, event);
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") hover(event);
      return;
    }
    const others = [...pointers.values()].filter((other) => other.pointerId !== event.pointerId);
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    if (others.length) {
      const [other] = others, left = canvas.getBoundingClientRect().left;
      const apart = Math.max(20, Math.abs(event.clientX - other.clientX)), was = Math.max(20, Math.abs(before.clientX - other.clientX));
      view.zoom(was / apart, geometry.at((event.clientX + other.clientX) / 2 - left));
    } else if (moved > 4) {
      tooltip.hidden = true;
      canvas.style.cursor = "grabbing";
      view.pan((before.clientX - event.clientX) / (geometry.right - geometry.left));
    }
    pointers.set(event.pointerId, event);
  });
  canvas.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    if (moved > 4) return;
    const bounds = canvas.getBoundingClientRect();
    select(itemAt(event.clientX - bounds.left, event.clientY - bounds.top));
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", letGoOfHover);
  canvas.addEventListener("dblclick", () => selected && view.showItem(selected.item));
}

function listenToOverview() {
  let held = false;
  const center = (event) => {
    const share = (event.clientX - overview.getBoundingClientRect().left - geometry.left) / (geometry.right - geometry.left);
    const at = WHOLE.from + share * (WHOLE.to - WHOLE.from), half = (view.to - view.from) / 2;
    view.stop();
    view.set(at - half, at + half);
  };
  overview.addEventListener("pointerdown", (event) => {
    held = true;
    overview.setPointerCapture(event.pointerId);
    center(event);
  });
  overview.addEventListener("pointermove", (event) => held && center(event));
  overview.addEventListener("pointerup", () => (held = false));
  overview.addEventListener("pointercancel", () => (held = false));
}

function listenToControls() {
  byId("timeline-zoom-in").addEventListener("click", () => view.zoom(0.5));
  byId("timeline-zoom-out").addEventListener("click", () => view.zoom(2));
  byId("timeline-pan-left").addEventListener("click", () => view.pan(-0.3));
  byId("timeline-pan-right").addEventListener("click", () => view.pan(0.3));
  byId("timeline-reset").addEventListener("click", () => view.reset());
  rankChoice.addEventListener("change", () => {
    select(null);
    chooseRank(rankChoice.value);
  });
  iterationChoice.addEventListener("change", () => {
    if (iterationChoice.value === "all") view.reset();
    else view.showIteration(Number(iterationChoice.value));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-operation]");
    if (button) jumpTo(Number(button.dataset.band), Number(button.dataset.operation));
    else if (!event.target.closest("#timeline")) select(null);
  });
}
