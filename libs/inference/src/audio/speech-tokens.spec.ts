import { anEndpoint, aTranscription } from '../testing';
import { ArrivingAudio } from './arriving-audio';
import { secondsWhenAsked, transcriptTokensWhenAsked } from './speech-tokens';

/** A megabyte of sound that still arrives. */
function anArriving(format: 'wav' | 'mp3') {
  const arriving = new ArrivingAudio(1_000_000, { pieces: [], onPiece: null });
  let seconds: number | null = null;
  const audio = { ...aTranscription().audio, format, arriving, length: () => lengthOf(seconds) };
  return { audio, measured: (found: number) => (seconds = found) };
}

const lengthOf = (seconds: number | null) => (seconds === null ? null : { seconds, longest: seconds });

describe(secondsWhenAsked.name, () => {
  it('is the measured length of a recording that is here', () => {
    expect(secondsWhenAsked(aTranscription({}, 12).audio)).toBe(12);
  });

  it.each([
    ['wav', 125],
    ['mp3', 500],
  ] as const)('goes by the bytes of one that arrives: %s', (format, seconds) => {
    expect(secondsWhenAsked(anArriving(format).audio)).toBe(seconds);
  });

  it('is not known of a recording elsewhere', () => {
    const audio = { ...aTranscription().audio, url: 'https://example.com/a.wav', length: () => null };
    expect(secondsWhenAsked(audio)).toBeNull();
  });
});

describe(transcriptTokensWhenAsked.name, () => {
  it('stays the same when the recording is measured', () => {
    const { audio, measured } = anArriving('mp3');
    const transcription = aTranscription({ audio, secondsWhenAsked: secondsWhenAsked(audio) });
    const before = transcriptTokensWhenAsked(transcription, anEndpoint());
    measured(2);
    expect(transcriptTokensWhenAsked(transcription, anEndpoint())).toBe(before);
    expect(before).toBe(64 + 6_250);
  });

  it('goes by the longest recording that the endpoint takes where nothing is known', () => {
    const endpoint = anEndpoint({ capabilities: { transcription: { max_seconds: 100 } } });
    expect(transcriptTokensWhenAsked(aTranscription({ secondsWhenAsked: null }), endpoint)).toBe(64 + 1_250);
  });
});
