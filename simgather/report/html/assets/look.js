// How things look: colours from the style sheet, hatches, the shapes of marks. Legend and timeline share this hand.

const FONT = '"Inter", system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const look = {};

function refreshLook() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink", "quiet", "paper", "line", "shade", "alarm", "exposed", "exposed-line", "host-bound", "host-line",
    "neutral", "scatter", "dispatch", "launch", "wait", "accent",
  ];
  for (const name of names) look[name] = style.getPropertyValue(`--${name}`).trim();
  look.patterns = {};
  look.pale = data.words.colours.map(([colour]) => mixed(colour, look.paper, 0.58));
  look.scale = window.devicePixelRatio || 1;
}

// The first of two colours, written #rrggbb, with a share of the second.
function mixed(one, other, share) {
  const channels = [1, 3, 5].map((place) => {
    const [first, second] = [one, other].map((colour) => parseInt(colour.slice(place, place + 2), 16));
    return Math.round(first + (second - first) * share);
  });
  return `rgb(${channels.join(" ")})`;
}

function bucketLook(bucket) {
  return data.words.colours[bucket % data.words.colours.length];
}

const PLAIN = { exposed: "exposed-line", "host-bound": "host-line", rendezvous: "quiet" };

function hatch(name, back, line, strokes) {
  if (!look.patterns[name]) {
    const tile = document.createElement("canvas"), size = 6;
    tile.width = tile.height = Math.round(size * look.scale);
    const pen = tile.getContext("2d");
    pen.scale(tile.width / size, tile.height / size);
    if (back) {
      pen.fillStyle = back;
      pen.fillRect(0, 0, size, size);
    }
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const [x1, y1, x2, y2] of strokes) {
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
    }
    pen.stroke();
    const pattern = pen.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(size / tile.width, size / tile.height));
    look.patterns[name] = pattern;
  }
  return look.patterns[name];
}

// Hatches need room to be seen, and time to be drawn: what is narrow gets a plain colour.
function fillOf(what, width = Infinity) {
  if (width < 3 && what in PLAIN) return look[PLAIN[what]];
  if (what === "exposed") {
    return hatch("exposed", look.exposed, look["exposed-line"], [[-1, 7, 7, -1], [-1, 1, 1, -1], [5, 7, 7, 5]]);
  }
  if (what === "host-bound") return hatch("host-bound", look["host-bound"], look["host-line"], [[0, 1.5, 6, 1.5], [0, 4.5, 6, 4.5]]);
  if (what === "rendezvous") return hatch("rendezvous", look.paper, look.quiet, [[1.5, 0, 1.5, 6], [4.5, 0, 4.5, 6]]);
  if (what === "optimizer") return look.neutral;
  if (what === "sync") return look.shade;
  return look[what] || look.neutral;
}

function box(pen, x, y, width, height, fill, stroke) {
  pen.fillStyle = fill;
  pen.fillRect(x, y, width, height);
  if (stroke && width > 2) {
    pen.strokeStyle = stroke;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
}

// A kernel has the colours of all its buckets, one below the other; a backward kernel is paler.
function drawKernel(pen, x, y, width, height, buckets, isBackward) {
  if (!buckets.length) {
    box(pen, x, y, width, height, look.shade, look.line);
    return;
  }
  const stripe = height / buckets.length;
  buckets.forEach((bucket, number) => {
    pen.fillStyle = isBackward ? look.pale[bucket % look.pale.length] : bucketLook(bucket)[0];
    pen.fillRect(x, y + number * stripe, width, stripe);
  });
}

// A reduce-scatter shares the NCCL stream but delivers no weights: only an edge has its bucket's colour.
function drawTransfer(pen, x, y, width, height, bucket, isGather) {
  if (isGather) {
    pen.fillStyle = bucketLook(bucket)[0];
    pen.fillRect(x, y, width, height);
    return;
  }
  box(pen, x, y, width, height, look.scatter, null);
  pen.fillStyle = bucketLook(bucket)[0];
  pen.fillRect(x, y + height - 3, width, 3);
}

const SIDES = { s: [4, Math.PI / 4], D: [4, 0], p: [5, -Math.PI / 2], h: [6, Math.PI / 6], H: [6, 0], 8: [8, Math.PI / 8] };
const MARK_COLOURS = {
  error: ["ink", "paper"], hang: ["alarm", "paper"], swap: ["alarm", "paper"], stale: ["ink", "paper"],
  torn: ["#F4A582", "#1A1A1A"], unordered: ["paper", "ink"],
  "version-mismatch": ["#FDDBC7", "#1A1A1A"], "optimizer-race": ["paper", "ink"],
};

function drawMark(pen, x, y, kind, radius = 8) {
  const [letter, shape] = data.words.marks[kind];
  const [face, ink] = (MARK_COLOURS[kind] || ["paper", "ink"]).map((name) => look[name] || name);
  pen.beginPath();
  if (SIDES[shape]) {
    const [sides, turn] = SIDES[shape], reach = sides === 4 && turn ? radius * 1.25 : radius * 1.1;
    for (let side = 0; side < sides; side++) {
      const angle = turn + (2 * Math.PI * side) / sides;
      pen.lineTo(x + reach * Math.cos(angle), y + reach * Math.sin(angle));
    }
    pen.closePath();
  } else {
    pen.arc(x, y, radius, 0, 2 * Math.PI);
  }
  pen.fillStyle = face;
  pen.fill();
  pen.strokeStyle = look.ink;
  pen.lineWidth = 1.25;
  pen.stroke();
  pen.fillStyle = ink;
  pen.font = `700 ${Math.round(radius * 1.3)}px ${FONT}`;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(letter, x, y + 0.5);
}

const SWATCHES = {
  forward: (pen) => drawKernel(pen, 0, 2, 28, 12, [0], false),
  backward: (pen) => drawKernel(pen, 0, 2, 28, 12, [0], true),
  optimizer: (pen) => box(pen, 0, 2, 28, 12, fillOf("optimizer")),
  gather: (pen) => drawTransfer(pen, 0, 2, 28, 12, 1, true),
  scatter: (pen) => drawTransfer(pen, 0, 2, 28, 12, 1, false),
  rendezvous: (pen) => box(pen, 0, 2, 28, 12, fillOf("rendezvous"), look.quiet),
  exposed: (pen) => box(pen, 0, 2, 28, 12, fillOf("exposed"), look["exposed-line"]),
  "host-bound": (pen) => box(pen, 0, 2, 28, 12, fillOf("host-bound"), look["host-line"]),
  dispatch: (pen) => box(pen, 0, 2, 28, 12, fillOf("dispatch")),
  launch: (pen) => box(pen, 0, 2, 28, 12, fillOf("launch")),
  wait: (pen) => box(pen, 0, 2, 28, 12, fillOf("wait")),
  sync: (pen) => box(pen, 0, 2, 28, 12, fillOf("sync"), look.line),
};

function sizeCanvas(canvas, width, height) {
  canvas.width = Math.max(1, Math.round(width * look.scale));
  canvas.height = Math.max(1, Math.round(height * look.scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(look.scale, 0, 0, look.scale, 0, 0);
  return pen;
}

// The marks that occur are added to the legend once.
function addMarksToLegend() {
  const legend = document.getElementById("timeline-legend");
  const kinds = new Set(bands.flatMap((band) => [...band.marks.values()]));
  for (const kind of MARK_KINDS.filter((one) => kinds.has(one))) {
    const entry = document.createElement("li"), swatch = document.createElement("canvas"), text = document.createElement("span");
    swatch.dataset.mark = kind;
    swatch.setAttribute("aria-hidden", "true");
    text.textContent = data.words.marks[kind][2];
    entry.append(swatch, text);
    legend.prepend(entry);
  }
}

function drawLegend() {
  for (const canvas of document.querySelectorAll("#timeline-legend canvas")) {
    const isMark = canvas.dataset.mark !== undefined, pen = sizeCanvas(canvas, 28, isMark ? 20 : 16);
    pen.clearRect(0, 0, 28, 20);
    if (isMark) drawMark(pen, 14, 10, canvas.dataset.mark);
    else SWATCHES[canvas.dataset.swatch](pen);
  }
}
