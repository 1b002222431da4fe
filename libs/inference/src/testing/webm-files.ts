/** An element of Matroska. */
export function webmElement(id: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = Buffer.alloc(8);
  size.writeUIntBE(content.length, 2, 6);
  size[0] = 0x01;
  return Buffer.concat([Buffer.from(id, 'hex'), size, content]);
}

export interface WebmTold {
  /** The times of its clusters are not in their order. */
  readonly isShuffled?: boolean;
  readonly codec?: string;
  readonly packet?: Buffer;
  /** Of the codec. */
  readonly configuration?: Buffer;
  /** What each block says; the truth when absent. */
  readonly toldSeconds?: number;
  readonly isLaced?: boolean;
  /** Of the number in which a cluster states its time; 4 when absent. */
  readonly timeBytes?: number;
  /** By which the times of the track are multiplied. */
  readonly trackScale?: number;
}

const OPUS_60_MS = 0x18;
const SECONDS_OF_PACKET = 0.06;
const PACKETS_OF_CLUSTER = 80;

/** A recording of a browser, which has no length in its head: packets of 60 ms, in clusters of some seconds. */
export function webmFile(seconds: number, bytes: number, told: WebmTold = {}): Buffer {
  const count = Math.round(seconds / SECONDS_OF_PACKET);
  const packet = told.packet ?? Buffer.alloc(Math.max(1, Math.floor(bytes / count) - 14), OPUS_60_MS);
  const clusters: Buffer[] = [];
  for (let from = 0; from < count; from += PACKETS_OF_CLUSTER) {
    const packets = Math.min(PACKETS_OF_CLUSTER, count - from);
    const block = (_: unknown, at: number): Buffer => {
      const time = told.toldSeconds === undefined ? at * SECONDS_OF_PACKET * 1_000 : 0;
      const head = Buffer.from([0x81, 0, 0, told.isLaced === true ? 0x02 : 0]);
      head.writeInt16BE(Math.round(time), 1);
      return webmElement('a3', Buffer.concat([head, packet]));
    };
    const at = clusterTime(from, told);
    clusters.push(
      webmElement('1f43b675', Buffer.concat([webmElement('e7', at), ...Array.from({ length: packets }, block)])),
    );
  }
  const duration = floatOf((told.toldSeconds ?? 0) * 1_000);
  const info = [webmElement('2ad7b1', Buffer.from([0x0f, 0x42, 0x40])), webmElement('4489', duration)];
  const codec = Buffer.from(told.codec ?? 'A_OPUS');
  const track = [
    webmElement('d7', Buffer.from([1])),
    webmElement('83', Buffer.from([codec[0] === 0x56 ? 1 : 2])),
    webmElement('86', codec),
    ...(told.configuration === undefined ? [] : [webmElement('63a2', told.configuration)]),
    ...(told.trackScale === undefined ? [] : [webmElement('23314f', floatOf(told.trackScale))]),
  ];
  const parts = [
    webmElement('1549a966', Buffer.concat(info)),
    webmElement('1654ae6b', webmElement('ae', Buffer.concat(track))),
    ...(told.isShuffled === true ? clusters.toReversed() : clusters),
  ];
  return Buffer.concat([webmElement('1a45dfa3', Buffer.alloc(4)), webmElement('18538067', Buffer.concat(parts))]);
}

function clusterTime(packets: number, { timeBytes = 4, toldSeconds }: WebmTold): Buffer {
  const bytes = Buffer.alloc(timeBytes);
  bytes.writeUInt32BE(toldSeconds === undefined ? Math.round(packets * SECONDS_OF_PACKET * 1_000) : 0, timeBytes - 4);
  return bytes;
}

export function floatOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}
