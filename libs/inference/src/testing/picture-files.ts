import { deflateSync } from 'node:zlib';

/** Pictures as they matter to what measures them: true heads, and any contents. */

function chunkOfPng(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length);
  head.write(name, 4, 'latin1');
  return Buffer.concat([head, content, Buffer.alloc(4)]);
}

/** A picture of one color. */
export function pngFile(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([1, 0], 8);
  const rows = deflateSync(Buffer.alloc(Math.ceil(width / 8) * Math.min(height, 1_000) + height));
  const chunks = [chunkOfPng('IHDR', header), chunkOfPng('IDAT', rows), chunkOfPng('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

export function jpegSegment(marker: number, content: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([head, content]);
}

/** A photo with so many bytes of settings of the camera in front of its size. */
export function jpegFile(width: number, height: number, settingsBytes = 0): Buffer {
  const settings: Buffer[] = [];
  for (let left = settingsBytes; left > 0; left -= 60_000) {
    settings.push(jpegSegment(0xe1, Buffer.alloc(Math.min(left, 60_000))));
  }
  const frame = Buffer.from([8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 1);
  frame.writeUInt16BE(width, 3);
  const tables = [jpegSegment(0xdb, Buffer.alloc(65)), jpegSegment(0xc2, frame), jpegSegment(0xc4, Buffer.alloc(20))];
  return Buffer.concat([
    Buffer.from('ffd8', 'hex'),
    ...settings,
    ...tables,
    jpegSegment(0xda, Buffer.alloc(6)),
    Buffer.alloc(900),
  ]);
}

/** A GIF whose screen may be smaller than its frame. */
export function gifFile(width: number, height: number, screen = { width, height }): Buffer {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0', 'latin1');
  head.writeUInt16LE(screen.width, 6);
  head.writeUInt16LE(screen.height, 8);
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  frame.writeUInt16LE(width, 5);
  frame.writeUInt16LE(height, 7);
  return Buffer.concat([head, Buffer.alloc(6), Buffer.from('21f9040000000000', 'hex'), frame, Buffer.alloc(300)]);
}

export function webpFile(width: number, height: number, kind: 'VP8 ' | 'VP8L' | 'VP8X'): Buffer {
  const file = Buffer.alloc(600);
  file.write(`RIFF\0\0\0\0WEBP${kind}`, 0, 'latin1');
  if (kind === 'VP8 ') {
    file.writeUInt16LE(width, 26);
    file.writeUInt16LE(height, 28);
  } else if (kind === 'VP8L') {
    file[20] = 0x2f;
    file.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21);
  } else {
    file.writeUIntLE(width - 1, 24, 3);
    file.writeUIntLE(height - 1, 27, 3);
  }
  return file;
}
