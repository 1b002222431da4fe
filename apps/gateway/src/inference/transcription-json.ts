import { setImmediate as nextRound } from 'node:timers/promises';
import { findMember, JsonCursor, MalformedJson, scanMembers } from '@libs/json';
import { AppError } from '@libs/errors';
import { AudioBytes } from '@libs/inference';
import { parseJsonObject, type JsonObject } from '../http/parse-json';
import { MAX_AUDIO_BYTES, wrong } from './transcription-audio';

const MEMBER = 'input_audio.data';
/** Characters that are decoded at once: a multiple of four, and few enough not to delay other requests. */
const PIECE_CHARACTERS = 1024 * 1024;
const PLACEHOLDER = Buffer.from('"-"');

/** A JSON body and the recording that was removed from it. */
export interface AudioJson {
  /** The rest of the body, with a dash in place of the recording. */
  readonly parsed: JsonObject;
  /** The recording as base64, not decoded yet; null if the body has none. */
  readonly data: Buffer | null;
}

/**
 * Takes the recording out of a body before it is parsed: as text in a parsed object it would take several times
 * its size.
 *
 * @throws AppError invalid_request
 */
export function takeOutAudio(body: Buffer): AudioJson {
  const found = findData(body);
  if (found === null) return { parsed: parseJsonObject(body, 'lenient'), data: null };
  const rest = Buffer.concat([body.subarray(0, found.start), PLACEHOLDER, body.subarray(found.end)]);
  return { parsed: parseJsonObject(rest, 'lenient'), data: body.subarray(found.start + 1, found.end - 1) };
}

/** Returns the position of the string `input_audio.data` including its quotes; null if it is not a string, or empty. */
function findData(body: Buffer): { readonly start: number; readonly end: number } | null {
  try {
    if (!new JsonCursor(body).isObject()) return null;
    const audio = findMember(scanMembers(body), 'input_audio');
    if (audio === undefined || body[audio.valueStart] !== 0x7b) return null;
    const inside = body.subarray(audio.valueStart, audio.valueEnd);
    const data = findMember(scanMembers(inside), 'data');
    if (data === undefined || inside[data.valueStart] !== 0x22 || data.valueEnd - data.valueStart === 2) return null;
    return { start: audio.valueStart + data.valueStart, end: audio.valueStart + data.valueEnd };
  } catch (error) {
    // The parser says what is wrong.
    if (error instanceof MalformedJson) return null;
    throw error;
  }
}

/**
 * Decodes complete, padded, standard base64 (RFC 4648 §4) in pieces.
 * @throws AppError payload_too_large before anything is decoded; invalid_request
 */
export async function decodeAudio(data: Buffer): Promise<AudioBytes> {
  const text = data.includes(0x5c) ? unescaped(data) : data;
  const padding = text.at(-1) !== 0x3d ? 0 : text.at(-2) === 0x3d ? 2 : 1;
  const bytes = (text.length / 4) * 3 - padding;
  if (bytes > MAX_AUDIO_BYTES) {
    throw new AppError('payload_too_large', `${MEMBER} holds more than ${MAX_AUDIO_BYTES} bytes`);
  }
  if (text.length === 0 || text.length % 4 !== 0) throw noBase64();
  const pieces: Buffer[] = [];
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    if (at > 0) await nextRound();
    const end = Math.min(text.length, at + PIECE_CHARACTERS);
    pieces.push(decodePiece(text.subarray(at, end), end === text.length ? padding : 0));
  }
  return new AudioBytes(pieces);
}

/**
 * Refuses characters that the decoder would skip or accept although they are not standard base64 (such as the URL-safe
 * alphabet).
 */
function decodePiece(piece: Buffer, padding: number): Buffer {
  const decoded = Buffer.from(piece.toString('latin1'), 'base64');
  const isWhole = decoded.length === (piece.length / 4) * 3 - padding;
  if (!isWhole || piece.includes(0x2d) || piece.includes(0x5f)) throw noBase64();
  return decoded;
}

/** Some writers escape the slashes. */
function unescaped(data: Buffer): Buffer {
  try {
    return Buffer.from(JSON.parse(`"${data.toString()}"`) as string);
  } catch {
    throw noBase64();
  }
}

function noBase64(): AppError {
  return wrong(MEMBER, 'must be whole, padded base64 without a data: prefix');
}
