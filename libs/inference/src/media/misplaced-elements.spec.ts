import { webmElement } from '../testing';
import { AudioBytes } from '../audio/audio-bytes';
import { audioLength } from './audio-duration';

const hex = (bytes: string): Buffer => Buffer.from(bytes, 'hex');
const SCALE_ID = '2ad7b1';
const INFO = webmElement('1549a966', webmElement(SCALE_ID, hex('0f4240')));
const opus = Buffer.from('A_OPUS');
const time = (milliseconds: number): Buffer => webmElement('e7', hex(milliseconds.toString(16).padStart(8, '0')));
/** Of 60 ms, at the time of its cluster. */
const PACKET = hex('810000801800');
const BLOCK = webmElement('a3', PACKET);
const MINUTE_MS = 60_000;

const trackWith = (more: Buffer, codec = opus, type = 2): Buffer => {
  const members = [webmElement('d7', hex('01')), webmElement('83', hex(`0${type}`)), webmElement('86', codec), more];
  return webmElement('1654ae6b', webmElement('ae', Buffer.concat(members)));
};
const TRACK = trackWith(Buffer.alloc(0));
const cluster = (...members: readonly Buffer[]): Buffer => webmElement('1f43b675', Buffer.concat(members));
const group = (...members: readonly Buffer[]): Buffer => webmElement('a0', Buffer.concat(members));
const fileOf = (...parts: readonly Buffer[]): AudioBytes =>
  new AudioBytes([webmElement('1a45dfa3', Buffer.alloc(4)), webmElement('18538067', Buffer.concat(parts))]);
const film = trackWith(webmElement('23e383', hex('0df8475800')), Buffer.from('V_VP8'), 1);

describe('a file of WebM whose elements are not where they belong', () => {
  it('is measured where they are', () => {
    const told = audioLength(
      fileOf(INFO, TRACK, cluster(time(MINUTE_MS), group(webmElement('a1', PACKET)), BLOCK)),
      'webm',
    );
    expect(told).toMatchObject({ seconds: 60, isEstimated: false });
  });

  it.each([
    [
      'the time of a cluster in a group',
      fileOf(INFO, TRACK, cluster(time(MINUTE_MS), group(time(0), webmElement('a1', PACKET)))),
    ],
    [
      'the unit of time in a track',
      fileOf(INFO, trackWith(webmElement(SCALE_ID, hex('03e8'))), cluster(time(0), BLOCK)),
    ],
    ['a codec in a cluster', fileOf(INFO, TRACK, cluster(time(0), webmElement('86', opus), BLOCK))],
    ['a block outside of a cluster', fileOf(INFO, TRACK, cluster(time(0), BLOCK), BLOCK)],
    ['a segment in a segment', fileOf(INFO, TRACK, cluster(time(0), BLOCK), webmElement('18538067', INFO))],
    ['several pictures in a block', fileOf(INFO, film, cluster(time(0), webmElement('a3', hex('8100008201010000'))))],
  ])('has no length that all decoders find: %s', (_what, file) => {
    expect(audioLength(file, 'webm')).toMatchObject({ isEstimated: true });
  });
});
