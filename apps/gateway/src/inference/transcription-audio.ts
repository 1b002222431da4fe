import { sentValue } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  AUDIO_FORMATS,
  audioFormatNamed,
  audioFormatOfFile,
  audioInHand,
  audioLength,
  callCancelled,
  looksLike,
  AudioBytes,
  toAbortSignal,
  type AudioFormat,
  type AudioInput,
  type AudioLength,
} from '@libs/inference';
import type { Egress } from '@libs/platform';
import { bytesForRecording, countFetched, type Reserve } from '../http/fetched-bytes';
import type { IncomingCall } from '../generations/incoming-call';

/** The API's limit of 25 MB, read as 25 · 2^20 bytes, for a file and for decoded base64. */
export const MAX_AUDIO_BYTES = 25 * 1024 * 1024;

/** The call for which a recording is downloaded. */
export type AudioCall = Pick<IncomingCall, 'abort' | 'memory'>;

const DOWNLOAD_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 3;

/** Returns the format with this name. @throws AppError invalid_request with the name of the field */
export function formatNamed(name: string, member: string): AudioFormat {
  const format = audioFormatNamed(name);
  if (format === null) throw wrong(member, `must be one of ${AUDIO_FORMATS.join(', ')}${sentValue(member, name)}`);
  return format;
}

/**
 * Returns a recording that is in memory.
 * @throws AppError invalid_request with the name of the field, if it is not in this format
 */
export function audioOf(bytes: AudioBytes, format: AudioFormat, member: string): AudioInput {
  return audioInHand(format, bytes, judge(bytes, format, member));
}

function judge(bytes: AudioBytes, format: AudioFormat, member: string): AudioLength {
  if (bytes.length === 0) throw wrong(member, 'is empty');
  const length = looksLike(format, bytes) ? audioLength(bytes, format) : 'broken';
  if (length === 'broken') throw wrong(member, `is no whole ${format} recording`);
  return length;
}

/**
 * Returns a recording at a URL, which is downloaded only when its bytes are needed. The URL is checked as far as
 * possible without a request.
 * @throws AppError invalid_request
 */
export function audioAt(url: string, wanted: string | null, egress: Egress, call: AudioCall): AudioInput {
  egress.check(url, MEMBER);
  const format = wanted === null ? audioFormatOfFile(new URL(url).pathname) : formatNamed(wanted, 'input_audio.format');
  if (format === null) throw wrong('input_audio.format', 'is required where the URL does not end in one');
  let fetched: Promise<AudioBytes> | null = null;
  let length: AudioLength | null = null;
  const load = async (): Promise<AudioBytes> => {
    const read = (reserve: Reserve): Promise<AudioBytes> => download(url, egress, call, reserve);
    const bytes = await countFetched(call.memory, read, (whole) => bytesForRecording(whole.length));
    length = judge(bytes, format, MEMBER);
    return bytes;
  };
  return { format, url, bytes: () => (fetched ??= load()), arriving: null, length: () => length };
}

const MEMBER = 'input_audio.url';

async function download(
  url: string,
  egress: Egress,
  { abort, memory }: AudioCall,
  reserve: Reserve,
): Promise<AudioBytes> {
  const signal = toAbortSignal(abort);
  try {
    const { status, body } = await egress.fetch(url, {
      headers: { accept: 'audio/*, video/*;q=0.8, application/octet-stream;q=0.5' },
      maxBytes: MAX_AUDIO_BYTES,
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
      maxRedirects: MAX_REDIRECTS,
      subject: MEMBER,
      holder: memory.holder,
      signal,
      reserve,
    });
    if (status < 200 || status >= 300) throw wrong(MEMBER, `cannot be downloaded: its host answers ${status}`);
    return new AudioBytes([body]);
  } catch (error) {
    throw signal.aborted ? callCancelled() : error;
  }
}

export function wrong(member: string, what: string): AppError {
  return new AppError('invalid_request', `${member} ${what}`, { metadata: { param: member } });
}
