import * as coded from './coded-frames';
import { mp4Box } from './mp4-files';
import { playedPage, playedWebm } from './played-containers';
import { AAC_ENTRY, TITLES, esdsBox, playedMp4, soundEntry } from './played-mp4';
import { opusHead } from './sound-files';
import { waveOf } from './recordings';

/** Sounds that decoders play longer than their heads, their tables or a part of their frames say. */

const { repeated, hex } = coded;

/** A tag of this many bytes that some readers skip, and that others do not recognize as a tag. */
function falseTag(head: string, covered: number): Buffer {
  return Buffer.concat([hex(head), Buffer.from([21, 14, 7, 0].map((shift) => (covered >> shift) & 127))]);
}

const SLOW_ADTS = coded.adtsFrame(7_350);

function behindTag(frame: Buffer, count: number, shown: number): Buffer {
  return Buffer.concat([falseTag('494433ff0000', count * frame.length), ...repeated(frame, count + shown)]);
}

/** The first bit of its size is one. */
function behindTagOfHighBits(): Buffer {
  const covered = 0x80 * 0x4000;
  const count = Math.ceil(covered / coded.MP3_FRAME.length) + 500;
  return Buffer.concat([hex('494433040000 00800000'), ...repeated(coded.MP3_FRAME, count)]);
}

function aacBeforeMp3(): Buffer {
  const loud = Buffer.alloc(626);
  loud.set([0xff, 0xfb, 0xb0, 0xc4]);
  return Buffer.concat([hex('494433040000 00000000'), ...repeated(SLOW_ADTS, 4_900), ...repeated(loud, 112)]);
}

/** Its size covers the frames behind it. */
function frameAroundFrames(): Buffer {
  const inner = Buffer.concat(repeated(SLOW_ADTS, 600));
  return Buffer.concat(repeated(Buffer.concat([coded.adtsFrame(7_350, inner.length), inner]), 3));
}

function oldFlacBesideOpus(): Buffer {
  const opus = { serial: 1 };
  const flac = { serial: 2 };
  const tags = Buffer.concat([Buffer.from('OpusTags'), Buffer.alloc(8)]);
  const last = 99;
  return Buffer.concat([
    playedPage([Buffer.from('fLaC')], { ...flac, position: 0, sequence: 0, at: 'start' }),
    playedPage([opusHead()], { ...opus, position: 0, sequence: 0, at: 'start' }),
    playedPage([tags], { ...opus, position: 0, sequence: 1 }),
    playedPage([coded.flacHead(8_000)], { ...flac, position: 0, sequence: 1 }),
    playedPage([hex('1800')], { ...opus, position: 2_880, sequence: 2, at: 'end' }),
    ...Array.from({ length: last + 1 }, (_, index) => {
      const place = { ...flac, position: (index + 1) * 65_535, sequence: index + 2 };
      return playedPage([coded.flacFrame(8_000, index)], index === last ? { ...place, at: 'end' } : place);
    }),
  ]);
}

function manyFlacInOgg(): Buffer {
  const head = Buffer.concat([hex('7f464c414301000001'), Buffer.from('fLaC'), coded.flacHead(8_000, 0)]);
  const tags = Buffer.concat([hex('84000008'), Buffer.alloc(8)]);
  const packet = Buffer.concat(repeated(coded.flacFrame(8_000), 500));
  return Buffer.concat([
    playedPage([head], { serial: 1, position: 0, sequence: 0, at: 'start' }),
    playedPage([tags], { serial: 1, position: 0, sequence: 1 }),
    ...Array.from({ length: 10 }, (_, index) => {
      const place = { serial: 1, position: 8_000, sequence: index + 2 };
      return playedPage([packet], index === 9 ? { ...place, at: 'end' } : place);
    }),
  ]);
}

function flacInWebm(rate: number, packets: readonly Buffer[]): Buffer {
  const configuration = Buffer.concat([Buffer.from('fLaC'), coded.flacHead(rate)]);
  return playedWebm({ codec: 'A_FLAC', rate, configuration, packets });
}

/** @param frames in one sample of the time of one */
function inOneSample(entry: Buffer, frame: Buffer, frames: number, ticks: number): Buffer {
  return playedMp4({ entry, samples: [Buffer.concat(repeated(frame, frames))], time: [8_000, ticks] });
}

/** @param samples of one frame each, which all have the time of less */
function inSamples(entry: Buffer, frame: Buffer, samples: number, time: readonly [number, number]): Buffer {
  return playedMp4({ entry, samples: repeated(frame, samples), time });
}

function twoHandlers(): Buffer {
  const samples = repeated(coded.SILENT_AAC, 10_000);
  return playedMp4({ handler: 'vide', innerHandler: 'soun', entry: AAC_ENTRY, samples, time: [16_000, 0] }, TITLES);
}

function hiddenConfiguration(): Buffer {
  const hidden = mp4Box('free', esdsBox(0x40, coded.aacConfiguration(96_000)));
  const read = mp4Box('glbl', coded.aacConfiguration(7_350));
  return inSamples(soundEntry('mp4a', 64_000, hidden, read), coded.SILENT_AAC, 10_000, [96_000, 1_024]);
}

function flacEntry(rate: number): Buffer {
  return soundEntry('fLaC', 8_000, mp4Box('dfLa', Buffer.alloc(4), coded.flacHead(rate)));
}

const AC3_ENTRY = soundEntry('ac-3', 8_000, mp4Box('dac3', Buffer.alloc(3)));
const AMR_ENTRY = soundEntry('samr', 8_000, mp4Box('damr', Buffer.alloc(9)));
const SLOW_AAC = esdsBox(0x40, coded.aacConfiguration(7_350));
const FAST_ENTRY = soundEntry('mp4a', 0, esdsBox(0x40, coded.aacConfiguration(96_000)));
const MP3_OF_AC3 = soundEntry('ac-3', 8_000, esdsBox(0x6b, Buffer.alloc(2)));

/** Each is made when a test asks for it. */
export const HOSTILE_SOUNDS = {
  falseTagOfAac: () => behindTag(SLOW_ADTS, 10_000, 10),
  falseTagOfMp3: () => behindTag(coded.MP3_FRAME, 5_000, 85),
  falseTagOfHighBits: behindTagOfHighBits,
  aacBeforeMp3,
  frameAroundFrames,
  mp3WithinMp2: () => coded.framesWithinFrames(200),
  oldFlacBesideOpus,
  manyFlacInOgg,
  manyFlacInWebm: () => flacInWebm(8_000, [Buffer.concat(repeated(coded.flacFrame(8_000), 1_000))]),
  slowFlacInWebm: () => flacInWebm(100, repeated(coded.flacFrame(100), 10)),
  slowFlacInMp4: () => inSamples(flacEntry(100), coded.flacFrame(100), 10, [8_000, 100]),
  twoHandlers,
  hiddenConfiguration,
  adtsInMp4: () => inSamples(FAST_ENTRY, SLOW_ADTS, 10_000, [96_000, 1_024]),
  slowAc3InMp4: () => inSamples(AC3_ENTRY, coded.SLOW_AC3, 100, [8_000, 2]),
  manyAc3InMp4: () => inOneSample(AC3_ENTRY, coded.SLOW_AC3, 100, 2),
  manyAmrInMp4: () => inOneSample(AMR_ENTRY, coded.AMR_FRAME, 1_000, 160),
  mp3OfAc3: () => inOneSample(MP3_OF_AC3, coded.MP3_FRAME, 2_000, 576),
  aacOfAc3: () => inSamples(soundEntry('ac-3', 7_350, SLOW_AAC), coded.SILENT_AAC, 2_000, [8_000, 8]),
  manyAacOfOpus: () => inOneSample(soundEntry('Opus', 7_350, SLOW_AAC), SLOW_ADTS, 2_000, 8),
  manyAc3InWebm: () =>
    playedWebm({ codec: 'A_AC3', rate: 8_000, packets: [Buffer.concat(repeated(coded.SLOW_AC3, 100))] }),
  manyAacInWebm: () =>
    playedWebm({
      codec: 'A_AAC',
      rate: 7_350,
      configuration: coded.aacConfiguration(7_350),
      packets: [Buffer.concat(repeated(coded.SILENT_AAC, 1_000))],
    }),
  ac3InWave: () => waveOf(48_000, Buffer.concat(repeated(coded.spdifBurst(30), 200)), 2),
} as const satisfies Record<string, () => Buffer>;
