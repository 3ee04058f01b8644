// The timeline on the page: its canvases, what is selected, and the tooltip.

const byId = (id) => document.getElementById(id);
const frame = byId("timeline-frame"), canvas = byId("timeline-canvas"), axis = byId("timeline-axis");
const overview = byId("timeline-overview"), tooltip = byId("timeline-tooltip"), selection = byId("timeline-selection");
const said = byId("timeline-said"), iterationChoice = byId("timeline-iteration"), rankChoice = byId("timeline-rank");
const PRINT_WIDTH = 1000;

const view = new View(() => scheduleDraw());
let geometry = null, drawing = null, selected = null, printing = false, size = "";

function measure() {
  const width = printing ? PRINT_WIDTH : frame.clientWidth, isNarrow = width < 600, left = isNarrow ? 58 : 104, right = width;
  const scale = (right - left) / (view.to - view.from), { from, to } = view;
  geometry = { left, right, isNarrow, from, to, x: (ns) => left + (ns - from) * scale, at: (x) => from + (x - left) / scale };
}

function draw() {
  drawing = null;
  measure();
  const height = view.bands.length * BAND_HEIGHT, wanted = `${geometry.right}/${height}/${look.scale}/${printing}`;
  if (wanted !== size) {
    sizeCanvas(canvas, geometry.right, height);
    sizeCanvas(axis, geometry.right, AXIS_HEIGHT);
    sizeCanvas(overview, geometry.right, OVERVIEW_HEIGHT);
    size = wanted;
  }
  const pen = canvas.getContext("2d"), artist = new BandArtist(pen, geometry);
  pen.clearRect(0, 0, geometry.right, height);
  view.bands.forEach((band, number) => artist.draw(band, number * BAND_HEIGHT));
  drawAxis(axis.getContext("2d"), geometry);
  drawOverview(overview.getContext("2d"), geometry, WHOLE);
  frame.dataset.from = Math.round(view.from);
  frame.dataset.to = Math.round(view.to);
  const only = iterations.filter((one) => one.start <= (view.from + view.to) / 2 && (view.from + view.to) / 2 < one.end);
  iterationChoice.value = view.isWhole || !only.length ? "all" : String(only[0].number);
  showSelection();
}

function scheduleDraw() {
  if (drawing === null) drawing = requestAnimationFrame(draw);
}

function redrawAll() {
  refreshLook();
  size = "";
  drawLegend();
  draw();
}

// What lies under a place on the canvas; near misses count, for things are small.
function itemAt(x, y) {
  const band = view.bands[Math.floor(y / BAND_HEIGHT)];
  if (!band || x < geometry.left) return null;
  const inside = y % BAND_HEIGHT;
  if (inside > MARK_Y - 9 && inside < MARK_Y + 9) {
    const marked = [...band.marks.keys()].filter((item) => {
      const inView = endOf(item) >= geometry.from && item.start <= geometry.to;
      return inView && Math.abs(markX(geometry, item) - x) < 10;
    });
    if (marked.length) return { band, item: marked[0] };
  }
  const lane = LANE_TOPS.findIndex((top, number) => inside >= top - 3 && inside <= top + LANE_HEIGHTS[number] + 3);
  if (lane < 0) return null;
  const lists = [[band.lanes.host], [band.lanes.compute, band.lanes.idle], [band.lanes.nccl]][lane];
  let best = null, nearest = 4;
  for (const items of lists) {
    for (let index = firstVisible(items, geometry.at(x - 4)); index < items.length; index++) {
      const item = items[index], from = geometry.x(item.start), to = geometry.x(endOf(item));
      if (from > x + 4) break;
      const distance = x < from ? from - x : x > to ? x - to : -1;
      if (distance < nearest) [best, nearest] = [item, distance];
      if (distance < 0) break;
    }
  }
  return best && { band, item: best };
}

function select(found) {
  selected = found;
  tooltip.hidden = true;
  if (found) {
    const text = describeItem(found.band, found.item);
    said.textContent = [text.title, text.subtitle, ...text.rows.map(([name, value]) => `${name}: ${value}`)].join(". ");
  }
  scheduleDraw();
}

// The selected item's outline is an element of its own: it can be scrolled to and seen on any colour.
function showSelection() {
  const row = selected ? view.bands.indexOf(selected.band) : -1;
  const from = selected ? Math.max(geometry.x(selected.item.start), geometry.left) : 0;
  const to = selected ? Math.min(geometry.x(endOf(selected.item)), geometry.right) : 0;
  selection.hidden = row < 0 || to < geometry.left || from > geometry.right;
  if (selection.hidden) {
    if (selected) tooltip.hidden = true;
    return;
  }
  const lane = selected.item.lane;
  selection.style.left = `${from - 3}px`;
  selection.style.width = `${Math.max(to - from, 2) + 6}px`;
  selection.style.top = `${row * BAND_HEIGHT + LANE_TOPS[lane] - 3}px`;
  selection.style.height = `${LANE_HEIGHTS[lane] + 6}px`;
  const box = selection.getBoundingClientRect();
  if (box.bottom < 0 || box.top > window.innerHeight) {
    tooltip.hidden = true;
    return;
  }
  // Below the rank's own lanes: what delivered its weights stays in sight.
  const bottom = canvas.getBoundingClientRect().top + (row + 1) * BAND_HEIGHT;
  fillTooltip(tooltip, describeItem(selected.band, selected.item));
  placeTooltip(tooltip, Math.min(box.left + box.width / 2, box.left + 120), bottom - 22);
}

function hover(event) {
  const bounds = canvas.getBoundingClientRect(), found = itemAt(event.clientX - bounds.left, event.clientY - bounds.top);
  canvas.style.cursor = found ? "pointer" : "grab";
  if (!found) {
    letGoOfHover();
    return;
  }
  fillTooltip(tooltip, describeItem(found.band, found.item));
  placeTooltip(tooltip, event.clientX, event.clientY);
}

// Without anything under the pointer the tooltip goes back to what is selected.
function letGoOfHover() {
  tooltip.hidden = true;
  if (selected) showSelection();
}

// A place that a finding or a table names.
function jumpTo(number, operation) {
  const band = bands[number], item = band.lanes.byOperation.get(operation);
  if (!item) return;
  if (!view.bands.includes(band)) chooseRank("all");
  select({ band, item });
  view.showItem(item);
  measure();
  showSelection();
  const top = canvas.getBoundingClientRect().top + view.bands.indexOf(band) * BAND_HEIGHT;
  window.scrollBy({ top: top - Math.max(90, window.innerHeight * 0.3), behavior: "instant" });
  selection.classList.remove("pulse");
  void selection.offsetWidth;
  selection.classList.add("pulse");
  canvas.focus({ preventScroll: true });
}

function chooseRank(value) {
  rankChoice.value = value;
  view.bands = value === "all" ? bands : [bands[Number(value)]];
  scheduleDraw();
}
