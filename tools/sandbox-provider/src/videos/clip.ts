import { deltaPicture, keyPicture, pictureParameterSet, sequenceParameterSet } from './h264';
import { writeMp4, type Sample } from './mp4';
import { drawPicture, pictureSize, type Picture } from './picture';

const FRAMES_PER_SECOND = 10;
const LONGEST_SIDE = 160;
const SHORTEST_SIDE = 90;

/**
 * A clip of the wished length and shape, small whatever size was asked for: its longer side is 160 points.
 * The same arguments give the same bytes.
 */
export function makeClip(width: number, height: number, seconds: number, comment: string): Buffer {
  const scale = LONGEST_SIDE / Math.max(width, height);
  const size = pictureSize(shownSide(width * scale), shownSide(height * scale));
  const samples: Sample[] = [];
  let before: Picture | null = null;
  for (let index = 0; index < seconds * FRAMES_PER_SECOND; index += 1) {
    const picture = drawPicture(size, index, FRAMES_PER_SECOND);
    const sinceKey = index % FRAMES_PER_SECOND;
    const bytes: Buffer =
      before === null || sinceKey === 0
        ? keyPicture(picture, size, index / FRAMES_PER_SECOND)
        : deltaPicture(picture, before, size, sinceKey);
    samples.push({ bytes, isKey: sinceKey === 0 });
    before = picture;
  }
  return writeMp4({
    size,
    framesPerSecond: FRAMES_PER_SECOND,
    sequenceParameters: sequenceParameterSet(size),
    pictureParameters: pictureParameterSet(),
    samples,
    comment,
  });
}

/** Even, and wide and high enough for the label. */
function shownSide(side: number): number {
  return Math.max(SHORTEST_SIDE, Math.round(side / 2) * 2);
}
