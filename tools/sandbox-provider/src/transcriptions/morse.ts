import type { SoundSegment } from './sound-segments';

const SAMPLE_RATE = 8_000;
const FREQUENCY_HZ = 640;
const LEVEL = 0.5;
/** How long a dot is. */
const UNIT_SECONDS = 0.075;
const FULL_SCALE = 32_767;
const HEAD_BYTES = 44;

const LETTER_GAP = 3;
const WORD_GAP = 7;
/** Fewer tones than this are a melody of one note. */
const FEWEST_TONES = 5;
const SAME_FREQUENCY_SHARE = 0.05;
/** A length is a number of units, give or take this share of it. */
const TOLERANCE = 0.3;

/** International Morse code (ITU-R M.1677-1): letters and figures, each before its code. */
const ALPHABET =
  'A.- B-... C-.-. D-.. E. F..-. G--. H.... I.. J.--- K-.- L.-.. M-- N-. O--- P.--. Q--.- R.-. S... T- U..- V...- ' +
  'W.-- X-..- Y-.-- Z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----.';
const LETTERS = new Map(ALPHABET.split(' ').map((entry) => [entry.slice(1), entry.slice(0, 1)]));
const CODES = new Map([...LETTERS].map(([code, letter]) => [letter, code]));

export interface HeardWord {
  readonly text: string;
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Words of letters and figures as a WAVE file in Morse code; a character that has no code is passed over. */
export function speakMorse(text: string): Buffer {
  const words = text.toUpperCase().split(/\s+/).map(codesOf);
  const spoken = words.filter((word) => word !== '').join(' '.repeat(WORD_GAP));
  // One character is one unit now, of tone or of silence.
  return waveOf(spoken.replaceAll('.', '#').replaceAll('-', '###'));
}

function codesOf(word: string): string {
  const codes = Array.from(word, (letter) => CODES.get(letter)).filter((code) => code !== undefined);
  return codes.map((code) => code.split('').join(' ')).join(' '.repeat(LETTER_GAP));
}

function waveOf(units: string): Buffer {
  const perUnit = SAMPLE_RATE * UNIT_SECONDS;
  const file = Buffer.alloc(HEAD_BYTES + units.length * perUnit * 2);
  writeHead(file);
  for (let frame = 0; frame < units.length * perUnit; frame += 1) {
    if (units[Math.floor(frame / perUnit)] !== '#') continue;
    const sample = LEVEL * FULL_SCALE * Math.sin((2 * Math.PI * FREQUENCY_HZ * frame) / SAMPLE_RATE);
    file.writeInt16LE(Math.round(sample), HEAD_BYTES + frame * 2);
  }
  return file;
}

/** 16 bit, one channel. */
function writeHead(file: Buffer): void {
  file.write('RIFF', 0, 'latin1');
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8, 'latin1');
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(SAMPLE_RATE, 24);
  file.writeUInt32LE(SAMPLE_RATE * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(file.length - HEAD_BYTES, 40);
}

/** The words of a recording that is Morse code from its first tone to its last; null of any other. */
export function readMorse(segments: readonly SoundSegment[]): readonly HeardWord[] | null {
  const isTone = ({ kind }: SoundSegment): boolean => kind === 'tone';
  const heard = segments.slice(segments.findIndex(isTone), segments.findLastIndex(isTone) + 1);
  if (!isOneTone(heard)) return null;
  const unitSeconds = Math.min(...heard.map(lengthOf));
  const words: HeardWord[] = [];
  for (const word of split(heard, WORD_GAP, unitSeconds)) {
    const letters = split(word, LETTER_GAP, unitSeconds).map((letter) => letterOf(letter, unitSeconds));
    if (letters.includes(null)) return null;
    words.push({
      text: letters.join(''),
      startSeconds: word[0]!.startSeconds,
      endSeconds: word.at(-1)!.endSeconds,
    });
  }
  return words;
}

function isOneTone(segments: readonly SoundSegment[]): boolean {
  const tones = segments.filter(({ kind }) => kind === 'tone');
  if (tones.length < FEWEST_TONES || segments.some(({ kind }) => kind === 'sound')) return false;
  const { frequencyHz } = tones[0]!;
  return tones.every((tone) => Math.abs(tone.frequencyHz - frequencyHz) <= SAME_FREQUENCY_SHARE * frequencyHz);
}

/** The stretches between silences of so many units. */
function split(segments: readonly SoundSegment[], gap: number, unitSeconds: number): SoundSegment[][] {
  const parts: SoundSegment[][] = [[]];
  for (const segment of segments) {
    if (segment.kind === 'silence' && isUnits(segment, gap, unitSeconds)) parts.push([]);
    else parts.at(-1)!.push(segment);
  }
  return parts;
}

function letterOf(segments: readonly SoundSegment[], unitSeconds: number): string | null {
  let code = '';
  for (const segment of segments) {
    const [isShort, isLong] = [1, 3].map((units) => isUnits(segment, units, unitSeconds));
    if (!isShort && !(isLong && segment.kind === 'tone')) return null;
    if (segment.kind === 'tone') code += isLong ? '-' : '.';
  }
  return LETTERS.get(code) ?? null;
}

function isUnits(segment: SoundSegment, units: number, unitSeconds: number): boolean {
  return Math.abs(lengthOf(segment) / unitSeconds - units) <= units * TOLERANCE;
}

function lengthOf({ startSeconds, endSeconds }: SoundSegment): number {
  return endSeconds - startSeconds;
}
