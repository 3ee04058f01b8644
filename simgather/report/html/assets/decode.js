// From packed columns to what is drawn: per rank, the items of its three lanes in the order of time.

const data = JSON.parse(document.getElementById("timeline-data").textContent);
const HOST = 0, COMPUTE = 1, NCCL = 2;
const LANE_NAMES = ["host", "compute", "NCCL"];
const PASSES = {
  f: "forward", u: "forward (functional use)", r: "forward (recomputed)",
  b: "backward", v: "backward (functional use)", o: "optimizer",
};
const [LAUNCH_NS, DISPATCH_NS, WAIT_NS] = data.host;
const READ_MARKS = { s: "stale", t: "torn", u: "unordered" };
const MARK_KINDS = Object.keys(data.words.marks);

function unpack(text) {
  let before = 0;
  if (!text) return [];
  return text.split(" ").map((part) => (part === "~" ? null : (before += parseInt(part, 36))));
}

function decodeProgram(packed) {
  return {
    kinds: packed.kinds,
    args: unpack(packed.args),
    sequences: unpack(packed.sequences),
    info: unpack(packed.info),
  };
}

function decodeTimes(packed) {
  return {
    enqueued: unpack(packed.enqueued),
    started: unpack(packed.started),
    ready: unpack(packed.ready),
    ended: unpack(packed.ended),
    lost: new Map(packed.lost.map(([operation, ...rest]) => [operation, rest])),
  };
}

const transfers = {
  started: unpack(data.transfers.started),
  ended: unpack(data.transfers.ended),
};

// The lanes of ranks that do the same at the same times are built once and shared.
function buildLanes(program, times) {
  const lanes = { host: [], compute: [], nccl: [], idle: [], borders: [], stops: [], byOperation: new Map() };
  let iteration = 0, microbatch = 0, waits = [];
  let dispatches = 0, others = 0, sequences = 0, kernels = 0, last = 0;

  for (let operation = 0; operation < program.kinds.length; operation++) {
    const kind = program.kinds[operation], argument = program.args[operation];
    const isDispatch = kind === "g" || kind === "s", isWait = kind === "w" || kind === "x";
    const sequence = isDispatch || isWait ? program.sequences[sequences++] : null;
    const ready = isDispatch ? times.ready[dispatches++] : null;
    const started = isDispatch ? null : times.started[others];
    const ended = isDispatch ? null : times.ended[others++];
    const info = kind in PASSES && kind !== "o" ? program.info[kernels++] : null;
    const enqueued = times.enqueued[operation];
    if (kind === "i") iteration = argument;
    if (kind === "m") microbatch = argument;
    if (enqueued === null) continue;
    last = Math.max(last, enqueued, ended || 0);
    const common = { kind, operation, iteration, microbatch, enqueued };
    const add = (lane, list, item) => {
      Object.assign(item, common, { lane });
      list.push(item);
      if (!lanes.byOperation.has(operation) || lane !== HOST) lanes.byOperation.set(operation, item);
    };

    if (kind === "i") {
      lanes.borders.push({ iteration, at: enqueued });
    } else if (kind === "!" || kind === "e") {
      add(HOST, lanes.host, { start: enqueued, end: enqueued, text: data.texts[argument], what: "moment" });
      if (kind === "e") lanes.stops.push(enqueued);
    } else if (kind === "y") {
      add(HOST, lanes.host, { start: enqueued, end: ended, what: "sync" });
    } else if (isDispatch) {
      add(HOST, lanes.host, { start: enqueued - DISPATCH_NS, end: enqueued, what: "dispatch", bucket: argument });
      if (ready !== null) {
        const from = transfers.started[sequence] ?? null, to = transfers.ended[sequence] ?? null;
        const moves = from !== null && to !== null;
        add(NCCL, lanes.nccl, {
          start: ready, transfer: moves ? from : null, end: moves ? to : null, what: "collective", bucket: argument, sequence,
        });
        if (moves) last = Math.max(last, to);
      }
    } else if (isWait) {
      add(HOST, lanes.host, { start: enqueued - WAIT_NS, end: enqueued, what: "wait", bucket: argument, passed: ended });
      waits.push({ kind, bucket: argument, reached: started, passed: ended });
      if (started !== null && ended === null) {
        const free = lanes.compute.length ? lanes.compute[lanes.compute.length - 1].end : started;
        add(COMPUTE, lanes.idle, { start: Math.max(started, free), end: null, what: "exposed", bucket: argument });
      }
    } else if (kind in PASSES) {
      add(HOST, lanes.host, { start: enqueued - LAUNCH_NS, end: enqueued, what: "launch", argument });
      if (started !== null && ended !== null) {
        const [hostBound, exposed, bucket] = times.lost.get(operation) || [0, 0, null];
        if (hostBound) {
          add(COMPUTE, lanes.idle, {
            start: started - exposed - hostBound, end: started - exposed, what: "host-bound", argument,
          });
        }
        if (exposed) add(COMPUTE, lanes.idle, { start: started - exposed, end: started, what: "exposed", argument, bucket });
        add(COMPUTE, lanes.compute, {
          start: started, end: ended, what: kind === "o" ? "optimizer" : "kernel", argument, info, waits, hostBound, exposed,
        });
      }
      waits = [];
    }
  }
  lanes.last = last;
  return lanes;
}

function readsOf(item) {
  return item.info === null || item.info === undefined ? [] : data.info[item.info];
}

function bucketsOf(item) {
  return readsOf(item).map(([seen]) => data.seen[seen][0]);
}

// Marks of a band: of its reads, and of what else was found there. An item shows one mark, the worst.
function marksOf(band, number) {
  const worst = new Map();
  band.found = new Map();
  const note = (item, kind) => {
    const before = worst.get(item);
    if (before === undefined || MARK_KINDS.indexOf(kind) < MARK_KINDS.indexOf(before)) worst.set(item, kind);
  };
  for (const item of band.lanes.compute) {
    for (const [seen] of readsOf(item)) {
      const kind = READ_MARKS[data.seen[seen][6][number]];
      if (kind) note(item, kind);
    }
  }
  for (const [at, operation, kind] of data.marks) {
    const item = at === number && band.lanes.byOperation.get(operation);
    if (!item) continue;
    note(item, kind);
    band.found.set(item, [...(band.found.get(item) || []), kind]);
  }
  return worst;
}

function buildBands() {
  const programs = data.programs.map(decodeProgram), times = data.times.map(decodeTimes), built = new Map();
  return data.bands.map((packed, number) => {
    const key = `${packed.program}/${packed.times}`;
    if (!built.has(key)) built.set(key, buildLanes(programs[packed.program], times[packed.times]));
    const band = { rank: packed.rank, alike: packed.alike, number, lanes: built.get(key) };
    band.marks = marksOf(band, number);
    return band;
  });
}

const bands = buildBands();
const FIRST_NS = Math.min(...bands.map((band) => (band.lanes.borders.length ? band.lanes.borders[0].at : 0)));
const LAST_NS = Math.max(FIRST_NS + 1, ...bands.map((band) => band.lanes.last));

// What never ends after a hang is drawn a little beyond the last thing that happens.
const NEVER_NS = LAST_NS + Math.max(1, Math.round((LAST_NS - FIRST_NS) * 0.06));
const HANGS = bands.some((band) => [...band.lanes.nccl, ...band.lanes.idle].some((item) => item.end === null));

function endOf(item) {
  return item.end === null ? NEVER_NS : item.end;
}

// Iterations begin with the first rank that begins them.
const iterations = [];
for (const band of bands) {
  for (const { iteration, at } of band.lanes.borders) {
    const known = iterations.find((one) => one.number === iteration);
    if (known) known.start = Math.min(known.start, at);
    else iterations.push({ number: iteration, start: at });
  }
}
iterations.sort((one, other) => one.number - other.number);
iterations.forEach((one, index) => {
  one.end = index + 1 < iterations.length ? iterations[index + 1].start : HANGS ? NEVER_NS : LAST_NS;
});
