import { AudioBytes } from '../audio/audio-bytes';
import { gifFile, jpegFile, jpegSegment, pngFile, webpFile } from '../testing/picture-files';
import { pictureSize } from './picture-size';

const sizeOf = (file: Buffer): ReturnType<typeof pictureSize> => pictureSize(new AudioBytes([file]));

const WIDTH = 6_000;
const HEIGHT = 4_000;
const START_BYTES = 2;

/** A photo with something behind its first marker. */
function photoWith(...stray: readonly Buffer[]): Buffer {
  const photo = jpegFile(WIDTH, HEIGHT);
  return Buffer.concat([photo.subarray(0, START_BYTES), ...stray, photo.subarray(START_BYTES)]);
}

/** Of one pixel, with the scan that ends what is looked at: decoders pass over it as a comment. */
const SMALL_IN_COMMENT = jpegSegment(
  0xfe,
  Buffer.concat([jpegSegment(0xc0, Buffer.from('080001000101011100', 'hex')), jpegSegment(0xda, Buffer.alloc(6))]),
);

/** Two bytes that some readers pass over, and others take for a marker: then a length is next, up to the comment. */
const hiding = (code: number): Buffer => Buffer.concat([Buffer.from([0xff, code, 0, 6]), SMALL_IN_COMMENT]);

describe(pictureSize.name, () => {
  it.each([
    ['PNG', pngFile(WIDTH, HEIGHT)],
    ['GIF', gifFile(WIDTH, HEIGHT)],
    ['GIF with a smaller screen', gifFile(WIDTH, HEIGHT, { width: 1, height: 1 })],
    ['WebP', webpFile(WIDTH, HEIGHT, 'VP8 ')],
    ['lossless WebP', webpFile(WIDTH, HEIGHT, 'VP8L')],
    ['extended WebP', webpFile(WIDTH, HEIGHT, 'VP8X')],
    ['JPEG', jpegFile(WIDTH, HEIGHT)],
    ['JPEG with settings of a camera', jpegFile(WIDTH, HEIGHT, 200_000)],
    ['JPEG with a comment', photoWith(SMALL_IN_COMMENT)],
    ['JPEG with bytes that fill', photoWith(Buffer.alloc(9, 0xff))],
    ['JPEG with a second, smaller frame', photoWith(jpegSegment(0xc0, Buffer.from('080001000101011100', 'hex')))],
  ])('is what decoders show: %s', (_name, file) => {
    expect(sizeOf(file)).toEqual({ width: WIDTH, height: HEIGHT });
  });

  it.each([0x00, 0x01, 0x02, 0x7f, 0xbf])('is unknown where readers differ about FF %i', (code) => {
    expect(sizeOf(photoWith(hiding(code)))).toBeNull();
  });
});
