import { readImageHeader } from './image-header';

const riff = (chunk: string, rest: readonly number[]): Buffer =>
  Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WEBP', 'latin1'),
    Buffer.from(chunk, 'latin1'),
    Buffer.from([0, 0, 0, 0, ...rest, ...Array.from({ length: 16 }, () => 0)]),
  ]);
const png = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]),
  Buffer.from('IHDR', 'latin1'),
  Buffer.from([0, 0, 2, 0x80, 0, 0, 1, 0xe0]),
]);
const jpeg = Buffer.from('ffd8ffe000040102' + 'ffc40005010203' + 'ffffc2000b0801e0028003', 'hex');

describe(readImageHeader, () => {
  it.each([
    ['a PNG', png, { mediaType: 'image/png', width: 640, height: 480 }],
    ['a JPEG behind other segments', jpeg, { mediaType: 'image/jpeg', width: 640, height: 480 }],
    [
      'an extended WebP',
      riff('VP8X', [0, 0, 0, 0, 0x7f, 2, 0, 0xdf, 1, 0]),
      { mediaType: 'image/webp', width: 640, height: 480 },
    ],
    [
      'a lossless WebP',
      riff('VP8L', [0x2f, 0x7f, 0xc2, 0x77, 0]),
      { mediaType: 'image/webp', width: 640, height: 480 },
    ],
    [
      'a lossy WebP',
      riff('VP8 ', [0, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01]),
      { mediaType: 'image/webp', width: 640, height: 480 },
    ],
    ['a PNG that ends too early', png.subarray(0, 20), { mediaType: 'image/png', width: 0, height: 0 }],
    ['a JPEG without a frame', jpeg.subarray(0, 12), { mediaType: 'image/jpeg', width: 0, height: 0 }],
    ['a WebP of an unknown kind', riff('WHAT', []), { mediaType: 'image/webp', width: 0, height: 0 }],
    ['a vector picture', Buffer.from('<svg width="640" height="480"/>'), null],
    ['a GIF', Buffer.from('GIF89a\x80\x02\xe0\x01', 'latin1'), null],
    ['nothing', Buffer.alloc(0), null],
  ])('reads %s', (_case, bytes, header) => {
    expect(readImageHeader(bytes)).toEqual(header);
  });
});
