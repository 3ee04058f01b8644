// Drawing the visible part of the bands. Times become pixels only here.

const LANE_TOPS = [8, 40, 76], LANE_HEIGHTS = [11, 28, 20], MARK_Y = 29, BAND_HEIGHT = 108;
const AXIS_HEIGHT = 40, OVERVIEW_HEIGHT = 26;
const textWidths = new Map();

// The first item that ends after the moment; a stream is first in, first out, so ends are in order too.
function firstVisible(items, moment) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(items[middle]) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

function widthOf(pen, text) {
  const key = pen.font + text;
  if (!textWidths.has(key)) textWidths.set(key, pen.measureText(text).width);
  return textWidths.get(key);
}

// Writes the first of the texts that fits, else nothing.
function label(pen, texts, left, right, y, ink) {
  const room = right - left - 8;
  if (room < 6) return;
  pen.font = `11px ${FONT}`;
  const text = texts.find((one) => widthOf(pen, one) <= room);
  if (text === undefined) return;
  pen.fillStyle = ink;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, (left + right) / 2, y + 0.5);
}

// A mark is over the middle of what is in view of its item; of what never ends, over the beginning.
function markX(geometry, item) {
  const from = Math.max(geometry.x(item.start), geometry.left), to = Math.min(geometry.x(endOf(item)), geometry.right);
  const middle = item.end === null ? from + 16 : (from + to) / 2;
  return Math.min(Math.max(Math.round(middle), geometry.left + 9), geometry.right - 9);
}

class BandArtist {
  constructor(pen, geometry) {
    this.pen = pen;
    this.geometry = geometry;
  }

  draw(band, top) {
    const { pen, geometry } = this;
    pen.save();
    pen.beginPath();
    pen.rect(geometry.left, top, geometry.right - geometry.left, BAND_HEIGHT);
    pen.clip();
    this.borders(band, top);
    this.idle(band, top);
    this.compute(band, top);
    this.nccl(band, top);
    this.host(band, top);
    this.marks(band, top);
    pen.restore();
    this.gutter(band, top);
  }

  // Calls `paint(item, x, width)` for what is in view; of items that share `least` pixels, only the first.
  each(items, paint, least = 1) {
    const { geometry } = this;
    let painted = -Infinity;
    for (let index = firstVisible(items, geometry.from); index < items.length; index++) {
      const item = items[index];
      if (item.start > geometry.to) break;
      const x = Math.max(geometry.x(item.start), geometry.left - 4), end = Math.min(geometry.x(endOf(item)), geometry.right + 4);
      if (end < painted + 0.5) continue;
      const left = Math.max(x, painted), width = Math.max(least, end - left);
      paint(item, left, width, x);
      painted = left + width;
    }
  }

  borders(band, top) {
    const { pen, geometry } = this;
    pen.strokeStyle = look.line;
    pen.lineWidth = 1;
    for (const { at } of band.lanes.borders) {
      const x = Math.round(geometry.x(at)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, top);
      pen.lineTo(x, top + BAND_HEIGHT);
      pen.stroke();
    }
    pen.fillStyle = look.shade;
    LANE_TOPS.forEach((lane, number) => {
      pen.fillRect(geometry.left, top + lane + LANE_HEIGHTS[number], geometry.right - geometry.left, 1);
    });
  }

  idle(band, top) {
    const { pen } = this, y = top + LANE_TOPS[COMPUTE], height = LANE_HEIGHTS[COMPUTE];
    this.each(band.lanes.idle, (item, x, width) => {
      box(pen, x, y, width, height, fillOf(item.what, width), item.what === "exposed" ? look["exposed-line"] : look["host-line"]);
      const text = item.end === null ? "never goes on" : item.what;
      if (width > 70) {
        pen.fillStyle = look.paper;
        pen.font = `11px ${FONT}`;
        const room = widthOf(pen, text) + 8;
        if (room < width - 8) {
          pen.fillRect(x + (width - room) / 2, y + 7, room, 14);
          label(pen, [text], x, x + width, y + height / 2, look.ink);
        }
      }
    });
  }

  compute(band, top) {
    const { pen } = this, y = top + LANE_TOPS[COMPUTE], height = LANE_HEIGHTS[COMPUTE];
    this.each(band.lanes.compute, (item, x, width) => {
      const shown = width > 4 ? width - 1 : width;
      if (item.what === "optimizer") {
        box(pen, x, y, shown, height, fillOf("optimizer"));
        label(pen, ["optimizer", "opt"], x, x + shown, y + height / 2, look.ink);
        return;
      }
      const buckets = bucketsOf(item), isBackward = item.kind === "b" || item.kind === "v";
      drawKernel(pen, x, y, shown, height, buckets, isBackward);
      if (width > 24) {
        const names = data.uses[item.argument], place = buckets.length === 1 ? ` (bucket ${buckets[0]})` : "";
        const ink = isBackward || !buckets.length ? look.ink : bucketLook(buckets[0])[1];
        label(pen, [...names.map((name) => name + place), ...names.slice(1), shortened(names[names.length - 1], 6)], x, x + shown, y + height / 2, ink);
      }
    });
  }

  nccl(band, top) {
    const { pen, geometry } = this, y = top + LANE_TOPS[NCCL], height = LANE_HEIGHTS[NCCL];
    this.each(band.lanes.nccl, (item, x, width) => {
      const isGather = item.kind === "g", name = isGather ? "all-gather" : "reduce-scatter";
      const from = item.transfer === null ? geometry.right + 4 : Math.min(geometry.x(item.transfer), x + width);
      if (from > x) {
        const shown = Math.max(1, Math.min(from, x + width) - x);
        box(pen, x, y, shown, height, fillOf("rendezvous", shown), look.quiet);
      }
      const left = Math.max(from, x), right = x + width;
      if (item.transfer === null || right <= left) return;
      const shown = right - left > 4 ? right - left - 1 : Math.max(1, right - left);
      drawTransfer(pen, left, y, shown, height, item.bucket, isGather);
      const ink = isGather ? bucketLook(item.bucket)[1] : look.ink;
      const texts = [`${name} of bucket ${item.bucket}`, `bucket ${item.bucket}`, `${item.bucket}`];
      if (!isGather) texts.splice(1, 1, `reduce-scatter ${item.bucket}`);
      label(pen, texts, left, left + shown, y + height / 2 - (isGather ? 0 : 1), ink);
    });
  }

  host(band, top) {
    const { pen } = this, y = top + LANE_TOPS[HOST], height = LANE_HEIGHTS[HOST];
    this.each(band.lanes.host, (item, x, width) => {
      if (item.what === "moment") {
        pen.fillStyle = look.alarm;
        pen.beginPath();
        pen.moveTo(x - 5, y - 6);
        pen.lineTo(x + 5, y - 6);
        pen.lineTo(x, y + 3);
        pen.fill();
        pen.fillRect(x - 0.5, y, 1, height);
        return;
      }
      box(pen, x, y, width > 4 ? width - 0.5 : width, height, fillOf(item.what), item.what === "sync" ? look.line : null);
    }, 2);
  }

  // Marks that would cover each other become one, the worst, with their number.
  marks(band, top) {
    const { pen, geometry } = this;
    let group = null;
    const flush = () => {
      if (!group) return;
      pen.strokeStyle = look.ink;
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(group.x + 0.5, group.y);
      pen.lineTo(group.x + 0.5, group.stem);
      pen.stroke();
      drawMark(pen, group.x, group.y, group.kind);
      if (group.count > 1) {
        pen.font = `10px ${FONT}`;
        pen.textAlign = "left";
        pen.fillStyle = look.ink;
        pen.fillText(`×${group.count}`, group.x + 11, group.y + 1);
      }
    };
    const marks = [...band.marks].filter(([item]) => endOf(item) >= geometry.from && item.start <= geometry.to);
    marks.sort(([one], [other]) => one.start - other.start);
    for (const [item, kind] of marks) {
      const x = markX(geometry, item);
      if (group && x - group.x < (group.count > 1 ? 42 : 22)) {
        group.count++;
        if (MARK_KINDS.indexOf(kind) < MARK_KINDS.indexOf(group.kind)) group.kind = kind;
      } else {
        flush();
        group = { x, y: top + MARK_Y, kind, count: 1, stem: top + LANE_TOPS[item.lane] };
      }
    }
    flush();
  }

  gutter(band, top) {
    const { pen, geometry } = this;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = look.ink;
    pen.font = `600 12px ${FONT}`;
    pen.fillText(`rank ${band.rank}`, 2, top + (geometry.isNarrow ? MARK_Y : LANE_TOPS[HOST] + 6));
    pen.fillStyle = look.quiet;
    pen.font = `11px ${FONT}`;
    if (band.alike.length && !geometry.isNarrow) pen.fillText(`and ${band.alike.length} alike`, 2, top + MARK_Y);
    if (!geometry.isNarrow) pen.textAlign = "right";
    LANE_NAMES.forEach((name, lane) => {
      pen.fillText(name, geometry.isNarrow ? 2 : geometry.left - 8, top + LANE_TOPS[lane] + LANE_HEIGHTS[lane] / 2);
    });
    pen.fillStyle = look.line;
    pen.fillRect(0, top + BAND_HEIGHT - 1, geometry.right, 1);
  }
}

function shortened(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

// A round step such that labels keep their distance, in nanoseconds.
function tickStep(span, width) {
  const least = (span * 90) / Math.max(width, 90);
  let step = 1;
  while (step < least) step *= String(step)[0] === "2" ? 2.5 : 2;
  return step;
}

function drawAxis(pen, geometry) {
  const width = geometry.right - geometry.left;
  pen.clearRect(0, 0, geometry.right, AXIS_HEIGHT);
  pen.fillStyle = look.paper;
  pen.fillRect(0, 0, geometry.right, AXIS_HEIGHT);
  pen.save();
  pen.beginPath();
  pen.rect(geometry.left, 0, width, AXIS_HEIGHT);
  pen.clip();
  pen.textBaseline = "middle";
  for (const { number, start, end } of iterations) {
    const x = geometry.x(start), right = Math.min(geometry.x(end), geometry.right);
    if (right < geometry.left || x > geometry.right) continue;
    const left = Math.max(x, geometry.left);
    pen.fillStyle = number % 2 ? look.shade : look.paper;
    pen.fillRect(left, 0, right - left, 18);
    pen.fillStyle = look.line;
    pen.fillRect(Math.round(x), 0, 1, AXIS_HEIGHT);
    label(pen, [`iteration ${number}`, `${number}`], left, right, 9, look.ink);
  }
  pen.textAlign = "center";
  pen.font = `11px ${FONT}`;
  const step = tickStep(geometry.to - geometry.from, width);
  for (let tick = Math.ceil(geometry.from / step) * step; tick <= geometry.to; tick += step) {
    const x = Math.round(geometry.x(tick)), text = tickText(tick, step);
    pen.fillStyle = look.line;
    pen.fillRect(x, AXIS_HEIGHT - 5, 1, 5);
    pen.fillStyle = look.quiet;
    const half = widthOf(pen, text) / 2;
    if (x - half >= geometry.left && x + half <= geometry.right) pen.fillText(text, x, 27);
  }
  pen.restore();
  pen.fillStyle = look.line;
  pen.fillRect(0, AXIS_HEIGHT - 1, geometry.right, 1);
}

function tickText(ns, step) {
  const [unit, size] = step >= 1e9 ? ["s", 1e9] : step >= 1e4 ? ["ms", 1e6] : step >= 10 ? ["us", 1e3] : ["ns", 1];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(decimals)} ${unit}`;
}

// The whole time at a glance: iterations, where something was found, and the part in view.
function drawOverview(pen, geometry, whole) {
  const width = geometry.right - geometry.left, x = (ns) => geometry.left + ((ns - whole.from) / (whole.to - whole.from)) * width;
  pen.clearRect(0, 0, geometry.right, OVERVIEW_HEIGHT);
  for (const { number, start, end } of iterations) {
    pen.fillStyle = number % 2 ? look.shade : look.line;
    pen.fillRect(x(start), 4, Math.max(1, x(end) - x(start) - 1), OVERVIEW_HEIGHT - 8);
  }
  pen.fillStyle = look.alarm;
  const places = new Set(bands.flatMap((band) => [...band.marks.keys()].map((item) => Math.round(x(item.start) / 2) * 2)));
  for (const place of places) pen.fillRect(place, OVERVIEW_HEIGHT / 2, 2, OVERVIEW_HEIGHT / 2 - 4);
  const left = x(geometry.from), right = Math.max(x(geometry.to), left + 6);
  pen.fillStyle = look.accent;
  pen.globalAlpha = 0.18;
  pen.fillRect(left, 1, right - left, OVERVIEW_HEIGHT - 2);
  pen.globalAlpha = 1;
  pen.strokeStyle = look.accent;
  pen.lineWidth = 2;
  pen.strokeRect(left + 1, 1, right - left - 2, OVERVIEW_HEIGHT - 2);
}
