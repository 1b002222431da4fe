import { checksum } from './checksum';
import { numbers } from './coded-frames';
import { floatOf, webmElement } from './webm-files';

/** Containers with all that decoders ask for, whatever they hold. */

export interface PlayedWebm {
  readonly codec: string;
  /** Of sound; a film when absent. */
  readonly rate?: number;
  readonly configuration?: Buffer;
  readonly packets: readonly Buffer[];
  /** Milliseconds at which the packet with this index begins; 0 when absent. */
  readonly timeOf?: (index: number) => number;
  /** What the track says of each packet. */
  readonly packetNanoseconds?: number;
}

const byte = (value: number): Buffer => Buffer.from([value]);
const PACKETS_OF_CLUSTER = 200;

/** WebM that states one second. */
export function playedWebm(told: PlayedWebm): Buffer {
  const { packets, timeOf = () => 0 } = told;
  const blocks = packets.map((packet, index) =>
    webmElement('a3', byte(0x81), numbers(timeOf(index)), byte(0x80), packet),
  );
  const clusters: Buffer[] = [];
  for (let at = 0; at < blocks.length; at += PACKETS_OF_CLUSTER) {
    clusters.push(webmElement('1f43b675', webmElement('e7', byte(0)), ...blocks.slice(at, at + PACKETS_OF_CLUSTER)));
  }
  const info = webmElement(
    '1549a966',
    webmElement('2ad7b1', Buffer.from([0x0f, 0x42, 0x40])),
    webmElement('4489', floatOf(1_000)),
  );
  return Buffer.concat([EBML, webmElement('18538067', info, webmElement('1654ae6b', trackOf(told)), ...clusters)]);
}

const EBML = webmElement(
  '1a45dfa3',
  webmElement('4286', byte(1)),
  webmElement('42f7', byte(1)),
  webmElement('42f2', byte(4)),
  webmElement('42f3', byte(8)),
  webmElement('4282', Buffer.from('webm')),
  webmElement('4287', byte(4)),
  webmElement('4285', byte(2)),
);

function trackOf({ codec, rate, configuration, packetNanoseconds }: PlayedWebm): Buffer {
  const duration = Buffer.alloc(6);
  duration.writeUIntBE(packetNanoseconds ?? 0, 0, 6);
  return webmElement(
    'ae',
    webmElement('d7', byte(1)),
    webmElement('73c5', byte(1)),
    webmElement('83', byte(rate === undefined ? 1 : 2)),
    webmElement('86', Buffer.from(codec)),
    ...(configuration === undefined ? [] : [webmElement('63a2', configuration)]),
    rate === undefined
      ? webmElement('e0', webmElement('b0', numbers(16)), webmElement('ba', numbers(16)))
      : webmElement('e1', webmElement('b5', floatOf(rate)), webmElement('9f', byte(1))),
    ...(packetNanoseconds === undefined ? [] : [webmElement('23e383', duration)]),
  );
}

export interface OggPlace {
  readonly position: number;
  readonly serial: number;
  readonly sequence: number;
  readonly at?: 'start' | 'end';
}

/** A page of whole packets with its checksum. */
export function playedPage(packets: readonly Buffer[], { position, serial, sequence, at }: OggPlace): Buffer {
  const table = packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = at === undefined ? 0 : { start: 2, end: 4 }[at];
  head.writeBigInt64LE(BigInt(position), 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt32LE(sequence, 18);
  head[26] = table.length;
  const page = Buffer.concat([head, Buffer.from(table), ...packets]);
  page.writeUInt32LE(checksum(page, 0x04c1_1db7, 32), 22);
  return page;
}
