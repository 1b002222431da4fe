import type { MediaBytes } from '../media-bytes';

const SEGMENT = 0x18538067;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const CLUSTER = 0x1f43b675;
const CLUSTER_ID = Buffer.from('1f43b675', 'hex');
const TIMESTAMP = 0xe7;

const MOST_ELEMENTS = 10_000;
/** A cluster begins with its timestamp, or with little before it. */
const MOST_BEFORE_TIMESTAMP = 100;
/** Writers begin one every second or few: a file of more says nothing that can be relied on. */
const MOST_CLUSTERS = 50_000;
const DEFAULT_SCALE_NS = 1_000_000;
/** Of one read while the last cluster is looked for. */
const SEARCHED_BYTES = 1024 * 1024;

interface Element {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The length of a WebM file in seconds (RFC 9559): the later of the duration in its header and the start of its last
 * cluster. Recordings of browsers have no duration in the header.
 */
export function webmSeconds(audio: MediaBytes): number | null {
  return secondsWith(audio, (segment, stated) => Math.max(stated, lastCluster(audio, segment) ?? 0));
}

/** The same by the latest of all clusters: players do not rely on their order. */
export function webmLongest(audio: MediaBytes): number | null {
  return secondsWith(audio, (segment, stated) => {
    const latest = latestCluster(audio, segment);
    return latest === null ? 0 : Math.max(stated, latest);
  });
}

/** Returns the ticks of a file whose head states so many. */
type Ticks = (segment: Element, stated: number) => number;

function secondsWith(audio: MediaBytes, ticksOf: Ticks): number | null {
  const segment = find(audio, SEGMENT, 0, audio.length);
  const info = segment && find(audio, INFO, segment.start, segment.end);
  if (!segment || !info) return null;
  const scale = find(audio, TIMESTAMP_SCALE, info.start, info.end);
  const scaleNs = (scale && unsigned(audio, scale)) || DEFAULT_SCALE_NS;
  const duration = find(audio, DURATION, info.start, info.end);
  const stated = (duration && float(audio, duration)) ?? 0;
  const ticks = ticksOf(segment, stated);
  return ticks > 0 ? (ticks * scaleNs) / 1e9 : null;
}

function find(audio: MediaBytes, id: number, start: number, end: number, most: number = MOST_ELEMENTS): Element | null {
  let position = start;
  for (let count = 0; count < most && position < end; count += 1) {
    const element = elementAt(audio, position, end);
    if (element === null || element.id === id) return element;
    if (element.id === CLUSTER) return null;
    position = element.end;
  }
  return null;
}

function elementAt(audio: MediaBytes, position: number, limit: number): Element | null {
  const head = audio.slice(position, position + 12);
  const idBytes = head.length === 0 ? 0 : Math.clz32(head[0]!) - 23;
  if (idBytes < 1 || idBytes > 4 || head.length <= idBytes) return null;
  const sizeBytes = Math.clz32(head[idBytes]!) - 23;
  if (sizeBytes > 8 || head.length < idBytes + sizeBytes) return null;
  let size = head[idBytes]! & (0xff >> sizeBytes);
  let isUnknown = size === 0xff >> sizeBytes;
  for (let at = 1; at < sizeBytes; at += 1) {
    const byte = head[idBytes + at]!;
    isUnknown &&= byte === 0xff;
    size = size * 256 + byte;
  }
  const start = position + idBytes + sizeBytes;
  return { id: head.readUIntBE(0, idBytes), start, end: isUnknown ? limit : Math.min(limit, start + size) };
}

function lastCluster(audio: MediaBytes, { start, end }: Element): number | null {
  for (let until = end; until > start; until -= SEARCHED_BYTES) {
    const from = Math.max(start, until - SEARCHED_BYTES);
    // A few bytes more, for an id that stands across the border.
    const area = audio.slice(from, until + CLUSTER_ID.length);
    const at = area.lastIndexOf(CLUSTER_ID);
    const time = at === -1 ? null : timeOfCluster(audio, from + at, end);
    if (time !== null) return time;
  }
  return null;
}

function latestCluster(audio: MediaBytes, { start, end }: Element): number | null {
  let latest: number | null = null;
  let count = 0;
  for (let from = start; from < end; from += SEARCHED_BYTES) {
    const area = audio.slice(from, Math.min(end, from + SEARCHED_BYTES + CLUSTER_ID.length - 1));
    for (let at = area.indexOf(CLUSTER_ID); at !== -1; at = area.indexOf(CLUSTER_ID, at + 1)) {
      count += 1;
      if (count > MOST_CLUSTERS) return null;
      const time = timeOfCluster(audio, from + at, end);
      if (time !== null && time > (latest ?? -1)) latest = time;
    }
  }
  return latest;
}

function timeOfCluster(audio: MediaBytes, at: number, end: number): number | null {
  const cluster = elementAt(audio, at, end);
  const timestamp = cluster && find(audio, TIMESTAMP, cluster.start, cluster.end, MOST_BEFORE_TIMESTAMP);
  return timestamp ? unsigned(audio, timestamp) : null;
}

function unsigned(audio: MediaBytes, { start, end }: Element): number | null {
  const bytes = end - start;
  return bytes >= 1 && bytes <= 6 ? audio.slice(start, end).readUIntBE(0, bytes) : null;
}

function float(audio: MediaBytes, { start, end }: Element): number | null {
  const bytes = audio.slice(start, Math.min(end, start + 9));
  const value = bytes.length === 4 ? bytes.readFloatBE() : bytes.length === 8 ? bytes.readDoubleBE() : 0;
  return Number.isFinite(value) && value > 0 ? value : null;
}
