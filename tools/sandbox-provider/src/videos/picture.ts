/** One picture in 4:2:0: full-size luma, half-size chroma, rows padded to whole macroblocks of 16. */
export interface Picture {
  readonly luma: Uint8Array;
  readonly blue: Uint8Array;
  readonly red: Uint8Array;
}

export interface PictureSize {
  /** Of what is shown; even. */
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly rows: number;
}

/** Eight bars of 75 % colour, ITU-R BT.601, limited range. */
const BARS: readonly (readonly [number, number, number])[] = [
  [180, 128, 128],
  [162, 44, 142],
  [131, 156, 44],
  [112, 72, 58],
  [84, 184, 198],
  [65, 100, 212],
  [35, 212, 114],
  [16, 128, 128],
];
const WHITE_LUMA = 235;
const BLACK_LUMA = 16;
const NEUTRAL_CHROMA = 128;

/** The letters of SANDBOX, five by seven points each, one row per entry, top bit left. */
const LETTERS: Readonly<Record<string, readonly number[]>> = {
  S: [0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110],
  A: [0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
  N: [0b10001, 0b11001, 0b10101, 0b10011, 0b10001, 0b10001, 0b10001],
  D: [0b11110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11110],
  B: [0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110],
  O: [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
  X: [0b10001, 0b10001, 0b01010, 0b00100, 0b01010, 0b10001, 0b10001],
};
const LABEL = 'SANDBOX';
const LETTER_ADVANCE = 6;
const LETTER_HEIGHT = 7;
const BAND_ROWS = 16;
const MARKER_SIDE = 16;
const MARKER_STEP = 4;

export function pictureSize(width: number, height: number): PictureSize {
  return { width, height, columns: Math.ceil(width / 16), rows: Math.ceil(height / 16) };
}

/**
 * Draws frame `index`: bars that move on once a second, the word SANDBOX on a black band at the foot,
 * and a white square that slides along the top with every frame.
 */
export function drawPicture(size: PictureSize, index: number, framesPerSecond: number): Picture {
  const stride = size.columns * 16;
  const picture: Picture = {
    luma: new Uint8Array(stride * size.rows * 16),
    blue: new Uint8Array((stride * size.rows * 16) / 4),
    red: new Uint8Array((stride * size.rows * 16) / 4),
  };
  const shift = Math.floor(index / framesPerSecond);
  for (let y = 0; y < size.rows * 16; y += 2) {
    for (let x = 0; x < stride; x += 2) {
      const [luma, blue, red] = BARS[(Math.floor((x * BARS.length) / stride) + shift) % BARS.length] ?? [0, 0, 0];
      fillPair(picture, stride, x, y, luma, blue, red);
    }
  }
  drawLabel(picture, size, stride);
  drawMarker(picture, size, stride, index);
  return picture;
}

/** Two by two points of luma and the one point of chroma they share. */
function fillPair(
  picture: Picture,
  stride: number,
  x: number,
  y: number,
  luma: number,
  blue: number,
  red: number,
): void {
  const at = y * stride + x;
  picture.luma.fill(luma, at, at + 2);
  picture.luma.fill(luma, at + stride, at + stride + 2);
  const half = (y / 2) * (stride / 2) + x / 2;
  picture.blue[half] = blue;
  picture.red[half] = red;
}

function drawLabel(picture: Picture, size: PictureSize, stride: number): void {
  const scale = Math.max(1, Math.floor(size.width / (LABEL.length * LETTER_ADVANCE)));
  const points = Math.min(2, scale);
  const top = (size.height - BAND_ROWS) & ~1;
  for (let y = top; y < size.rows * 16; y += 2) {
    for (let x = 0; x < stride; x += 2) fillPair(picture, stride, x, y, BLACK_LUMA, NEUTRAL_CHROMA, NEUTRAL_CHROMA);
  }
  [...LABEL].forEach((letter, position) => {
    const left = 2 + position * LETTER_ADVANCE * points;
    for (let row = 0; row < LETTER_HEIGHT * points; row += 1) {
      const bits = LETTERS[letter]?.[Math.floor(row / points)] ?? 0;
      for (let column = 0; column < 5 * points; column += 1) {
        if ((bits >> (4 - Math.floor(column / points))) & 1) {
          picture.luma[(top + 1 + row) * stride + left + column] = WHITE_LUMA;
        }
      }
    }
  });
}

function drawMarker(picture: Picture, size: PictureSize, stride: number, index: number): void {
  const left = (index * MARKER_STEP) % Math.max(2, size.width - MARKER_SIDE);
  for (let y = 0; y < MARKER_SIDE; y += 2) {
    for (let x = left & ~1; x < (left & ~1) + MARKER_SIDE; x += 2) {
      fillPair(picture, stride, x, y, WHITE_LUMA, NEUTRAL_CHROMA, NEUTRAL_CHROMA);
    }
  }
}
