/** MPEG 2 layer 3 of 24 kHz: 24 ms a frame. */
const MP3_BITRATES = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

export function mp3File(seconds: number, kilobits: number): Buffer {
  const bytes = Math.floor((72 * kilobits * 1_000) / 24_000);
  const frame = Buffer.alloc(bytes);
  frame.set([0xff, 0xf3, (MP3_BITRATES.indexOf(kilobits) << 4) | 0x04, 0xc0]);
  return Buffer.alloc(bytes * Math.round(seconds / 0.024), frame);
}

/** An Ogg page with packets of less than 255 bytes. */
export function oggPage(packets: readonly Buffer[], position: bigint, { isFirst = false, serial = 7 } = {}): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = isFirst ? 2 : 0;
  head.writeBigInt64LE(position, 6);
  head.writeUInt32LE(serial, 14);
  head[26] = packets.length;
  return Buffer.concat([head, Buffer.from(packets.map((packet) => packet.length)), ...packets]);
}

export function opusHead(skipped = 0): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead\u0001\u0001');
  head.writeUInt16LE(skipped, 10);
  return head;
}

export function opusFile(seconds: number, bytes: number): Buffer {
  const last = oggPage([Buffer.from([0])], BigInt(Math.round(seconds * 48_000)));
  return Buffer.concat([oggPage([opusHead()], 0n, { isFirst: true }), Buffer.alloc(bytes), last]);
}
