import {
  JPEG_PICTURE,
  SILENT_AAC,
  aacConfiguration,
  adtsFrame,
  flacFrame,
  flacHead,
  hex,
  MP3_FRAME,
  repeated,
} from './coded-frames';
import { playedPage, playedWebm, type PlayedWebm } from './played-containers';
import { filmInFragment, plainMp4 } from './played-mp4';
import { opusHead } from './sound-files';
import { waveOf } from './recordings';

const MINUTE = 60_000_000_000;

function jpegWebm(pictures: number, told: Partial<PlayedWebm>): Buffer {
  return playedWebm({ codec: 'V_MJPEG', packets: repeated(JPEG_PICTURE, pictures), ...told });
}

/** Films of a picture a minute that state one second. Each is made when a test asks for it. */
export const HOSTILE_FILMS = {
  blocksBeforeZero: () => jpegWebm(600, { timeOf: () => -1, packetNanoseconds: MINUTE }),
  blocksOfOneTime: () => jpegWebm(600, { packetNanoseconds: MINUTE }),
  cutFragment: () => filmInFragment({ pictures: 600, isCut: true }),
  shortDefaults: () => filmInFragment({ pictures: 600, hasShortDefaults: true }),
} as const satisfies Record<string, () => Buffer>;

function opusInOgg(): Buffer {
  const tags = Buffer.concat([Buffer.from('OpusTags'), Buffer.alloc(8)]);
  return Buffer.concat([
    playedPage([opusHead()], { position: 0, serial: 1, sequence: 0, at: 'start' }),
    playedPage([tags], { position: 0, serial: 1, sequence: 1 }),
    playedPage(repeated(hex('1800'), 200), { position: 576_000, serial: 1, sequence: 2, at: 'end' }),
  ]);
}

/** Files from the same parts, whose frames and tables agree. */
export const HONEST_MEDIA = {
  mp4: () => plainMp4(1_000),
  filmInFragment: () => filmInFragment({ pictures: 30 }),
  aac: () => Buffer.concat(repeated(adtsFrame(16_000), 200)),
  mp3: () => Buffer.concat(repeated(MP3_FRAME, 200)),
  flac: () =>
    Buffer.concat([
      Buffer.from('fLaC'),
      flacHead(8_000),
      ...Array.from({ length: 50 }, (_, at) => flacFrame(8_000, at)),
    ]),
  opusInOgg,
  wave: () => waveOf(8_000, Buffer.alloc(8_000 * 4 * 9), 2),
  aacInWebm: () =>
    playedWebm({
      codec: 'A_AAC',
      rate: 16_000,
      configuration: aacConfiguration(16_000),
      packets: repeated(SILENT_AAC, 200),
      timeOf: (index) => index * 64,
    }),
  opusInWebm: () =>
    playedWebm({ codec: 'A_OPUS', rate: 48_000, packets: repeated(hex('1800'), 200), timeOf: (index) => index * 60 }),
  filmInWebm: () => jpegWebm(30, { timeOf: (index) => index * 1_000 }),
} as const satisfies Record<string, () => Buffer>;
