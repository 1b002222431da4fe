import { MEDIA_LIMITS } from '../model/media-limits';
import { inlineMedia } from '../model/media-tokens';
import { encodedSound } from '../testing/encoded-sounds';
import { HONEST_MEDIA, HOSTILE_FILMS } from '../testing/hostile-films';
import { HOSTILE_SOUNDS } from '../testing/hostile-sounds';
import { Base64Bytes, ReadBudget } from './base64-bytes';

type Kind = 'audio' | 'video';
/** With the seconds that FFmpeg 8 plays, by the samples and the times of the pictures that it gave. */
type Played = readonly [name: string, kind: Kind, make: () => Buffer, seconds: number];

const S = HOSTILE_SOUNDS;
const F = HOSTILE_FILMS;
const H = HONEST_MEDIA;

/** Nothing in them that all decoders go by bounds how long they play. */
const UNBOUNDED: readonly Played[] = [
  ['AAC behind a tag of version 255', 'audio', S.falseTagOfAac, 1_394.59],
  ['MP3 behind a tag of version 255', 'audio', S.falseTagOfMp3, 366.12],
  ['MP3 behind a tag whose size has high bits', 'audio', S.falseTagOfHighBits, 2_133.216],
  ['AAC and then MP3, behind a tag', 'audio', S.aacBeforeMp3, 682.667],
  ['a frame of AAC around frames', 'audio', S.frameAroundFrames, 251.193],
  ['FLAC in the old mapping beside Opus', 'audio', S.oldFlacBesideOpus, 819.187],
  ['many frames of FLAC in a packet of Ogg', 'audio', S.manyFlacInOgg, 40_959.375],
  ['many frames of FLAC in a packet of WebM', 'audio', S.manyFlacInWebm, 8_191.875],
  ['FLAC of 100 Hz in WebM', 'audio', S.slowFlacInWebm, 6_553.5],
  ['FLAC of 100 Hz in MP4', 'audio', S.slowFlacInMp4, 6_553.5],
  ['MP4 with a second handler', 'audio', S.twoHandlers, 640],
  ['MP4 whose configuration is hidden', 'audio', S.hiddenConfiguration, 1_393.197],
  ['heads of ADTS in samples of MP4', 'audio', S.adtsInMp4, 1_393.197],
  ['AC-3 of 8 kHz in MP4', 'audio', S.slowAc3InMp4, 19.2],
  ['many frames of AC-3 in a sample of MP4', 'audio', S.manyAc3InMp4, 19.2],
  ['many frames of AC-3 in a packet of WebM', 'audio', S.manyAc3InWebm, 19.2],
  ['many frames of AMR in a sample of MP4', 'audio', S.manyAmrInMp4, 20],
  ['AC-3 in MP4 whose configuration says MP3', 'audio', S.mp3OfAc3, 144],
  ['AC-3 in MP4 whose configuration says AAC', 'audio', S.aacOfAc3, 278.639],
  ['Opus in MP4 whose configuration says AAC', 'audio', S.manyAacOfOpus, 278.639],
  ['many blocks of AAC in a packet of WebM', 'audio', S.manyAacInWebm, 139.32],
  ['AC-3 in the samples of a WAVE file', 'audio', S.ac3InWave, 192],
  ['pictures of WebM before zero', 'video', F.blocksBeforeZero, 36_000],
  ['pictures of WebM at one time', 'video', F.blocksOfOneTime, 60],
  ['a fragment of MP4 whose head is cut', 'video', F.cutFragment, 36_000],
  ['a fragment of MP4 whose defaults are cut', 'video', F.shortDefaults, 36_000],
];

/** Their bytes bound it. */
const BOUNDED: readonly Played[] = [['frames of MP3 within frames of layer 2', 'audio', S.mp3WithinMp2, 288]];

const HONEST: readonly Played[] = [
  ['AAC in MP4', 'audio', H.mp4, 64],
  ['a film in a fragment of MP4', 'video', H.filmInFragment, 1_800],
  ['AAC', 'audio', H.aac, 12.8],
  ['MP3', 'audio', H.mp3, 14.4],
  ['FLAC', 'audio', H.flac, 409.594],
  ['Opus in Ogg', 'audio', H.opusInOgg, 12],
  ['WAVE', 'audio', H.wave, 9],
  ['AAC in WebM', 'audio', H.aacInWebm, 12.8],
  ['Opus in WebM', 'audio', H.opusInWebm, 12],
  ['a film in WebM', 'video', H.filmInWebm, 29],
  ['AAC of an encoder', 'audio', () => encodedSound('mono.aac'), 1.088],
  ['AAC of an encoder, of two channels', 'audio', () => encodedSound('stereo.aac'), 1.045],
  ['AAC of an encoder, of six channels', 'audio', () => encodedSound('surround.aac'), 0.533],
  ['AAC of an encoder in MP4', 'audio', () => encodedSound('mono.m4a'), 1.088],
  ['AAC of an encoder in fragments of MP4', 'audio', () => encodedSound('fragments.m4a'), 1.088],
  ['AAC of an encoder in Matroska', 'audio', () => encodedSound('mono.mka'), 1.088],
];

/** Seconds that are held for each that is played. */
const MOST_OVER = 1.4;

const TOKENS_PER_SECOND = { audio: MEDIA_LIMITS.secondOfSound, video: MEDIA_LIMITS.secondOfFilm } as const;

const tokensOf = (kind: Kind, seconds: number): number => Math.floor(seconds * TOKENS_PER_SECOND[kind]);

function held(kind: Kind, file: Buffer): number {
  const base64 = Buffer.from(file.toString('base64'));
  return inlineMedia(kind, null, Base64Bytes.ofJson(base64, 0, base64.length, new ReadBudget())).tokens;
}

describe('what a file is held for', () => {
  it.each(UNBOUNDED)('is the most where decoders play more than they are told: %s', (_name, kind, make, seconds) => {
    const tokens = held(kind, make());
    expect(tokens).toBeGreaterThanOrEqual(Math.min(tokensOf(kind, seconds), MEDIA_LIMITS.unknown));
    expect(tokens).toBe(MEDIA_LIMITS.unknown);
  });

  it.each(BOUNDED)('is at least what FFmpeg plays: %s', (_name, kind, make, seconds) => {
    const tokens = held(kind, make());
    expect(tokens).toBeGreaterThanOrEqual(tokensOf(kind, seconds));
    expect(tokens).toBeLessThan(MEDIA_LIMITS.unknown);
  });

  it.each(HONEST)('is about what FFmpeg plays of an honest file: %s', (_name, kind, make, seconds) => {
    const tokens = held(kind, make());
    expect(tokens).toBeGreaterThanOrEqual(tokensOf(kind, seconds));
    expect(tokens).toBeLessThanOrEqual(tokensOf(kind, seconds) * MOST_OVER);
  });
});
